"""For how many pulls SUCB's choice is certain on curves.

With Hoeffding's intervals in closed form (docs/notes/lookahead.md 4.2, 4.3), with KL intervals by the
search of spans.py.

A cell of the chosen arm is a continuum of models: those that fit the data of the other arms protect the
choice, and have means of the arm from `lowest` to `highest`. A cell of another arm threatens it with
the highest mean that its own arm has on the part of the cell that fits. Over j more pulls the ends of
this part move no faster than tangents say: an end set by another arm with its radius, which grows like
sqrt(log t), and an end set by the chosen arm with the furthest mean that may come.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.base.confidence import Box, Data, fresh_box, write_box
from structured_bandits.base.intervals import Hoeffding, Intervals
from structured_bandits.lookahead.cells.spans import searched_length
from structured_bandits.lookahead.prospect import Prospect
from structured_bandits.lookahead.stopping import Tries, fresh_tries
from structured_bandits.lookahead.tangents import (
    FIRST_TIME,
    Limits,
    Tangents,
    limits_for,
    pulls_above_floor,
    pulls_below_ceiling,
    pulls_close_enough,
    pulls_refuted,
    pulls_too_high,
    pulls_too_low,
    pulls_within,
    tangents,
)
from structured_bandits.lookahead.witnesses import (
    Ranges,
    Watches,
    fresh_watches,
    pulls_gaps_hold,
    strongest_watch,
    update_watches,
)
from structured_bandits.structures.curves.cells import IntervalCells
from structured_bandits.structures.spans import highest_arm


def workspace(cells: IntervalCells) -> CurveWork:
    """Return the memory of `choose` and the questions after it."""
    return fresh_curve_work(len(cells.best), cells.arm_count())


def choose(
    cells: IntervalCells, changed: int, data: Data, level: Intervals, box: Box, work: CurveWork
) -> int:
    """Return what `optimistic_arm` does, without a look at the cells that an arm keeps out."""
    watches = work.watches
    ranges = Ranges(cells.least, cells.most, watches.every)
    update_watches(ranges, watches, changed, data, level, box)
    write_box(data, level, box)
    return highest_arm(cells, watches.inside[: watches.size[0]], box, work.notes)


def certain_length(
    cells: IntervalCells, arm: int, prospect: Prospect, data: Data, work: CurveWork
) -> int:
    """Return a number of pulls, from 1 to its limit, in which `arm` is certain to stay the choice."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    return choice_length(prospect.level, cells, arm, prospect, data, work)


def empty_length(
    cells: IntervalCells, arm: int, prospect: Prospect, data: Data, work: CurveWork
) -> float:
    """Return for how many pulls of `arm` every cell surely stays out."""
    if prospect.t + 1 < FIRST_TIME:
        return 0.0
    return outside_length(prospect.level, cells, arm, prospect, data, work)


class CurveWork(NamedTuple):
    """What is noted of the cells from plan to plan, and the protectors of a plan."""

    watches: Watches
    lowest: Floats  # of each protector
    highest: Floats
    box: Box  # of all arms but the chosen one, narrowed by the margin for rounding
    notes: Floats  # none: spans on curves need no memory
    lengths: Ints  # of the last plan for each arm, where the next search begins
    tries: Tries  # what the lengths of streaks that may stop are guessed from


@compilable
def fresh_curve_work(cells: int, arms: int) -> CurveWork:
    """Return the memory for plans on curves."""
    watches = fresh_watches(cells, arms)
    lowest, highest = np.zeros(cells), np.zeros(cells)
    return CurveWork(
        watches,
        lowest,
        highest,
        fresh_box(arms),
        np.zeros(0),
        watches.lengths,
        fresh_tries(arms),
    )


@compilable
def write_narrowed_box(data: Data, level: Intervals, margin: float, box: Box) -> None:
    """Write the confidence box, narrowed by the margin: what is inside surely fits."""
    low, high = box.low, box.high
    write_box(data, level, box)
    low += margin
    high -= margin


