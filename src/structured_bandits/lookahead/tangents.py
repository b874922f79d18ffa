"""For how many pulls a choice of SUCB is certain, in closed form (docs/notes/lookahead.md 4.2, 4.3).

After j more pulls of an arm with `pulls` pulls so far, at time s + j, its mean lies between lo_j and
hi_j and its radius is r_j. From s = 5 on r_j is convex and falls, so lo_j + r_j is convex and falls,
hi_j - r_j is concave and rises, and G_j = r_j (pulls + j) is concave and rises. A condition on one of
them holds at least up to the root of its tangent at j = 0: a number of pulls, without a search.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.compilable import compilable
from structured_bandits.lookahead.prospect import Prospect, radius_growth, rounding_margin

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
    misses: float  # the most misses and gains that there may be, as shares of the pulls
    gains: float
    mean: float
    radius: float
    growth: float  # how fast, relatively, the radii of other arms grow
    radius_fall: float  # how fast the radius falls
    low_fall: float  # how fast lo_j + r_j falls
    high_rise: float  # how fast hi_j - r_j rises
    radius_sum: float  # G_0, the radius times the pulls
    radius_sum_slope: float
    margin: float


class Shares(NamedTuple):
    """The most misses and gains that a streak may have, as shares of its pulls after the first.

    Misses are rewards below `top`, gains are rewards above `bottom`. Shares of 1 allow any rewards.
    """

    misses: float
    gains: float


ALL_SHARES = Shares(1.0, 1.0)  # whatever the rewards


@compilable
def tangents(prospect: Prospect, pulls: int, total: float) -> Tangents:
    """Return the tangents for an arm with `pulls` pulls whose rewards sum to `total`."""
    return shared_tangents(prospect, ALL_SHARES, pulls, total)


@compilable
def shared_tangents(prospect: Prospect, shares: Shares, pulls: int, total: float) -> Tangents:
    """Return the tangents if misses and gains are no more than these shares.

    See docs/notes/lookahead.md 5.4.
    """
    time = prospect.t + 1.0
    each = 1.0 / pulls
    mean = total * each
    budget = prospect.level.budget
    radius = math.sqrt(budget * each)
    growth = radius_growth(time, budget / prospect.factor)
    fall = radius * (0.5 * each - growth)
    return Tangents(
        time,
        prospect.factor,
        budget,
        float(pulls),
        total,
        prospect.bottom,
        prospect.top,
        shares.misses,
        shares.gains,
        mean,
        radius,
        growth,
        fall,
        (mean - prospect.bottom) * shares.misses * each + fall,
        (prospect.top - mean) * shares.gains * each + fall,
        radius * pulls,
        radius * (growth * pulls + 0.5),
        rounding_margin(prospect.bottom, prospect.top, budget),
    )


@compilable
def pulls_within(room: float, loss: float) -> float:
    """Return for how many pulls room - loss * j stays positive."""
    if room <= 0.0:
        return 0.0
    return FOREVER if loss <= 0.0 else room / loss


@compilable
def pulls_below_ceiling(at: Tangents, mean: float) -> float:
    """For how many pulls is lo_j + r_j > mean? A protector there is in the set if a threat is."""
    return pulls_within(at.mean + at.radius - mean - at.margin, at.low_fall)


@compilable
def pulls_above_floor(at: Tangents, mean: float) -> float:
    """For how many pulls is hi_j - r_j < mean? Then a protector there covers every mean above it."""
    return pulls_within(mean - (at.mean - at.radius) - at.margin, at.high_rise)


@compilable
def pulls_close_enough(at: Tangents, gap: float) -> float:
    """For how many pulls do two protectors this far apart leave no mean between them uncovered?"""
    return pulls_within(2.0 * (at.radius - at.margin) - gap, 2.0 * at.radius_fall)


@compilable
def pulls_too_high(at: Tangents, mean: float) -> float:
    """For how many pulls is a mean too high to be within the radius?"""
    room = mean * at.pulls - at.total - at.radius_sum - at.margin * at.pulls
    return pulls_within(room, (at.top - mean) * at.gains + at.radius_sum_slope)


@compilable
def pulls_too_low(at: Tangents, mean: float) -> float:
    """For how many pulls is a mean too low to be within the radius?"""
    room = at.total - mean * at.pulls - at.radius_sum - at.margin * at.pulls
    return pulls_within(room, (mean - at.bottom) * at.misses + at.radius_sum_slope)


@compilable
def pulls_unreached(at: Tangents, mean: float) -> float:
    """For how many pulls is a mean too high or too low to be within the radius?"""
    return max(pulls_too_high(at, mean), pulls_too_low(at, mean))


@compilable
def pulls_refuted(at: Tangents, strength: float) -> float:
    """For how many pulls does another arm keep a model out, sqrt(pulls) * distance being `strength`?

    As long as the budget is below its square: j <= s (exp(x) - 1) with x = (strength^2 - budget) / b.
    """
    return pulls_below_budget(at, strength * strength)


@compilable
def pulls_below_budget(at: Tangents, budget: float) -> float:
    """For how many pulls is the budget below this one?"""
    x = (budget - at.budget) / at.factor - 1e-12
    if x <= 0.0:
        return 0.0
    return FOREVER if x > 600.0 else at.time * (math.exp(x) - 1.0) * (1.0 - 1e-12)


class Limits(NamedTuple):
    """The same conditions turned round: what holds for a given number of pulls."""

    ceiling: float  # of means below this, lo_j + r_j stays above
    close: float  # protectors less than this apart leave nothing uncovered between them
    unreached_low: float  # means below this are too low to be reached
    unreached_high: float  # and means above this too high
    strength: float  # a watch of this strength or more holds
    budget: float  # the square of it


@compilable
def limits_for(at: Tangents, length: float) -> Limits:
    """Return what holds for `length` pulls; for the watch by log(1 + x) <= x (6 + x) / (6 + 4 x).

    Means inside the range of rewards are reached, if ever, at the end, others perhaps at the start. The
    limits are a little stricter than `pulls_unreached` and `pulls_refuted`: a model that they let pass
    would not have shortened the plan. So lengths do not depend on which models were looked at closely.
    """
    misses = at.misses * length
    gains = at.gains * length
    slack = at.radius_sum + 2.0 * at.margin * at.pulls
    low = (at.total - slack + misses * at.bottom - length * at.radius_sum_slope) / (
        at.pulls + misses
    )
    high = (at.total + slack + gains * at.top + length * at.radius_sum_slope) / (at.pulls + gains)
    later = length / at.time
    log_later = later * (6.0 + later) / (6.0 + 4.0 * later)  # log(1 + later), or a little more
    budget = at.budget + at.factor * (log_later * (1.0 + 1e-9) + 2e-12)
    return Limits(
        at.mean + at.radius - at.margin - length * at.low_fall,
        2.0 * (at.radius - at.margin - length * at.radius_fall),
        min(low, at.mean - at.radius - 2.0 * at.margin),
        max(high, at.mean + at.radius + 2.0 * at.margin),
        math.sqrt(budget),
        budget,
    )
