"""Confidence boxes: what the pulls so far say of the means (paper, Algorithm 1 line 7).

A model is kept when every arm's mean lies in the open interval of means that fit its data; an arm that
was never pulled says nothing. Two kinds of intervals are known (planning/intervals.py). All policies
share them, so equal alpha means equal widths everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.intervals import RELATIVE_ERROR, Intervals


class Data(NamedTuple):
    """Pulls and sums of rewards, a number for each arm."""

    pulls: Ints
    sums: Floats


class Box(NamedTuple):
    """An open box of means: those of each arm lie strictly between `low` and `high`."""

    low: Floats
    high: Floats


@compilable
def fresh_data(arms: int) -> Data:
    """Return the data before the first pull."""
    return Data(np.zeros(arms, np.int64), np.zeros(arms))


@compilable
def fresh_box(arms: int) -> Box:
    """Return the memory of a box."""
    return Box(np.zeros(arms), np.zeros(arms))


@compilable
def width_budget(alpha: float, sigma: float, log_clock: float) -> float:
    """Return the b in the radius sqrt(b / pulls), that is (2 sigma)^2 alpha log(clock)."""
    return 4.0 * sigma * sigma * alpha * log_clock


@compilable
def radius_growth(time: float, log_time: float) -> float:
    """Return how fast, relatively, radii grow with time: the slope of sqrt(log t) over its value."""
    return 0.5 / (time * log_time)


@compilable
def write_interval(arm: int, data: Data, level: Intervals, box: Box) -> None:
    """Write the open interval of means of one arm that fit its data."""
    pulls = data.pulls[arm]
    if pulls > 0:
        low, high = level.interval(pulls, data.sums[arm])
        box.low[arm] = low
        box.high[arm] = high
    else:
        box.low[arm] = -math.inf
        box.high[arm] = math.inf


@compilable
def write_box(data: Data, level: Intervals, box: Box) -> None:
    """Write the open box of means that fit the data."""
    for arm in range(len(data.pulls)):
        write_interval(arm, data, level, box)


def box_of(data: Data, level: Intervals) -> Box:
    """Return the open box of means that fit the data, all arms at once; for plain Python."""
    low, high = level.intervals(data.pulls, data.sums)
    return Box(low, high)


class Prospect(NamedTuple):
    """What a plan is made for: at most `limit` pulls after `t`, with rewards in [bottom, top].

    The budget of the intervals is factor * log(t + 1), which is `level.budget` now, and grows.
    """

    t: int
    limit: int
    factor: float
    level: Intervals
    bottom: float
    top: float


class Ahead(NamedTuple):
    """What can have happened after some more pulls of one arm, whatever rewards came.

    `floor` and `roof` are the ends of the arm's interval if its rewards were the highest, `ceiling` is
    the upper end if they were the least; a model can have come to fit only if its mean of the arm is
    inside (band_low, band_high). The other arms have the data they had; `level` is that of the last of
    these pulls and `pulls` are those of the arm by then. `margin` is what rounding may do to a mean:
    all ends have it to spare, so near a tie nothing is certified.
    """

    floor: float
    roof: float
    ceiling: float
    band_low: float
    band_high: float
    pulls: int
    level: Intervals
    margin: float


@compilable
def rounding_margin(bottom: float, top: float, budget: float) -> float:
    """Return a generous bound on the rounding error of any mean, radius or sum of the two."""
    return RELATIVE_ERROR * (max(abs(bottom), abs(top)) + math.sqrt(budget))


@compilable
def after_pulls(pulls: int, total: float, extra: int, prospect: Prospect) -> Ahead:
    """Return what `extra` more pulls can do to an arm with `pulls` pulls summing to `total`.

    The band is that of the last pull and holds for the earlier ones too: a model once reachable from
    below stays so (docs/planning.md 2.3, 16.3), and likewise from above. For means outside the rewards'
    range this fails, so a band that leaves the range has no end on that side.
    """
    count = pulls + extra
    level = prospect.level.at(prospect.factor * math.log(prospect.t + 1 + extra))
    margin = rounding_margin(prospect.bottom, prospect.top, level.budget)
    lowest, ceiling = level.interval(count, total + extra * prospect.bottom)
    floor, highest = level.interval(count, total + extra * prospect.top)
    band_low = lowest - margin
    band_high = highest + margin
    if band_low < prospect.bottom:
        band_low = -math.inf
    if band_high > prospect.top:
        band_high = math.inf
    return Ahead(
        floor + margin,
        highest - margin,
        ceiling - margin,
        band_low,
        band_high,
        count,
        level,
        margin,
    )


def with_more_margin(ahead: Ahead, more: float) -> Ahead:
    """Return the same with this much more to spare."""
    return Ahead(
        ahead.floor + more,
        ahead.roof - more,
        ahead.ceiling - more,
        ahead.band_low - more,
        ahead.band_high + more,
        ahead.pulls,
        ahead.level,
        ahead.margin + more,
    )
