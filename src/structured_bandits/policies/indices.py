"""Indices of arms: which one leads, and by how much; the index of KL-UCB."""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.intervals import RELATIVE_ERROR, Intervals
from structured_bandits.base.kl import coin_divergence, kl_upper

CLOSE = 1e-9  # a smaller lead, on the scale of rewards in [0, 1], is not worth a plan
# What a plan keeps between the leader and the others: more than rounding can do to a mean in [0, 1] or
# to an index (docs/notes/lookahead.md 18.1).
SPREAD = 1e-13


class Front(NamedTuple):
    """The arm with the highest index, the lowest of several, and the second highest index."""

    arm: int
    highest: float
    second: float  # -inf if there is no other arm


@compilable
def front_of(indices: Floats, playable: Ints) -> Front:
    """Return which of the playable arms leads."""
    highest = second = -math.inf
    choice = playable[0]
    for place in range(len(playable)):
        index = indices[playable[place]]
        if index > highest:
            second = highest
            highest = index
            choice = playable[place]
        elif index > second:
            second = index
    return Front(choice, highest, second)


class Leader(NamedTuple):
    """The arm with the highest index."""

    arm: int
    lead: float  # over the second highest, with a margin for rounding; 0 if it has no pulls
    widest: float  # 1 / sqrt(pulls) of the arm with the fewest pulls


@compilable
def highest_index(data: Data, level: Intervals, allowed: Flags) -> Leader:
    """Return the allowed arm whose interval has the highest upper end.

    Arms that were never pulled come first; the lowest arm wins a tie.
    """
    pulls = data.pulls
    highest = second = -math.inf
    fewest = math.inf
    choice = -1
    for arm in range(len(pulls)):
        if allowed[arm]:
            if pulls[arm] == 0:
                return Leader(arm, 0.0, math.inf)
            _, index = level.interval(pulls[arm], data.sums[arm])
            fewest = min(fewest, float(pulls[arm]))
            if index > highest:
                second = highest
                highest = index
                choice = arm
            elif index > second:
                second = index
    lead = highest - second - RELATIVE_ERROR * (abs(highest) + math.sqrt(level.budget))
    return Leader(choice, lead, 1.0 / math.sqrt(fewest))


@compilable
def least_pulled(pulls: Ints, arms: Flags) -> int:
    """Return the marked arm with the fewest pulls, the first of several."""
    chosen = -1
    for arm in range(len(pulls)):
        if arms[arm] and (chosen < 0 or pulls[arm] < pulls[chosen]):
            chosen = arm
    return chosen


class Growth(NamedTuple):
    """How a budget grows: factor log s + repeated log max(log s, 1) at decision number s."""

    factor: float
    repeated: float


@compilable
def budget_at(growth: Growth, log_time: float) -> float:
    """Return the budget of a decision, given the logarithm of its number."""
    if growth.repeated == 0.0 or log_time <= 1.0:
        return growth.factor * log_time
    return growth.factor * log_time + growth.repeated * math.log(log_time)


@compilable
def bernstein_upper(mean: float, budget: float) -> float:
    """Return a number that `kl_upper` does not exceed, and often comes close to, without logarithms.

    d(m, m + e) is at least e^2 / (2 v), v the largest variance of coins with means from m to m + e, and
    that is at most m (1 - m) + max(1 - 2 m, 0) e.
    """
    slope = budget * max(1.0 - 2.0 * mean, 0.0)
    return mean + slope + math.sqrt(slope * slope + 2.0 * budget * mean * max(1.0 - mean, 0.0))


@compilable
def favourite(data: Data, means: Floats, playable: Ints, budget: float) -> int:
    """Return the arm that probably has the highest index; the first one without a pull, if any."""
    highest = -math.inf
    choice = playable[0]
    for place in range(len(playable)):
        arm = playable[place]
        if data.pulls[arm] == 0:
            return arm
        bound = min(bernstein_upper(means[arm], budget / data.pulls[arm]), 1.0)
        if bound > highest:
            highest = bound
            choice = arm
    return choice


@compilable
def newton_bound(mean: float, budget: float, level: float) -> float:
    """Return a bound below `level` on `kl_upper`, or `level` itself if there is none."""
    if level <= mean:
        return level
    beyond = coin_divergence(mean, level) - budget
    if beyond <= 0.0 or level >= 1.0:
        return level
    return level - beyond * level * (1.0 - level) / (level - mean)


@compilable
def kl_front(data: Data, means: Floats, playable: Ints, budget: float) -> Front:
    """Return the arm with the highest KL index; one without a pull has an infinite index.

    Of the others it is enough to know that their index is lower: that is so if T d(m, level) exceeds the
    budget at a level just below the leader's, which costs a fraction of an index. A step of Newton's
    method from there is at least the index, and serves for the second highest.
    """
    choice = favourite(data, means, playable, budget)
    if data.pulls[choice] == 0:
        return Front(choice, math.inf, math.inf)
    highest = kl_upper(means[choice], budget / data.pulls[choice])
    second = -math.inf
    first = choice
    for place in range(len(playable)):
        arm = playable[place]
        if arm == first:
            continue
        share = budget / data.pulls[arm]
        bound = newton_bound(means[arm], share, highest - SPREAD)
        if bound >= highest - CLOSE:
            bound = kl_upper(means[arm], share)
        if bound > highest or (bound == highest and arm < choice):
            second = highest
            highest = bound
            choice = arm
        elif bound > second:
            second = bound
    return Front(choice, highest, second)
