"""What a stretch is planned for, and what may have happened by its end.

See docs/notes/lookahead.md 2, 16.3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.compilable import compilable
from structured_bandits.base.intervals import RELATIVE_ERROR, Intervals


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
def radius_growth(time: float, log_time: float) -> float:
    """Return how fast, relatively, radii grow with time: the slope of sqrt(log t) over its value."""
    return 0.5 / (time * log_time)


@compilable
def rounding_margin(bottom: float, top: float, budget: float) -> float:
    """Return a generous bound on the rounding error of any mean, radius or sum of the two."""
    return RELATIVE_ERROR * (max(abs(bottom), abs(top)) + math.sqrt(budget))


@compilable
def after_pulls(pulls: int, total: float, extra: int, prospect: Prospect) -> Ahead:
    """Return what `extra` more pulls can do to an arm with `pulls` pulls summing to `total`.

    The band is that of the last pull and holds for the earlier ones too: a model once reachable from
    below stays so (docs/notes/lookahead.md 2.3, 16.3), and likewise from above. For means outside the
    rewards' range this fails, so a band that leaves the range has no end on that side.
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