def tangent_length(
    level: Hoeffding,
    cells: IntervalCells,
    arm: int,
    prospect: Prospect,
    data: Data,
    work: CurveWork,
) -> int:
    """Find the length by the tangents of all protectors and threats."""
    at = tangents(prospect, data.pulls[arm], data.sums[arm])
    return 1 + int(length_of_choice(cells, arm, at, prospect, data, work))


@compilable
def length_of_choice(
    cells: IntervalCells, arm: int, at: Tangents, prospect: Prospect, data: Data, work: CurveWork
) -> float:
    """Return for how many pulls after the first `arm` stays the choice, under the shares of `at`."""
    level = prospect.level
    protectors = find_protectors(cells, arm, at, data, level, work)
    length = cover_length(at, work.lowest[:protectors], work.highest[:protectors])
    length = min(length, prospect.limit - 1.0)
    limits = limits_for(at, length)
    for cell in work.watches.every:
        if length < 1.0:
            break
        if cells.best[cell] != arm and not kept_out(cells, cell, arm, limits, work.watches):
            harmless = harmless_for(cells, cell, arm, at, level, work, protectors)
            if harmless < length:
                length = harmless
                limits = limits_for(at, length)
    return length


def span_length(
    level: Intervals,
    cells: IntervalCells,
    arm: int,
    prospect: Prospect,
    data: Data,
    work: CurveWork,
) -> int:
    """Search for the length, as on other cells with spans."""
    return searched_length(cells, arm, prospect, data, work)


#: A number of pulls, from 1 to its limit, in which an arm is certain to stay the choice.
choice_length = chosen_by_class({Hoeffding: tangent_length}, span_length)


def gaps_length(
    level: Hoeffding,
    cells: IntervalCells,
    arm: int,
    prospect: Prospect,
    data: Data,
    work: CurveWork,
) -> float:
    """By the gaps in which no arm's interval meets a cell, and by the tangents of the other cells."""
    at = tangents(prospect, data.pulls[arm], data.sums[arm])
    length = pulls_gaps_hold(at, arm, work.watches)
    write_narrowed_box(data, level, at.margin, work.box)
    for cell in work.watches.inside[: work.watches.size[0]]:  # not kept out by a single arm
        length = min(length, threat_of(cells, cell, arm, at, work).out)
    return length


def no_length(
    level: Intervals,
    cells: IntervalCells,
    arm: int,
    prospect: Prospect,
    data: Data,
    work: CurveWork,
) -> float:
    """Return 0.0: with KL intervals an empty set is looked at again after each pull."""
    return 0.0


#: For how many pulls of an arm every cell surely stays out.
outside_length = chosen_by_class({Hoeffding: gaps_length}, no_length)


class Threat(NamedTuple):
    """What a cell of another arm can do: for how long it surely does not fit, and its highest mean."""

    out: float
    value: float
    rise: float  # of the value, per pull


@compilable
def find_protectors(
    cells: IntervalCells, arm: int, at: Tangents, data: Data, level: Intervals, work: CurveWork
) -> int:
    """Note, for each cell of `arm`, the means of `arm` that fit the other arms; return their number."""
    write_narrowed_box(data, level, at.margin, work.box)
    work.box.low[arm] = -math.inf
    work.box.high[arm] = math.inf
    count = 0
    for cell in work.watches.every:
        if cells.best[cell] == arm:
            lowest, highest = cells.span(cell, work.box, work.notes)
            if lowest <= highest:
                work.lowest[count] = lowest
                work.highest[count] = highest
                count += 1
    return count


@compilable
def cover_length(at: Tangents, lowest: Floats, highest: Floats) -> float:
    """Return for how many pulls these protectors cover every mean that may come.

    From above, between neighbours, and from below; lower protectors help below but must be close.
    """
    best = 0.0
    possible = pulls_close_enough(at, 0.0)  # as long as a radius is more than rounding
    bottom = math.inf  # of the protectors used so far
    while best < possible:
        following = -1
        for place in range(len(lowest)):
            lower = lowest[place] < bottom
            if lower and (following < 0 or highest[place] > highest[following]):
                following = place
        if following < 0:
            break
        if bottom == math.inf:
            possible = min(possible, pulls_above_floor(at, highest[following]))
        elif highest[following] < bottom:
            possible = min(possible, pulls_close_enough(at, bottom - highest[following]))
        bottom = lowest[following]
        best = max(best, min(possible, pulls_below_ceiling(at, bottom)))
    return best


