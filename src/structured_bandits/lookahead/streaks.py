"""Streaks: pulls of a single arm for which a choice is certain, until too many misses come.

The engine plays a streak without a pass over the arms, so that a short one costs about what a pull
costs by hand, and it may stop early: after some misses, rewards below the highest that the world pays.
A reward that is no miss is never below a mean, so it cannot cost an arm its lead by much; a streak that
ends with the misses can be far longer than one that has to expect nothing else
(docs/notes/lookahead.md 1.2, 7.3).
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

from structured_bandits.base.compilable import compilable

NO_LIMIT = sys.maxsize  # to gains


class Streak(NamedTuple):
    """Pull `arm` up to `length` times, but stop when there have been more than `misses` misses.

    A miss is a reward below the highest. A player that cannot count misses pulls the arm `surely` times,
    which is right whatever the rewards are. So does a world that never pays `hit`: some policies have a
    proof in which every reward that is no miss is the highest of their range, and they give that reward
    here; others give -inf. Likewise it stops when there have been more than `gains` rewards above the
    least; only a policy that was told in `Now` that gains are counted may set a limit to them.

    Rewards that are no misses are hits. Each may earn a part of a further miss, or cost one if `earned`
    is negative: then a world that counts both stops as soon as there have been more misses than
    misses + spare + earned times the hits, and one that does not pulls the arm `surely` times.
    """

    arm: int
    surely: int
    length: int
    misses: int
    empty: int  # empty confidence sets met
    hit: float  # the least of the highest rewards at which the misses may be counted
    gains: int
    spare: float  # a part of a miss, less than 1
    earned: float  # by each hit; 0 if hits earn nothing


@compilable
def certain_streak(arm: int, length: int, empty: int) -> Streak:
    """Return a streak that does not mind misses."""
    return Streak(arm, length, length, length, empty, -math.inf, NO_LIMIT, 0.0, 0.0)


@compilable
def streak_until(arm: int, surely: int, length: int, misses: int, hit: float) -> Streak:
    """Return a streak that stops when there have been more than `misses` misses."""
    return Streak(arm, surely, length, misses, 0, hit, NO_LIMIT, 0.0, 0.0)
