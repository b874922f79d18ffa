"""Upper confidence indices, such as mean + radius: which arm leads, and how fast a lead is lost."""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.compilable import compilable
from structured_bandits.lookahead.streaks import NO_LIMIT, Streak, streak_until

MANY = 32.0  # misses from which on all pulls of a streak are drawn at once


class Lead(NamedTuple):
    """The lead of an arm, and what its next pulls do to it, times its pulls.

    See docs/notes/lookahead.md 7.2.
    """

    arm: int
    pulls: int
    room: float  # the lead over the second highest index, with a margin for rounding
    miss: float  # what the mean loses with the least reward, at most
    hit: float  # what it gains with the highest reward, at first
    fall: float  # what the radius loses with each pull, at most


class Rivals(NamedTuple):
    """How the highest of the other indices rises, times the pulls of the leader."""

    rise: float  # with each pull, at most
    far: float  # for how many further pulls this holds


@compilable
def lost_at_once(lead: Lead) -> bool:
    """May the lead be lost with the next pull, even if it pays the highest reward?"""
    return lead.room <= max(0.0, lead.fall - lead.hit)


@compilable
def near_future(pulls: int, latest: float, limit: int) -> float:
    """Return how many further pulls to look ahead; a guess from the latest streak of the arm.

    The less, the better are the bounds. The weight of a reward must not fall by much meanwhile.
    """
    return min(4.0 * latest + 8.0, 0.5 * pulls + 4.0, limit - 1.0)


@compilable
def lead_streak(lead: Lead, always: Rivals, near: Rivals, top: float) -> Streak:
    """Pull the leader as long as it is sure to lead.

    After z misses and k hits within the near future the leader surely leads if z (miss + drift) is at
    most room + k (share hit - drift), where a reward at the end of that future has `share` of the weight
    it has now. So hits earn misses, or cost some (docs/notes/lookahead.md 7.2, 7.3). How many pulls
    are certain whatever they pay follows from `always`, so that it does not depend on how far the near
    future goes.
    """
    arm, pulls, room, miss, hit, fall = lead
    surely = 1 + int(min(room / (miss + fall + always.rise), always.far))
    drift = fall + near.rise
    allowed = min(room / (miss + drift), near.far)
    if allowed >= MANY:
        length, misses = likely_length(lead, drift)
        return streak_until(arm, surely, 1 + int(min(length, near.far)), int(misses), top)
    share = pulls / (pulls + near.far)
    earned = (share * hit - drift) / (miss + drift)
    whole = int(allowed)
    longest = 1 + int(near.far)
    return Streak(arm, surely, longest, whole, 0, top, NO_LIMIT, allowed - whole, earned)


@compilable
def likely_length(lead: Lead, drift: float) -> tuple[float, float]:
    """Return pulls and misses up to which a long lead surely lasts (docs/notes/lookahead.md 7.3).

    Which pair is best is a guess. If a hit gains more than every pull loses, as many misses may come as
    could come at once. Otherwise, if the arm goes on as before, with rewards at the ends of the range,
    so many pulls bring about so many misses less one deviation.
    """
    _, pulls, room, miss, hit, _ = lead
    if hit > drift:
        misses = room / (miss + drift)
        return max(misses, pulls * (hit - drift) / drift), misses
    share = hit / (hit + miss)  # of misses among the pulls
    misses = max(0.0, (room * share - drift) / (drift + miss * share))
    misses = min(math.floor(misses + math.sqrt(misses)), room / (miss + drift))
    return (room - misses * miss) / drift, misses


@compilable
def lead_drift(root: float, own: float, widest: float, pulls: int, growth: float) -> float:
    """Return how fast a lead is lost by the pulls of its arm, apart from their rewards, times `pulls`.

    The index of an arm is mean + root / sqrt(pulls), with 1 / sqrt(pulls) = `own`; that part falls no
    faster than its tangent at first. The others' indices grow with root, relatively by `growth` a pull,
    and no faster later on (docs/notes/lookahead.md 7.1).
    """
    return root * (0.5 * own + widest * pulls * growth)
