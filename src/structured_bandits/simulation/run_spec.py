"""What all runs of a simulation share, what is played in which of them, and where it is written down.

`Game` and `RunRecord` are what the loops get; the settings say which structure, truth and world each
run has.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.protocols import PolicyLike, WorldLike
from structured_bandits.simulation.compatibility import check_together

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


DRAWING = 2e-3  # seconds of draws before what was drawn is played


@dataclass(frozen=True)
class Setting:
    """What all runs of a simulation share."""

    names: tuple[str, ...]
    horizon: int
    seed: int
    checkpoints: Ints
    engine: str
    processes: bool  # does a policy run in Python, which needs a process for each worker?
    planning: bool
    record_arms: bool
    misfit: bool | None  # are e-values computed? None: where that is quick


@dataclass(frozen=True)
class Same:
    """The same policies and world in every run."""

    policies: dict[str, PolicyLike]
    world: WorldLike

    def at(self, setting: Setting, run: int) -> tuple[Mapping[str, PolicyLike], WorldLike]:
        """Return what is played in a run."""
        return self.policies, self.world


@dataclass(frozen=True)
class Draw:
    """Policies and world drawn afresh in every run."""

    draw: Callable[[np.random.Generator], tuple[Mapping[str, PolicyLike], WorldLike]]
    arms: int  # of the first run

    def at(self, setting: Setting, run: int) -> tuple[Mapping[str, PolicyLike], WorldLike]:
        """Draw and check what is played in a run."""
        policies, world = self.draw(draw_rng(setting.seed, run))
        if set(policies) != set(setting.names):
            raise ParameterError(
                f"draw: run {run} drew the policies {sorted(policies)}, "
                f"the first run {sorted(setting.names)}; the names must stay the same"
            )
        for name, policy in policies.items():
            check_together(name, policy, world, setting.horizon)
        if len(world.means) != self.arms:
            raise ParameterError(
                f"draw: run {run} has {len(world.means)} arms, the first run {self.arms}; "
                "the number of arms must stay the same"
            )
        return policies, world


@dataclass(frozen=True)
class Listed:
    """The same policies in every run, each run in a world of its own from a list.

    Who makes the list has checked that policies and worlds fit.
    """

    policies: dict[str, PolicyLike]
    worlds: Sequence[WorldLike]

    def at(self, setting: Setting, run: int) -> tuple[Mapping[str, PolicyLike], WorldLike]:
        """Return what is played in a run."""
        return self.policies, self.worlds[run]


Case = Same | Draw | Listed


def draw_rng(seed: int, run: int) -> np.random.Generator:
    """Return the generator from which the structure of a run is drawn."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(run,))))


class Drawn(NamedTuple):
    """Runs, and what is played in all of them."""

    runs: range
    policies: Mapping[str, PolicyLike]
    world: WorldLike


def drawn_together(setting: Setting, case: Case, runs: range) -> Iterator[list[Drawn]]:
    """Yield all runs with what they play; several of them at a time if they may be `drawn_ahead`.

    Python is several times as fast if compiled code does not take its place in the caches in between.
    What is large takes long to draw: of that, only one is held at a time.
    """
    if isinstance(case, Same):
        yield [Drawn(runs, *case.at(setting, runs.start))]
        return
    patience = DRAWING if isinstance(case, Draw) and drawn_ahead(case.draw) else 0.0
    drawn: list[Drawn] = []
    begin = time.perf_counter()
    for run in runs:
        drawn.append(Drawn(range(run, run + 1), *case.at(setting, run)))
        if time.perf_counter() - begin >= patience:
            yield drawn
            drawn, begin = [], time.perf_counter()
    if drawn:
        yield drawn


def drawn_ahead(draw: object) -> bool:
    """May several runs be drawn before the first of them is played?

    Only if `draw` says so: one of a user's own may fill the same arrays in every run.
    """
    return bool(getattr(draw, "ahead", False))
