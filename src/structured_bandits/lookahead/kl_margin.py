"""KL indices, the largest q with T d(m, q) <= budget: which arm leads, and for how long.

A plan takes a level between the two highest indices. The other arms stay below it until the budget has
grown to the least T_i d(m_i, level); the leader stays above it while T d(m, level) is at most the
budget, which is a convex condition on its new rewards. So the lemma of corners applies
(docs/notes/lookahead.md 18.1). Means are scaled to [0, 1].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.kl import coin_divergence
from structured_bandits.lookahead.convex_condition import (
    NOWHERE,
    Reach,
    stays_within,
    stopping_streak,
)
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.indices import CLOSE, SPREAD, Growth, budget_at
from structured_bandits.protocols import Now

SHARE = 0.2  # where the level lies between the two highest indices; any place is right
MOST_LOG = 37.0  # e to this is more than 2^53 pulls


class StaysAbove(NamedTuple):
    """A convex condition: after more rewards T d(m, level) is at most the budget, or m >= level."""

    pulls: float
    ones: float  # the sum of rewards, scaled to [0, 1]
    level: float
    budget: float

    def stays(self, state: Any, arm: int, ones: float, misses: float) -> bool:
        """Does it hold after so many more ones and misses?"""
        pulls = self.pulls + ones + misses
        mean = (self.ones + ones) / pulls
        return mean >= self.level or pulls * coin_divergence(mean, self.level) <= self.budget


@compilable
def decisions_within(growth: Growth, time: float, log_time: float, budget: float) -> float:
    """Return for how many more decisions the budget surely stays within a larger one.

    It is concave in log s from log s = 1 on, so its tangents overestimate it: two steps of Newton's
    method stay before the end. Without repeated logarithms the first one is exact.
    """
    log_end = log_time
    for _ in range(2):
        slope = growth.factor + growth.repeated / max(log_end, 1.0)
        log_end += max(0.0, budget - budget_at(growth, log_end)) / slope
    return time * math.expm1(min(log_end - log_time, MOST_LOG))


@compilable
def least_evidence(data: Data, means: Floats, playable: Ints, leader: int, level: float) -> float:
    """Return the least T_i d(m_i, level) of the other arms: the budget that lifts one to the level."""
    least = math.inf
    for place in range(len(playable)):
        arm = playable[place]
        if arm != leader:
            least = min(least, data.pulls[arm] * coin_divergence(means[arm], level))
    return least


@compilable
def most_misses(condition: StaysAbove) -> int:
    """Return about how many misses in a row the condition survives; -1 if not even none.

    T d(m, level) is convex in the misses, so a step of Newton's method from anywhere right of its
    least point ends at or beyond the last one, and further steps come back to it.
    """
    level = condition.level
    zeros = condition.pulls - condition.ones
    at_level = (
        condition.ones / level
    )  # pulls with which the mean is at the level; from there a parabola
    spread = math.sqrt(2.0 * condition.budget * at_level * (1.0 - level) / level)
    misses = max(0.0, at_level - condition.pulls + spread)
    for _ in range(3):
        pulls = condition.pulls + misses
        mean = condition.ones / pulls
        slope = math.log((zeros + misses) / (pulls * (1.0 - level))) if mean < level else 0.0
        if slope <= 0.0:
            break
        misses += (condition.budget - pulls * coin_divergence(mean, level)) / slope
        if misses < 0.0:
            return -1  # convex: if it falls back from here, it does not hold here
    return int(misses)


@compilable
def surest_reach(condition: StaysAbove, state: Any, arm: int, length: int, misses: int) -> Reach:
    """Return `length` pulls with as many misses up to `misses` as the condition bears; else nowhere."""
    allowed = min(misses, length)
    while allowed >= 0 and not stays_within(condition, state, arm, length, allowed):
        allowed -= 1 + allowed // 8
    return Reach(length, allowed) if allowed >= 0 else NOWHERE


@compilable
def kl_streak(
    data: Data, means: Floats, playable: Ints, front: Any, growth: Growth, now: Now, top: float
) -> Streak:
    """Pull the arm with the highest KL index as long as it is sure to have it.

    `means` are scaled to [0, 1]. `front` says which arm it is, `highest` and `second` highest index at
    this decision.
    """
    arm = front.arm
    if front.second == -math.inf:
        return certain_streak(arm, now.limit, 0)  # there is no other arm
    if front.highest - front.second < CLOSE:
        return certain_streak(arm, 1, 0)
    level = front.second + SHARE * (front.highest - front.second)
    time = now.t + 1.0
    log_time = math.log(time)
    evidence = least_evidence(data, means, playable, arm, level)
    length = int(min(decisions_within(growth, time, log_time, evidence), now.limit - 1.0))
    pulls = float(data.pulls[arm])
    condition = StaysAbove(pulls, pulls * means[arm], level + SPREAD, budget_at(growth, log_time))
    reach = surest_reach(condition, data, arm, length, most_misses(condition))
    return stopping_streak(arm, reach, top)