@compilable
def kept_out(cells: IntervalCells, cell: int, arm: int, limits: Limits, watches: Watches) -> bool:
    """Is the whole cell surely kept out, by the arm that watches it or as out of reach?"""
    watch = watches.watch[cell]
    if watch >= 0 and watch != arm and watches.strength[watch] >= limits.strength:
        return True
    below = cells.most[cell, arm] < limits.unreached_low
    return bool(below or cells.least[cell, arm] > limits.unreached_high)


@compilable
def harmless_for(
    cells: IntervalCells,
    cell: int,
    arm: int,
    at: Tangents,
    level: Intervals,
    work: CurveWork,
    protectors: int,
) -> float:
    """For how many pulls does a cell not fit, or is a protector above it and below lo_j + r_j?

    It does not fit where `kept_out` says so either, whichever arm watches it: so the answer follows
    from the data alone.
    """
    threat = threat_of(cells, cell, arm, at, work)
    ranges = Ranges(cells.least, cells.most, work.watches.every)
    _, strength = strongest_watch(ranges, cell, work.watches, arm, level)
    longest = max(
        threat.out,
        pulls_refuted(at, strength),
        pulls_too_low(at, cells.most[cell, arm]),
        pulls_too_high(at, cells.least[cell, arm]),
    )
    value = threat.value + at.margin + 2.0 * cells.tie
    below_ceiling = pulls_within(at.mean + at.radius - at.margin - value, at.low_fall + threat.rise)
    for place in range(protectors):
        outranked = min(below_ceiling, pulls_within(work.highest[place] - value, threat.rise))
        longest = max(longest, min(outranked, pulls_below_ceiling(at, work.lowest[place])))
    return longest


@compilable
def threat_of(cells: IntervalCells, cell: int, arm: int, at: Tangents, work: CurveWork) -> Threat:
    """Return what a cell of another arm can do to `arm`.

    The part of the cell that fits goes from `left` to `right`; the ends and the rates at which they
    move are those of the arm that binds now.
    """
    first = cells.at_start[cell]
    last = cells.at_end[cell]
    left = 0.0
    right = 1.0
    left_rate = 0.0
    right_rate = 0.0
    out = 0.0
    for other in range(len(first)):
        if other == arm:
            lower = at.mean - at.radius - at.margin
            upper = at.mean + at.radius + at.margin
            down = (at.mean - at.bottom) * at.misses / at.pulls
            up = (at.top - at.mean) * at.gains / at.pulls
        else:
            lower = work.box.low[other] - 2.0 * at.margin  # the box is narrowed by one
            upper = work.box.high[other] + 2.0 * at.margin
            down = up = 0.5 * (upper - lower) * at.growth
        rise = last[other] - first[other]
        if abs(rise) <= at.margin:  # flat: on the whole cell or nowhere
            above = min(first[other], last[other]) - upper
            below = lower - max(first[other], last[other])
            out = max(out, pulls_within(above, up), pulls_within(below, down))
            continue
        enter = (lower - first[other]) / rise
        leave = (upper - first[other]) / rise
        if rise < 0.0:
            enter, leave = leave, enter
            down, up = up, down
        if enter > left:
            left = enter
            left_rate = down / abs(rise)
        if leave < right:
            right = leave
            right_rate = up / abs(rise)
    out = max(out, pulls_within(left - right, left_rate + right_rate))
    own = cells.best[cell]
    climb = last[own] - first[own]
    place, rate = (right, right_rate) if climb > 0.0 else (left, left_rate)
    return Threat(out, first[own] + place * climb, abs(climb) * rate)
