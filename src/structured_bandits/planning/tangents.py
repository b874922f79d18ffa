"""How long a choice of SUCB surely lasts, in closed form (PLANNING, Lemma 2).

After j more pulls of an arm with `pulls` pulls so far, at time s + j, its mean lies between lo_j and
hi_j and its radius is r_j. From s = 5 on r_j is convex and falls, so lo_j + r_j is convex and falls,
hi_j - r_j is concave and rises, and G_j = r_j (pulls + j) is concave and rises. A condition on one of
them holds at least up to the root of its tangent at j = 0: a number of pulls, without a search.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Prospect, radius_growth, rounding_margin

FIRST_TIME = 5  # from which on the radius is convex
FOREVER = 1e300


class Tangents(NamedTuple):
    """Values and slopes at j = 0, with a margin for rounding; rewards lie in [bottom, top]."""

    time: float  # s
    factor: float  # b in the budget b log s
    budget: float
    pulls: float
    total: float
    bottom: float
    top: float
    mean: float
    radius: float
    growth: float  # how fast, relatively, the radii of other arms grow
    radius_fall: float  # how fast the radius falls
    low_fall: float  # how fast lo_j + r_j falls
    high_rise: float  # how fast hi_j - r_j rises
    reach: float  # G_0
    reach_slope: float
    margin: float


@compilable
def tangents(prospect: Prospect, pulls: int, total: float) -> Tangents:
    """Return the tangents for an arm with `pulls` pulls whose rewards sum to `total`."""
    time = prospect.t + 1.0
    each = 1.0 / pulls
    mean = total * each
    radius = math.sqrt(prospect.budget * each)
    growth = radius_growth(time, prospect.budget / prospect.factor)
    fall = radius * (0.5 * each - growth)
    return Tangents(
        time,
        prospect.factor,
        prospect.budget,
        float(pulls),
        total,
        prospect.bottom,
        prospect.top,
        mean,
        radius,
        growth,
        fall,
        (mean - prospect.bottom) * each + fall,
        (prospect.top - mean) * each + fall,
        radius * pulls,
        radius * (growth * pulls + 0.5),
        rounding_margin(prospect.bottom, prospect.top, prospect.budget),
    )


@compilable
def lasts(room: float, loss: float) -> float:
    """Return for how many pulls room - loss * j stays positive."""
    if room <= 0.0:
        return 0.0
    return FOREVER if loss <= 0.0 else room / loss


@compilable
def stays_below(at: Tangents, mean: float) -> float:
    """For how many pulls is lo_j + r_j > mean (C2)? A protector there is in the set if a threat is."""
    return lasts(at.mean + at.radius - mean - at.margin, at.low_fall)


@compilable
def stays_above(at: Tangents, mean: float) -> float:
    """For how many pulls is hi_j - r_j < mean? Then a protector there covers every mean above it."""
    return lasts(mean - (at.mean - at.radius) - at.margin, at.high_rise)


@compilable
def stays_close(at: Tangents, gap: float) -> float:
    """For how many pulls do two protectors this far apart leave no mean between them uncovered?"""
    return lasts(2.0 * (at.radius - at.margin) - gap, 2.0 * at.radius_fall)


@compilable
def stays_out_of_reach(at: Tangents, mean: float) -> float:
    """For how many pulls is a mean too high (C1) or too low (C3) to be within the radius?"""
    centre = mean * at.pulls
    slack = at.margin * at.pulls
    too_high = lasts(centre - at.total - at.reach - slack, at.top - mean + at.reach_slope)
    too_low = lasts(at.total - centre - at.reach - slack, mean - at.bottom + at.reach_slope)
    return max(too_high, too_low)


@compilable
def stays_refuted(at: Tangents, strength: float) -> float:
    """For how many pulls does another arm keep a model out, sqrt(pulls) * distance being `strength`?

    As long as the budget is below its square: j <= s (exp(x) - 1) with x = (strength^2 - budget) / b.
    """
    x = (strength * strength - at.budget) / at.factor - 1e-12
    if x <= 0.0:
        return 0.0
    return FOREVER if x > 600.0 else at.time * (math.exp(x) - 1.0) * (1.0 - 1e-12)


class Sure(NamedTuple):
    """The same conditions turned round: what holds for a given number of pulls."""

    below: float  # of means below this, lo_j + r_j stays above
    close: float  # protectors less than this apart leave nothing uncovered between them
    low: float  # means up to this are too low to be reached
    high: float  # and from this on too high
    refuted: float  # a watch of this strength or more holds


@compilable
def sure_for(at: Tangents, length: float) -> Sure:
    """Return what holds for `length` pulls; for the watch by log(1 + x) <= x.

    Means inside the range of rewards are reached, if ever, at the end, others perhaps at the start.
    """
    count = at.pulls + length
    slack = at.reach + at.margin * at.pulls
    low = (at.total - slack + length * (at.bottom - at.reach_slope)) / count
    high = (at.total + slack + length * (at.top + at.reach_slope)) / count
    return Sure(
        at.mean + at.radius - at.margin - length * at.low_fall,
        2.0 * (at.radius - at.margin - length * at.radius_fall),
        min(low, at.mean - at.radius - at.margin),
        max(high, at.mean + at.radius + at.margin),
        math.sqrt(at.budget + at.factor * (length / at.time + 1e-12)),
    )
