"""Confidence boxes: what the pulls so far say of the means (paper, Algorithm 1 line 7).

A model is kept when every arm's mean lies within the radius of its empirical mean, strictly; an arm
that was never pulled says nothing. All policies share these formulas, so equal alpha means equal
widths everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable

RELATIVE_ERROR = 2e-14  # a generous bound on that of a mean, a radius or a sum of the two


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
def write_interval(arm: int, data: Data, budget: float, box: Box) -> None:
    """Write the open interval of means of one arm that fit its data."""
    pulls = data.pulls[arm]
    if pulls > 0:
        mean = data.sums[arm] / pulls
        radius = math.sqrt(budget / pulls)
        box.low[arm] = mean - radius
        box.high[arm] = mean + radius
    else:
        box.low[arm] = -math.inf
        box.high[arm] = math.inf


@compilable
def write_box(data: Data, budget: float, box: Box) -> None:
    """Write the open box of means that fit: mean -/+ sqrt(budget / pulls) for each pulled arm."""
    for arm in range(len(data.pulls)):
        write_interval(arm, data, budget, box)


def centres_and_radii(data: Data, budget: float) -> tuple[Floats, Floats]:
    """Return the middle and half the width of the box, all arms at once, up to rounding.

    For certificates in plain Python, which have a margin for it.
    """
    counts = np.maximum(data.pulls, 1)
    return data.sums / counts, np.where(data.pulls > 0, np.sqrt(budget / counts), np.inf)


class Prospect(NamedTuple):
    """What a plan is made for: at most `limit` pulls after `t`, with rewards in [bottom, top].

    The budget is factor * log(t + 1) and grows.
    """

    t: int
    limit: int
    factor: float
    budget: float
    bottom: float
    top: float


class Ahead(NamedTuple):
    """What can have happened after some more pulls of one arm, whatever rewards came.

    The arm's empirical mean lies in [lowest, highest] and its radius is `radius`; a model can have come
    within the radius only if its mean of the arm is inside (band_low, band_high). The other arms have
    the data they had; `budget` is that of the last of these pulls. `margin` is what rounding may do to
    a mean: certificates hold with this to spare, so near a tie nothing is certified.
    """

    lowest: float
    highest: float
    radius: float
    band_low: float
    band_high: float
    budget: float
    margin: float


@compilable
def rounding_margin(bottom: float, top: float, budget: float) -> float:
    """Return a generous bound on the rounding error of any mean, radius or sum of the two."""
    return RELATIVE_ERROR * (max(abs(bottom), abs(top)) + math.sqrt(budget))


@compilable
def after_pulls(pulls: int, total: float, extra: int, prospect: Prospect, budget: float) -> Ahead:
    """Return what `extra` more pulls can do to an arm with `pulls` pulls summing to `total`.

    The band is that of the last pull and holds for the earlier ones too: for a mean m <= top,
    (top - m) j + sqrt(budget_j (pulls + j)) grows with j, so a model once reachable from below stays
    so (docs/planning.md 2.3), and likewise from above. For means outside the rewards' range this fails,
    so a band that leaves the range has no end on that side.
    """
    count = pulls + extra
    lowest = (total + extra * prospect.bottom) / count
    highest = (total + extra * prospect.top) / count
    radius = math.sqrt(budget / count)
    margin = rounding_margin(prospect.bottom, prospect.top, budget)
    band_low = lowest - radius - margin
    band_high = highest + radius + margin
    if band_low < prospect.bottom:
        band_low = -math.inf
    if band_high > prospect.top:
        band_high = math.inf
    return Ahead(lowest, highest, radius, band_low, band_high, budget, margin)
