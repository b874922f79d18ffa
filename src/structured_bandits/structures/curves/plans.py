"""How long SUCB's choice surely lasts on curves, in closed form (PLANNING, Lemma 2, for continua).

A cell of the chosen arm is a continuum of models: those that fit the data of the other arms protect the
choice, and have means of the arm from `lowest` to `highest`. A cell of another arm threatens it with the
highest mean that its own arm has on the part of the cell that fits. Over j more pulls the ends of this
part move no faster than tangents say: an end set by another arm with its radius, which grows like
sqrt(log t), and an end set by the chosen arm with the furthest mean that may come.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import confidence_box
from structured_bandits.planning.tangents import (
    Sure,
    Tangents,
    lasts,
    stays_above,
    stays_below,
    stays_close,
)
from structured_bandits.planning.watches import Watches, fresh_watches


class CurveWork(NamedTuple):
    """What is noted of the cells from plan to plan, and the protectors of a plan."""

    watches: Watches
    lowest: Floats  # of each protector
    highest: Floats
    low: Floats  # the box of all arms but the chosen one, narrowed by the margin for rounding
    high: Floats


@compilable
def fresh_curve_work(cells: int, arms: int) -> CurveWork:
    """Return the memory for plans on curves."""
    return CurveWork(
        fresh_watches(cells, arms), np.zeros(cells), np.zeros(cells), np.zeros(arms), np.zeros(arms)
    )


@compilable
def narrowed_box(pulls: Ints, sums: Floats, at: Tangents, low: Floats, high: Floats) -> None:
    """Write the confidence box, narrowed by the margin: what is inside surely fits."""
    confidence_box(pulls, sums, at.budget, low, high)
    low += at.margin
    high -= at.margin


class Threat(NamedTuple):
    """What a cell of another arm can do: for how long it surely does not fit, and its highest mean."""

    out: float
    value: float
    rise: float  # of the value, per pull


@compilable
def find_protectors(
    cells: Any, arm: int, at: Tangents, pulls: Ints, sums: Floats, work: CurveWork
) -> int:
    """Note, for each cell of `arm`, the means of `arm` that fit the other arms; return their number."""
    narrowed_box(pulls, sums, at, work.low, work.high)
    work.low[arm] = -math.inf
    work.high[arm] = math.inf
    count = 0
    for cell in work.watches.every:
        if cells.best[cell] == arm:
            lowest, highest = cells.span(cell, work.low, work.high)
            if lowest <= highest:
                work.lowest[count] = lowest
                work.highest[count] = highest
                count += 1
    return count


@compilable
def cover_lasts(at: Tangents, lowest: Floats, highest: Floats) -> float:
    """Return for how many pulls these protectors cover every mean that may come.

    From above, between neighbours, and from below; lower protectors help below but must be close.
    """
    best = 0.0
    possible = stays_close(at, 0.0)  # as long as a radius is more than rounding
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
            possible = min(possible, stays_above(at, highest[following]))
        elif highest[following] < bottom:
            possible = min(possible, stays_close(at, bottom - highest[following]))
        bottom = lowest[following]
        best = max(best, min(possible, stays_below(at, bottom)))
    return best


@compilable
def stays_out(cells: Any, cell: int, arm: int, sure: Sure, watches: Watches) -> bool:
    """Is the whole cell surely kept out, by the arm that watches it or as out of reach?"""
    watch = watches.watch[cell]
    if watch >= 0 and watch != arm and watches.strength[watch] >= sure.refuted:
        return True
    return bool(cells.most[cell, arm] < sure.low or cells.least[cell, arm] > sure.high)


@compilable
def harmless_for(
    cells: Any, cell: int, arm: int, at: Tangents, work: CurveWork, protectors: int
) -> float:
    """For how many pulls does a cell not fit, or is a protector above it and below lo_j + r_j (C2)?"""
    threat = threat_of(cells, cell, arm, at, work)
    longest = threat.out
    value = threat.value + at.margin + 2.0 * cells.tie
    below_ceiling = lasts(at.mean + at.radius - at.margin - value, at.low_fall + threat.rise)
    for place in range(protectors):
        outranked = min(below_ceiling, lasts(work.highest[place] - value, threat.rise))
        longest = max(longest, min(outranked, stays_below(at, work.lowest[place])))
    return longest


@compilable
def threat_of(cells: Any, cell: int, arm: int, at: Tangents, work: CurveWork) -> Threat:
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
            down = (at.mean - at.bottom) / at.pulls
            up = (at.top - at.mean) / at.pulls
        else:
            lower = work.low[other] - 2.0 * at.margin  # the box is narrowed by one
            upper = work.high[other] + 2.0 * at.margin
            down = up = 0.5 * (upper - lower) * at.growth
        rise = last[other] - first[other]
        if abs(rise) <= at.margin:  # flat: on the whole cell or nowhere
            above = min(first[other], last[other]) - upper
            below = lower - max(first[other], last[other])
            out = max(out, lasts(above, up), lasts(below, down))
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
    out = max(out, lasts(left - right, left_rate + right_rate))
    own = cells.best[cell]
    climb = last[own] - first[own]
    place, rate = (right, right_rate) if climb > 0.0 else (left, left_rate)
    return Threat(out, first[own] + place * climb, abs(climb) * rate)
