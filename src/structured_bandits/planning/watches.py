"""The models that fit the data, kept from plan to plan (PLANNING, incremental set).

A model outside the set is watched by one arm in whose interval it is not. All models that an arm watches
are summed up by a gap around its mean in which there is none of them: as long as its interval is inside
the gap, all of them are out. So a pull of an arm moves the models inside, which only this arm can put
out, and looks at models outside only when an interval has left its gap.

A model may be a cell with a range of means, from `least` to `most` (both models x arms); it is out when
its whole range is. Models are called by their rank; ranking[rank] is the row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import ROUNDING, confidence_interval
from structured_bandits.planning.tangents import (
    Tangents,
    stays_out_of_reach,
    stays_refuted,
    sure_for,
)

INSIDE = -1  # instead of an arm
NO_ARM, SEVERAL = -1, -2  # instead of the arm with new data


class Watches(NamedTuple):
    """Who is inside, who watches the others, and the gaps of the arms."""

    watch: Ints  # of each model: the arm that keeps it out, or INSIDE
    inside: Ints  # the models inside, rising, in the first size[0] places
    size: Ints
    every: Ints  # all models
    means: Floats  # of each arm
    roots: Floats  # sqrt(pulls)
    below: Floats  # the ends of its gap
    above: Floats
    strength: Floats  # it keeps its models out as long as sqrt(budget) is less


@compilable
def fresh_watches(models: int, arms: int) -> Watches:
    """Return the watches before the first pull: all models are inside."""
    return Watches(
        np.full(models, INSIDE, np.int64),
        np.arange(models),
        np.full(1, models, np.int64),
        np.arange(models),
        np.zeros(arms),
        np.zeros(arms),
        np.full(arms, -math.inf),
        np.full(arms, math.inf),
        np.full(arms, math.inf),
    )


@compilable
def start_again(work: Watches) -> None:
    """Put all models inside."""
    work.watch[:] = INSIDE
    for rank in work.every:
        work.inside[rank] = rank
    work.size[0] = len(work.every)
    work.below[:] = -math.inf
    work.above[:] = math.inf
    work.strength[:] = math.inf


@compilable
def keeps_out(work: Watches, arm: int, least: float, most: float) -> float:
    """Return how strongly an arm keeps out a range of means: surely, as long as sqrt(budget) is less.

    That is distance * sqrt(pulls), with a margin for the rounding of intervals; negative if the
    arm's mean is in the range.
    """
    mean = work.means[arm]
    away = (1.0 - ROUNDING) * max(least - mean, mean - most) - ROUNDING * abs(mean)
    return float(away * work.roots[arm])


@compilable
def strongest_watch(
    least: Floats, most: Floats, model: int, work: Watches, except_for: int
) -> tuple[int, float]:
    """Return the arm that keeps a model out most strongly, other than one, and how strongly."""
    strongest = -1
    strength = 0.0
    for arm in range(len(work.means)):
        keeps = keeps_out(work, arm, least[model, arm], most[model, arm])
        if keeps > strength and arm != except_for:
            strength = keeps
            strongest = arm
    return strongest, strength


@compilable
def set_watch(least: Floats, most: Floats, model: int, rank: int, arm: int, work: Watches) -> None:
    """Let `arm` watch a model that it keeps out."""
    work.watch[rank] = arm
    if most[model, arm] < work.means[arm]:
        work.below[arm] = max(work.below[arm], most[model, arm])
    else:
        work.above[arm] = min(work.above[arm], least[model, arm])
    keeps = keeps_out(work, arm, least[model, arm], most[model, arm])
    work.strength[arm] = min(work.strength[arm], keeps)


@compilable
def put_out(
    least: Floats,
    most: Floats,
    ranking: Ints,
    work: Watches,
    arm: int,
    low: float,
    high: float,
) -> None:
    """Let `arm` watch the models inside that are not in its open interval."""
    kept = 0
    for place in range(work.size[0]):
        rank = work.inside[place]
        model = ranking[rank]
        if most[model, arm] > low and least[model, arm] < high:
            work.inside[kept] = rank
            kept += 1
        else:
            set_watch(least, most, model, rank, arm, work)
    work.size[0] = kept


@compilable
def let_in(work: Watches, rank: int) -> None:
    """Put a model inside, in its place."""
    work.watch[rank] = INSIDE
    place = work.size[0]
    while place > 0 and work.inside[place - 1] > rank:
        work.inside[place] = work.inside[place - 1]
        place -= 1
    work.inside[place] = rank
    work.size[0] += 1


@compilable
def draw_gap(least: Floats, most: Floats, ranking: Ints, work: Watches, arm: int) -> None:
    """Find the gap of `arm` among the models that it watches."""
    work.below[arm] = -math.inf
    work.above[arm] = math.inf
    work.strength[arm] = math.inf
    for rank in range(len(work.watch)):
        if work.watch[rank] == arm:
            set_watch(least, most, ranking[rank], rank, arm, work)


@compilable
def check_gap(
    least: Floats,
    most: Floats,
    ranking: Ints,
    work: Watches,
    arm: int,
    pulls: Ints,
    sums: Floats,
    budget: float,
    low: Floats,
    high: Floats,
) -> None:
    """Write the interval of `arm`; find another watch for the models that are in it now."""
    confidence_interval(arm, pulls, sums, budget, low, high)
    if low[arm] >= work.below[arm] and high[arm] <= work.above[arm]:
        work.strength[arm] = min(
            keeps_out(work, arm, -math.inf, work.below[arm]),
            keeps_out(work, arm, work.above[arm], math.inf),
        )
        return
    for rank in range(len(work.watch)):
        if work.watch[rank] == arm:
            model = ranking[rank]
            if most[model, arm] > low[arm] and least[model, arm] < high[arm]:
                other = other_watch(least, most, model, work, pulls, sums, budget, low, high)
                if other == INSIDE:
                    let_in(work, rank)
                else:
                    set_watch(least, most, model, rank, other, work)
    draw_gap(least, most, ranking, work, arm)


@compilable
def other_watch(
    least: Floats,
    most: Floats,
    model: int,
    work: Watches,
    pulls: Ints,
    sums: Floats,
    budget: float,
    low: Floats,
    high: Floats,
) -> int:
    """Return an arm that keeps a model out, the strongest if that is sure, or INSIDE."""
    root = math.sqrt(budget)
    arm, strength = strongest_watch(least, most, model, work, -1)
    if strength > root:
        return arm
    for arm in range(len(pulls)):
        size = abs(least[model, arm]) + abs(most[model, arm]) + abs(work.means[arm])
        keeps = keeps_out(work, arm, least[model, arm], most[model, arm])
        if keeps + 4.0 * ROUNDING * size * work.roots[arm] >= root:  # too close to tell like that
            confidence_interval(arm, pulls, sums, budget, low, high)
            if most[model, arm] <= low[arm] or least[model, arm] >= high[arm]:
                return arm
    return INSIDE


@compilable
def take_in(
    least: Floats,
    most: Floats,
    ranking: Ints,
    work: Watches,
    news: int,
    pulls: Ints,
    sums: Floats,
    budget: float,
    low: Floats,
    high: Floats,
) -> None:
    """Bring the set up to date: `news` is the arm with new data, or SEVERAL, or NO_ARM.

    Intervals of arms without new data only grow, so a model inside can leave only by `news`, and one
    outside can come in only when an interval leaves its gap.
    """
    first, end = news, news + 1
    if news == SEVERAL:
        start_again(work)
        first, end = 0, len(pulls)
    elif news == NO_ARM:
        end = first
    for arm in range(first, end):
        if pulls[arm] > 0:
            work.means[arm] = sums[arm] / pulls[arm]
            work.roots[arm] = math.sqrt(pulls[arm])
            work.strength[arm] = 0.0  # its gap has to be looked at
    root = math.sqrt(budget)
    for arm in range(len(pulls)):
        if work.strength[arm] <= root:
            check_gap(least, most, ranking, work, arm, pulls, sums, budget, low, high)
    for arm in range(first, end):
        if pulls[arm] > 0:
            put_out(least, most, ranking, work, arm, low[arm], high[arm])


@compilable
def nothing_comes_in(at: Tangents, arm: int, length: float, work: Watches) -> bool:
    """Is every model outside sure to stay out for this many pulls of `arm`?"""
    sure = sure_for(at, length)
    for other in range(len(work.strength)):
        if other != arm and work.strength[other] < sure.refuted:
            return False
    return bool(work.below[arm] < sure.low and work.above[arm] > sure.high)


@compilable
def gaps_last(at: Tangents, arm: int, work: Watches) -> float:
    """Return for how many pulls of `arm` every model that is watched surely stays out."""
    length = min(stays_out_of_reach(at, work.below[arm]), stays_out_of_reach(at, work.above[arm]))
    for other in range(len(work.strength)):
        if other != arm:
            length = min(length, stays_refuted(at, work.strength[other]))
    return length
