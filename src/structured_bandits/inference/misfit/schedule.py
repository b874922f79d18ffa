"""The schedule of looks: after each of the first 100 pulls, then after each 1 % more.

The times are fixed, so plans can end there; in between nothing is computed. The largest e-value so far
is what counts: whoever looks every day may stop on the day that suits him best.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.inference.misfit.e_value import (
    LookMemory,
    MisfitTest,
    log_e_value,
    log_numerator,
)
from structured_bandits.inference.misfit.polytopes import PieceModels, seen_before
from structured_bandits.inference.misfit.reward_likelihood import Counts, RewardScale
from structured_bandits.protocol import Seen

EVERY = 100  # pulls up to which each one is looked at


def likeliest_of_grid(models: Any, scale: RewardScale, counts: Counts, totals: Floats) -> float:
    """Return the highest log-likelihood in the grid, whose models are models of the structure."""
    return float(totals.max())


#: Return a log-likelihood that some model of the structure has, quickly.
known_likelihood = chosen_by_class({PieceModels: seen_before}, likeliest_of_grid)


class Watching(NamedTuple):
    """Results in the order in which they were asked for, and the largest e-value so far."""

    pulls: Ints  # of each arm
    sums: Floats
    times: Ints  # two numbers: pulls in all, and those at which the next look is due
    largest: Floats  # one number: the logarithm of the largest e-value


@compilable
def fresh_watching(arms: int) -> Watching:
    """Return what is known before the first pull: the e-value is 1."""
    return Watching(
        np.zeros(arms, np.int64), np.zeros(arms), np.array([0, 1], np.int64), np.zeros(1)
    )


def watching_of(seen: Seen) -> Watching:
    """Return the same, counting in the memory of `seen`, which has seen nothing yet."""
    return Watching(seen.pulls, seen.sums, np.array([0, 1], np.int64), np.zeros(1))


@compilable
def next_look(time: int) -> int:
    """Return the number of pulls at which one looks after a look at `time` pulls."""
    return time + 1 if time < EVERY else time + -(-time // EVERY)


@compilable
def settle_pulls(watching: Watching, arm: int, pulls: int, total: float) -> None:
    """Count pulls of an arm, without a look."""
    watching.pulls[arm] += pulls
    watching.sums[arm] += total
    watching.times[0] += pulls


@compilable
def look_if_due(test: MisfitTest, watching: Watching, memory: LookMemory) -> bool:
    """Look if a look is due; return whether it was."""
    if watching.times[0] < watching.times[1]:
        return False
    against = log_numerator(test, watching.pulls, watching.sums, memory)
    totals = memory.grid.before[len(watching.pulls)]
    known = known_likelihood(test.models, test.scale, memory.counts, totals)
    if against - known > watching.largest[0]:  # otherwise the likeliest model changes nothing
        log_e = log_e_value(test, against, memory).log_e
        watching.largest[0] = max(watching.largest[0], log_e)
    await_next_look(watching)
    return True


@compilable
def await_next_look(watching: Watching) -> None:
    """Set when the next look is due."""
    while watching.times[1] <= watching.times[0]:
        watching.times[1] = next_look(watching.times[1])


def check_watching(watching: Watching) -> None:
    """Raise a ValueError if no pulls lead to such a record."""
    due = 1
    while due <= watching.times[0]:
        due = next_look(due)
    counted = int(watching.pulls.sum()) == watching.times[0] and (watching.pulls >= 0).all()
    if not counted or watching.times[1] != due or not watching.largest[0] >= 0.0:
        raise ValueError("the record of the e-value does not fit its pulls")
    if not np.isfinite(watching.sums).all() or math.isnan(watching.largest[0]):
        raise ValueError("the record of the e-value holds what is no number")
