"""What the loops of a simulation get, and where they write down what was played."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable

NOT_KEPT = np.zeros(0, np.int64)


class Game(NamedTuple):
    """What a policy is played in."""

    world: Any
    horizon: int
    planning: bool  # False: reward-driven policies decide pull by pull
    rng: np.random.Generator
    stop: Ints  # one number: not 0 ends the run
    middle: float = math.nan  # of the policy's range of rewards; nan if it has none
    tables: Any = None  # of the policy's lookahead


class RunRecord(NamedTuple):
    """Where a run is written down."""

    checkpoints: Ints  # rising numbers of pulls
    regret: Floats  # at each checkpoint
    pulls: Ints  # of each arm
    sums: Floats  # of each arm's rewards, also of those that are out
    arms: Ints  # of each pull; of length 0 if not wanted
    out: Ints = NOT_KEPT  # rewards still out at each checkpoint; of length 0 if they come at once


class Runs(NamedTuple):
    """Where many runs are written down: the same with a row for each run, and what `run` returns."""

    checkpoints: Ints
    regret: Floats
    pulls: Ints
    sums: Floats
    arms: Ints
    plans: Ints
    empty: Ints
    alarms: Ints
    out: Ints


@compilable
def gaps_of(means: Floats) -> Floats:
    """Return by how much each arm's mean is below the highest.

    Arm by arm: to compile `means.max() - means` takes a tenth of the time of a first start.
    """
    highest = means[0]
    for mean in means:
        highest = max(highest, mean)
    gaps = np.zeros(len(means))
    for arm in range(len(means)):
        gaps[arm] = highest - means[arm]
    return gaps


@compilable
def record_of(runs: Runs, place: int) -> RunRecord:
    """Return where one of many runs is written down."""
    return RunRecord(
        runs.checkpoints,
        runs.regret[place],
        runs.pulls[place],
        runs.sums[place],
        runs.arms[place],
        runs.out[place],
    )
