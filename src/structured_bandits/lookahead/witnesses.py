"""The models that fit the data, kept from plan to plan (docs/notes/lookahead.md 6.1).

A model outside the set is watched by one arm in whose interval it is not. All models that an arm
watches are summed up by a gap around its mean in which there is none of them: as long as its interval
is inside the gap, all of them are out. So a pull of an arm moves the models inside, which only this arm
can exclude, and looks at models outside only when an interval has left its gap.

A model may be a cell with a range of means; it is out when its whole range is. Models are called by
their rank.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data, write_interval
from structured_bandits.base.intervals import Intervals
from structured_bandits.lookahead.prospect import Ahead
from structured_bandits.lookahead.tangents import (
    Tangents,
    limits_for,
    pulls_refuted,
    pulls_unreached,
)

INSIDE = -1  # instead of the arm that watches
NO_ARM, SEVERAL = -1, -2  # instead of the arm with new data


class Ranges(NamedTuple):
    """The means of the models: from `least` to `most` (rows x arms); ranking[rank] is the row."""

    least: Floats
    most: Floats
    ranking: Ints


class Watches(NamedTuple):
    """Who is inside, who watches the others, and the gaps of the arms."""

    watch: Ints  # of each model: the arm that keeps it out, or INSIDE
    inside: Ints  # the models inside, rising, in the first size[0] places
    size: Ints
    every: Ints  # all models
    means: Floats  # of each arm
    roots: Floats  # sqrt(pulls)
    gap_low: Floats  # the ends of its gap
    gap_high: Floats
    strength: Floats  # it keeps its models out as long as sqrt(budget) is less
    lengths: Ints  # of the last plan for it, where the next search begins


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
        np.ones(arms, np.int64),
    )


@compilable
def include_all(watches: Watches) -> None:
    """Put all models inside."""
    watches.watch[:] = INSIDE
    for rank in watches.every:
        watches.inside[rank] = rank
    watches.size[0] = len(watches.every)
    watches.gap_low[:] = -math.inf
    watches.gap_high[:] = math.inf
    watches.strength[:] = math.inf


@compilable
def keeps_out(watches: Watches, arm: int, least: float, most: float, level: Intervals) -> float:
    """Return how strongly an arm keeps out a range of means: surely, as long as sqrt(budget) is less."""
    return level.surely_out(watches.means[arm], watches.roots[arm], least, most)


@compilable
def strongest_watch(
    ranges: Ranges, model: int, watches: Watches, except_for: int, level: Intervals
) -> tuple[int, float]:
    """Return the arm that keeps a model out most strongly, other than one, and how strongly."""
    least, most = ranges.least, ranges.most
    strongest = -1
    strength = 0.0
    for arm in range(len(watches.means)):
        keeps = keeps_out(watches, arm, least[model, arm], most[model, arm], level)
        if keeps > strength and arm != except_for:
            strength = keeps
            strongest = arm
    return strongest, strength


@compilable
def set_watch(ranges: Ranges, rank: int, arm: int, watches: Watches, level: Intervals) -> None:
    """Let `arm` watch a model that it keeps out."""
    model = ranges.ranking[rank]
    watches.watch[rank] = arm
    if ranges.most[model, arm] < watches.means[arm]:
        watches.gap_low[arm] = max(watches.gap_low[arm], ranges.most[model, arm])
    else:
        watches.gap_high[arm] = min(watches.gap_high[arm], ranges.least[model, arm])
    keeps = keeps_out(watches, arm, ranges.least[model, arm], ranges.most[model, arm], level)
    watches.strength[arm] = min(watches.strength[arm], keeps)


@compilable
def exclude_models(ranges: Ranges, watches: Watches, arm: int, level: Intervals, box: Box) -> None:
    """Let `arm` watch the models inside that are not in its open interval."""
    least, most, ranking = ranges
    inside = watches.inside
    low = box.low[arm]
    high = box.high[arm]
    kept = 0
    for place in range(watches.size[0]):
        rank = inside[place]
        model = ranking[rank]
        if most[model, arm] > low and least[model, arm] < high:
            inside[kept] = rank
            kept += 1
        else:
            set_watch(ranges, rank, arm, watches, level)
    watches.size[0] = kept


@compilable
def include_model(watches: Watches, rank: int) -> None:
    """Put a model inside, in its place."""
    watches.watch[rank] = INSIDE
    place = watches.size[0]
    while place > 0 and watches.inside[place - 1] > rank:
        watches.inside[place] = watches.inside[place - 1]
        place -= 1
    watches.inside[place] = rank
    watches.size[0] += 1


@compilable
def draw_gap(ranges: Ranges, watches: Watches, arm: int, level: Intervals) -> None:
    """Find the gap of `arm` among the models that it watches."""
    watches.gap_low[arm] = -math.inf
    watches.gap_high[arm] = math.inf
    watches.strength[arm] = math.inf
    watch = watches.watch
    for rank in range(len(watch)):
        if watch[rank] == arm:
            set_watch(ranges, rank, arm, watches, level)


@compilable
def check_gap(
    ranges: Ranges, watches: Watches, arm: int, data: Data, level: Intervals, box: Box
) -> None:
    """Write the interval of `arm`; find another watch for the models that are in it now."""
    write_interval(arm, data, level, box)
    if box.low[arm] >= watches.gap_low[arm] and box.high[arm] <= watches.gap_high[arm]:
        watches.strength[arm] = min(
            keeps_out(watches, arm, -math.inf, watches.gap_low[arm], level),
            keeps_out(watches, arm, watches.gap_high[arm], math.inf, level),
        )
        return
    least, most, ranking = ranges
    watch = watches.watch
    for rank in range(len(watch)):
        if watch[rank] == arm:
            model = ranking[rank]
            if most[model, arm] > box.low[arm] and least[model, arm] < box.high[arm]:
                other = other_watch(ranges, model, watches, data, level, box)
                if other == INSIDE:
                    include_model(watches, rank)
                else:
                    set_watch(ranges, rank, other, watches, level)
    draw_gap(ranges, watches, arm, level)


@compilable
def other_watch(
    ranges: Ranges, model: int, watches: Watches, data: Data, level: Intervals, box: Box
) -> int:
    """Return an arm that keeps a model out, the strongest if that is sure, or INSIDE."""
    root = math.sqrt(level.budget)
    arm, strength = strongest_watch(ranges, model, watches, -1, level)
    if strength > root:
        return arm
    for arm in range(len(data.pulls)):
        least = ranges.least[model, arm]
        most = ranges.most[model, arm]
        if level.maybe_out(watches.means[arm], watches.roots[arm], least, most) >= root:
            write_interval(arm, data, level, box)
            if most <= box.low[arm] or least >= box.high[arm]:
                return arm
    return INSIDE


@compilable
def update_watches(
    ranges: Ranges, watches: Watches, changed: int, data: Data, level: Intervals, box: Box
) -> None:
    """Bring the set up to date: `changed` is the arm with new data, or SEVERAL, or NO_ARM.

    Intervals of arms without new data only grow, so a model inside can leave only by `changed`, and one
    outside can come in only when an interval leaves its gap.
    """
    first, end = changed, changed + 1
    if changed == SEVERAL:
        include_all(watches)
        first, end = 0, len(data.pulls)
    elif changed == NO_ARM:
        end = first
    for arm in range(first, end):
        if data.pulls[arm] > 0:
            watches.means[arm] = data.sums[arm] / data.pulls[arm]
            watches.roots[arm] = math.sqrt(data.pulls[arm])
            watches.strength[arm] = 0.0  # its gap has to be looked at
    root = math.sqrt(level.budget)
    strength = watches.strength
    for arm in range(len(strength)):
        if strength[arm] <= root:
            check_gap(ranges, watches, arm, data, level, box)
    for arm in range(first, end):
        if data.pulls[arm] > 0:
            exclude_models(ranges, watches, arm, level, box)


@compilable
def comes_in(ranges: Ranges, watches: Watches, rank: int, arm: int, ahead: Ahead) -> bool:
    """May a model be inside after some pulls of `arm`, or on the way there?"""
    watch = watches.watch[rank]
    if watch == INSIDE:
        return True
    model = ranges.ranking[rank]
    least, most = ranges.least, ranges.most
    if most[model, arm] <= ahead.band_low or least[model, arm] >= ahead.band_high:
        return False
    root = math.sqrt(ahead.level.budget)
    if watch != arm:
        if watches.strength[watch] > root:
            return False
        if keeps_out(watches, watch, least[model, watch], most[model, watch], ahead.level) > root:
            return False
    _, strength = strongest_watch(ranges, model, watches, arm, ahead.level)
    return strength <= root


@compilable
def nothing_comes_in(at: Tangents, arm: int, length: float, watches: Watches) -> bool:
    """Is every model outside sure to stay out for this many pulls of `arm`?"""
    limits = limits_for(at, length)
    needed, strength = limits.strength, watches.strength
    for other in range(len(strength)):
        if other != arm and strength[other] < needed:
            return False
    below = watches.gap_low[arm] < limits.unreached_low
    return bool(below and watches.gap_high[arm] > limits.unreached_high)


@compilable
def pulls_gaps_hold(at: Tangents, arm: int, watches: Watches) -> float:
    """Return for how many pulls of `arm` every model that is watched surely stays out."""
    length = min(
        pulls_unreached(at, watches.gap_low[arm]), pulls_unreached(at, watches.gap_high[arm])
    )
    for other in range(len(watches.strength)):
        if other != arm:
            length = min(length, pulls_refuted(at, watches.strength[other]))
    return length
