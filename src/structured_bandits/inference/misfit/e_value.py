"""The e-value of a structure: how much better the rewards are explained without it than with it.

    E = 1/2 [ mixture of "model i is right but for arm k"  +  mixture of "nothing is known" ]
        / likelihood of the likeliest model

If the structure holds the truth, the probability that E is ever 1/delta or more is at most delta,
whatever policy plays and however often one looks: divided by the likelihood of the true model the
numerator is a non-negative supermartingale that starts at 1, and E is below that (Ville's inequality;
docs/notes/mathematics.md 7). It counts rewards in the order in which their pulls were asked for.

Looks follow a schedule: after each of the first 100 pulls, then after each 1 % more. The times are
fixed, so plans can end there; in between nothing is computed. The largest e-value so far is what
counts: whoever looks every day may stop on the day that suits him best.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.base.records import Record
from structured_bandits.inference.misfit.alternatives import (
    Grid,
    GridMemory,
    fresh_grid_memory,
    log_one_arm_off,
)
from structured_bandits.inference.misfit.max_likelihood import Likeliest
from structured_bandits.inference.misfit.polytopes import PieceModels, seen_before
from structured_bandits.inference.misfit.reward_likelihood import (
    Counts,
    RewardScale,
    log_mixture,
    reward_counts,
)
from structured_bandits.protocols import Seen


class _MisfitTest(NamedTuple):
    scale: RewardScale
    grid: Grid
    models: Any  # max_likelihood.Models


class MisfitTest(Record, _MisfitTest):
    """The e-value of one structure for rewards of one range."""


class Look(NamedTuple):
    """The result of a look at the rewards; the arms' shares are in the memory."""

    log_e: float
    likeliest: Likeliest


def e_value_of(log_e: float) -> float:
    """Return the e-value with this logarithm, infinite if it is too large for a number."""
    return math.exp(log_e) if log_e < 700.0 else math.inf


class LookMemory(NamedTuple):
    """Memory for looks."""

    counts: Counts
    mixed: Floats  # arms: the logarithm of the mixture of each one's likelihoods
    grid: GridMemory


@compilable
def fresh_look_memory(test: MisfitTest) -> LookMemory:
    """Return the memory for looks."""
    arms, models = test.grid.per_hit.shape
    counts = Counts(np.zeros(arms), np.zeros(arms))
    return LookMemory(counts, np.zeros(arms), fresh_grid_memory(arms, models))


@compilable
def log_numerator(test: MisfitTest, pulls: Ints, sums: Floats, memory: LookMemory) -> float:
    """Return the logarithm of what speaks against the structure; the memory keeps the parts."""
    unknown = 0.0
    for arm in range(len(pulls)):
        first, second = reward_counts(test.scale, pulls[arm], sums[arm])
        memory.counts.first[arm] = first
        memory.counts.second[arm] = second
        memory.mixed[arm] = log_mixture(test.scale, arm, first, second)
        unknown += memory.mixed[arm]
    counts = memory.counts
    off = log_one_arm_off(test.grid, counts.first, counts.second, memory.mixed, memory.grid)
    return log_average(unknown, off)


@compilable
def log_average(one: float, other: float) -> float:
    """Return the logarithm of the average of two numbers that are given by theirs."""
    high, low = max(one, other), min(one, other)
    return high + math.log1p(math.exp(low - high)) - math.log(2.0)


@compilable
def look_at(test: MisfitTest, pulls: Ints, sums: Floats, memory: LookMemory) -> Look:
    """Return the e-value of these pulls and sums; infinite if no model explains them."""
    return log_e_value(test, log_numerator(test, pulls, sums, memory), memory)


def log_e_of_chosen(test: MisfitTest, pulls: Ints, sums: Floats) -> float:
    """Return the logarithm of an e-value that holds even if these rewards led to the structure.

    Nothing but "nothing is known" speaks against the structure, so that its models are in the
    denominator alone (docs/notes/mathematics.md 7.5).
    """
    memory = fresh_look_memory(test)
    log_numerator(test, pulls, sums, memory)
    return log_e_value(test, float(memory.mixed.sum()), memory).log_e


@compilable
def log_e_value(test: MisfitTest, against: float, memory: LookMemory) -> Look:
    """Return the e-value, given the logarithm of its numerator and what that left in the memory."""
    totals = memory.grid.before[len(memory.mixed)]
    likeliest = test.models.likeliest(test.scale, memory.counts, totals)
    if likeliest.log_likelihood == -math.inf:
        return Look(math.inf, likeliest)
    return Look(against - likeliest.log_likelihood, likeliest)


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
