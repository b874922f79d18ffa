"""Confidence boxes: what the pulls so far say of the means (ALGORITHMS: widths, paper Alg. 1 line 7).

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


@compilable
def width_budget(alpha: float, sigma: float, log_clock: float) -> float:
    """Return the b in the radius sqrt(b / pulls), that is (2 sigma)^2 alpha log(clock)."""
    return 4.0 * sigma * sigma * alpha * log_clock


@compilable
def radius_growth(time: float, log_time: float) -> float:
    """Return how fast, relatively, radii grow with time: the slope of sqrt(log t) over its value."""
    return 0.5 / (time * log_time)


@compilable
def confidence_interval(
    arm: int, pulls: Ints, sums: Floats, budget: float, low: Floats, high: Floats
) -> None:
    """Write the open interval of means of one arm that fit its data."""
    if pulls[arm] > 0:
        mean = sums[arm] / pulls[arm]
        radius = math.sqrt(budget / pulls[arm])
        low[arm] = mean - radius
        high[arm] = mean + radius
    else:
        low[arm] = -math.inf
        high[arm] = math.inf


@compilable
def confidence_box(pulls: Ints, sums: Floats, budget: float, low: Floats, high: Floats) -> None:
    """Write the open box of means that fit: mean -/+ sqrt(budget / pulls) for each pulled arm."""
    for arm in range(len(pulls)):
        confidence_interval(arm, pulls, sums, budget, low, high)


def centres_and_radii(pulls: Ints, sums: Floats, budget: float) -> tuple[Floats, Floats]:
    """Return the middle and half the width of the box, all arms at once, up to rounding.

    For certificates in plain Python, which have a margin for it.
    """
    counts = np.maximum(pulls, 1)
    return sums / counts, np.where(pulls > 0, np.sqrt(budget / counts), np.inf)


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


class Reach(NamedTuple):
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


ROUNDING = 2e-14  # a generous bound on the relative error of a mean, a radius or a sum of the two


@compilable
def rounding_margin(bottom: float, top: float, budget: float) -> float:
    """Return a generous bound on the rounding error of any mean, radius or sum of the two."""
    return ROUNDING * (max(abs(bottom), abs(top)) + math.sqrt(budget))


@compilable
def reach_after(
    pulls: int, total: float, extra: int, bottom: float, top: float, budget: float
) -> Reach:
    """Return the reach of an arm with `pulls` pulls summing to `total` after `extra` more.

    Rewards lie in [bottom, top]. The band is that of the last pull and holds for the earlier ones
    too: for a mean m <= top, (top - m) j + sqrt(budget_j (pulls + j)) grows with j, so a model once
    reachable from below stays so (PLANNING, C1), and likewise from above (C3). For means outside the
    rewards' range this fails, so a band that leaves the range has no end on that side.
    """
    count = pulls + extra
    lowest = (total + extra * bottom) / count
    highest = (total + extra * top) / count
    radius = math.sqrt(budget / count)
    margin = rounding_margin(bottom, top, budget)
    band_low = lowest - radius - margin
    band_high = highest + radius + margin
    if band_low < bottom:
        band_low = -math.inf
    if band_high > top:
        band_high = math.inf
    return Reach(lowest, highest, radius, band_low, band_high, budget, margin)
