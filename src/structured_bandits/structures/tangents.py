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
from structured_bandits.structures.confidence import rounding_margin

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
    radius_fall: float  # how fast the radius falls
    low_fall: float  # how fast lo_j + r_j falls
    high_rise: float  # how fast hi_j - r_j rises
    reach: float  # G_0
    reach_slope: float
    margin: float


@compilable
def tangents(
    t: int, pulls: int, total: float, factor: float, bottom: float, top: float
) -> Tangents:
    """Return the tangents for the arm to be pulled after `t` pulls of all arms."""
    time = t + 1.0
    log = math.log(time)
    budget = factor * log
    radius = math.sqrt(budget / pulls)
    growth = 0.5 / (time * log)  # half the relative growth of the budget in a step
    mean = total / pulls
    fall = radius * (0.5 / pulls - growth)
    return Tangents(
        time,
        factor,
        budget,
        float(pulls),
        total,
        bottom,
        top,
        mean,
        radius,
        fall,
        (mean - bottom) / pulls + fall,
        (top - mean) / pulls + fall,
        radius * pulls,
        radius * (growth * pulls + 0.5),
        rounding_margin(bottom, top, budget),
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
def surely_below(at: Tangents, mean: float, length: float) -> bool:
    """Is lo_j + r_j > mean for this many pulls?"""
    return at.mean + at.radius - mean - at.margin > length * at.low_fall


@compilable
def stays_above(at: Tangents, mean: float) -> float:
    """For how many pulls is hi_j - r_j < mean? Then a protector there covers every mean above it."""
    return lasts(mean - (at.mean - at.radius) - at.margin, at.high_rise)


@compilable
def stays_close(at: Tangents, gap: float) -> float:
    """For how many pulls do two protectors this far apart leave no mean between them uncovered?"""
    return lasts(2.0 * (at.radius - at.margin) - gap, 2.0 * at.radius_fall)


@compilable
def surely_close(at: Tangents, gap: float, length: float) -> bool:
    """Do two protectors this far apart leave nothing uncovered for this many pulls?"""
    return 2.0 * (at.radius - at.margin) - gap > 2.0 * length * at.radius_fall


@compilable
def stays_out_of_reach(at: Tangents, mean: float) -> float:
    """For how many pulls is a mean too high (C1) or too low (C3) to be within the radius?"""
    centre = mean * at.pulls
    slack = at.margin * at.pulls
    too_high = lasts(centre - at.total - at.reach - slack, at.top - mean + at.reach_slope)
    too_low = lasts(at.total - centre - at.reach - slack, mean - at.bottom + at.reach_slope)
    return max(too_high, too_low)


@compilable
def surely_refuted(at: Tangents, excess: float, length: float) -> bool:
    """Does another arm keep a model out for this many pulls? By exp(x) - 1 >= x, without a division."""
    return (excess - at.budget - 1e-12 * at.factor) * at.time >= length * at.factor


@compilable
def surely_out_of_reach(at: Tangents, mean: float, length: float) -> bool:
    """Is a mean too high or too low to be within the radius for this many pulls?"""
    centre = mean * at.pulls
    slack = at.reach + at.margin * at.pulls
    too_high = centre - at.total - slack
    too_low = at.total - centre - slack
    return (too_high > 0.0 and too_high > length * (at.top - mean + at.reach_slope)) or (
        too_low > 0.0 and too_low > length * (mean - at.bottom + at.reach_slope)
    )


@compilable
def stays_refuted(at: Tangents, excess: float) -> float:
    """For how many pulls does another arm keep a model out, pulls * distance^2 being `excess`?

    As long as the budget stays below it: j <= s (exp(x) - 1) with x = (excess - budget) / b.
    """
    x = (excess - at.budget) / at.factor - 1e-12
    if x <= 0.0:
        return 0.0
    return FOREVER if x > 600.0 else at.time * (math.exp(x) - 1.0) * (1.0 - 1e-12)
