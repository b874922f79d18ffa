"""Plans that stop: a condition that holds at the corners holds on every path.

See docs/notes/lookahead.md 17.1.

While one arm is pulled, let o be the sum of its new rewards, scaled to [0, 1], and z the new pulls
less o. Up to k pulls of which at most Z are misses lead to points of the polygon
{o, z >= 0, o + z <= k, z <= Z}, and a convex function of (o, z) is largest at one of its corners. So if
"convex function <= bound" holds at the corners, it holds whatever the rewards are, and the arm may be
pulled k times or until there are more than Z misses, without a look in between.

Convex are all affine functions, such as differences of log-likelihoods or of sums of squares; sums of
exponentials of them; (T + o + z) d((S + o) / (T + o + z), V), with d the divergence of coins; and
-log(T + o + z).

A miss adds at most 1 to z. A reward that is no miss adds nothing, *if it is the highest of the range*:
hence `Streak.hit`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.lookahead.streaks import NO_LIMIT, Streak, streak_until


class Reach(NamedTuple):
    """`length` further pulls of an arm, or until there are more than `misses` misses."""

    length: int
    misses: int


NOWHERE = Reach(0, 0)


class ConvexCondition(Protocol):
    """A condition that is checked at corners; any named tuple with this method will do."""

    def stays(self, state: Any, arm: int, ones: float, misses: float) -> bool:
        """Does the condition hold after so many ones and misses of `arm`, with a margin for rounding?

        It has to be of the kind "a convex function of (ones, misses) is at most a bound".
        """


@compilable
def stays_within(
    condition: ConvexCondition, state: Any, arm: int, length: int, misses: int
) -> bool:
    """Does a convex condition hold wherever `length` pulls with up to `misses` misses can lead?"""
    most = min(length, misses)
    return (
        condition.stays(state, arm, 0.0, 0.0)
        and condition.stays(state, arm, 0.0, float(most))
        and condition.stays(state, arm, float(length - most), float(most))
        and condition.stays(state, arm, float(length), 0.0)
    )


@compilable
def guessed_share(data: Data, arm: int, bottom: float, top: float) -> float:
    """Return a guess of an arm's mean, scaled to [0, 1]: 1/2 before its first pull."""
    pulls = data.pulls[arm]
    share = ((data.sums[arm] - bottom * pulls) / (top - bottom) + 0.5) / (pulls + 1.0)
    return min(max(share, 0.0), 1.0)


@compilable
def likely_misses(length: int, mean: float) -> int:
    """Return the misses that `length` rewards of 0 and 1 with this mean rarely exceed.

    Two deviations more than expected: any number is right, this one makes plans long.
    """
    miss = 1.0 - mean
    return int(length * miss + 2.0 * math.sqrt(length * miss * mean)) + 1


class Region(NamedTuple):
    """Pulls with at most so many misses and gains (rewards above the least)."""

    length: int
    misses: int
    gains: int


NO_REGION = Region(0, 0, 0)
CORNERS = 5


@compilable
def likely_region(length: int, mean: float, counted: bool) -> Region:
    """Return the region that `length` rewards with this mean rarely leave; are gains counted?"""
    gains = min(length, likely_misses(length, 1.0 - mean)) if counted else length
    return Region(length, min(length, likely_misses(length, mean)), gains)


@compilable
def corner_of(region: Region, corner: int) -> tuple[float, float]:
    """Return gains and misses at a corner of {o <= gains, z <= misses, o + z <= length}."""
    length = region.length
    if corner == 0:
        return 0.0, 0.0
    if corner == 1:
        return float(region.gains), 0.0
    if corner == 2:
        return 0.0, float(region.misses)
    if corner == 3:
        return float(region.gains), float(min(region.misses, length - region.gains))
    return float(min(region.gains, length - region.misses)), float(region.misses)


@compilable
def region_streak(arm: int, region: Region, counted: bool, top: float) -> Streak:
    """Return the first pull, and further ones that stop where they could leave the region."""
    surely = 1 + min(region.length, region.misses, region.gains)
    gains = region.gains if counted else NO_LIMIT
    return Streak(arm, surely, 1 + region.length, region.misses, 0, top, gains, 0.0, 0.0)


@compilable
def longest_reach(
    condition: ConvexCondition, state: Any, arm: int, most: int, mean: float
) -> Reach:
    """Return how many pulls, at most `most`, a convex condition holds; `most` is halved until it does.

    `mean` is a guess of the arm's mean, scaled to [0, 1]: it decides how many misses to allow for.
    """
    length = most
    while length > 0:
        misses = min(length, likely_misses(length, mean))
        if stays_within(condition, state, arm, length, misses):
            return Reach(length, misses)
        length //= 2
    return NOWHERE


@compilable
def stopping_streak(arm: int, reach: Reach, top: float) -> Streak:
    """Return this pull and those of a reach; `top` is the highest reward of the range."""
    surely = 1 + min(reach.length, reach.misses)
    return streak_until(arm, surely, 1 + reach.length, reach.misses, top)
