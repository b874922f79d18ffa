"""How long the odds against a leader stay low while it is pulled: thinned plans.

See docs/notes/lookahead.md 20.2.

Odds are the weight of the models in which another arm is best over that of the leader's own. After o
hits and z misses of the leader the first is a sum of exponentials of affine functions; the second is,
by Jensen's inequality, at least its present value times exp(o g1 + z g0), with g1 and g0 the mean
evidence of the leader's models. So the odds are at most a convex function, equal to them now, and its
value at the corners of what may come bounds them (`convex_condition`).

Most models are cheap to judge: one with little weight stays below its share of a bound for a number of
pulls that is a quotient. Only the heavy ones need exponentials.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.inference.draws import LEAD, Drawn, Sampling
from structured_bandits.inference.table_posterior import Belief, TablePosterior
from structured_bandits.lookahead.convex_condition import NOWHERE, Reach


class OddsReach(NamedTuple):
    """Inside `reach` the odds against the leader are at most `odds`."""

    reach: Reach
    odds: float


NO_PLAN = OddsReach(NOWHERE, math.inf)


class PlanMemory(NamedTuple):
    """What earlier plans were like; a guess at the next, nothing that has to be right."""

    lengths: Ints  # the last plan for each arm
    resting: Ints  # for each arm: decisions before a plan is tried again
    heavy: Ints  # memory for a list of models


@compilable
def fresh_plan_memory(arms: int, models: int) -> PlanMemory:
    """Return the memory before the first plan."""
    return PlanMemory(
        np.zeros(arms, np.int64), np.zeros(arms, np.int64), np.zeros(models, np.int64)
    )


def no_reach(
    posterior: Sampling, belief: Any, memory: PlanMemory, drawn: Drawn, data: Data, limit: int
) -> OddsReach:
    """Promise nothing: decide at every pull."""
    return NO_PLAN


MOST_ODDS = 0.98 / LEAD  # with more odds against it the leader may be none
MOST_LOG = 700.0  # larger ones are far too large for a plan, and their exponentials for a number
REST = 4  # decisions for an arm before another plan is tried, if the last one failed


class Slopes(NamedTuple):
    """How the odds against an arm move: the evidence of all models, and the mean of the arm's own."""

    per_hit: Floats
    per_miss: Floats
    mean_hit: float
    mean_miss: float
    log_weight: float  # of the arm


def table_reach(
    posterior: TablePosterior,
    belief: Belief,
    memory: PlanMemory,
    drawn: Drawn,
    data: Data,
    limit: int,
) -> OddsReach:
    """Return how long the odds against the leader, which was drawn, stay low."""
    arm = drawn.arm
    if posterior.agreed[arm]:  # its rewards say nothing about the models
        return OddsReach(Reach(limit - 1, limit - 1), drawn.odds * margin(limit))
    if rests(memory, arm):
        return NO_PLAN
    share = miss_share(data, arm, posterior.bottom, posterior.top)
    found = thinned(posterior, belief, memory, drawn, share, limit)
    note_plan(memory, arm, found.reach)
    return found


@compilable
def margin(length: int) -> float:
    """Return a factor for rounding: of numbers of size one, and of sums over `length` pulls."""
    return 1.0 + 1e-11 + 1e-14 * length


@compilable
def slopes_of(posterior: TablePosterior, belief: Belief, arm: int) -> Slopes:
    """Return how the odds against `arm` move with its hits and misses."""
    per_hit, per_miss = posterior.per_hit[arm], posterior.per_miss[arm]
    hit = 0.0
    miss = 0.0
    for model in range(posterior.starts[arm], posterior.starts[arm + 1]):
        hit += belief.weights[model] * per_hit[model]
        miss += belief.weights[model] * per_miss[model]
    weight = belief.arms[arm]
    return Slopes(per_hit, per_miss, hit / weight, miss / weight, math.log(weight))


@compilable
def rests(memory: PlanMemory, arm: int) -> bool:
    """Did the last plan for an arm fail a moment ago?"""
    if memory.resting[arm] == 0:
        return False
    memory.resting[arm] -= 1
    return True


@compilable
def note_plan(memory: PlanMemory, arm: int, reach: Reach) -> None:
    """Note how long a plan is, and that there will be none for a while if it failed."""
    memory.lengths[arm] = reach.length
    memory.resting[arm] = 0 if reach.length > 0 else REST


@compilable
def worth_a_plan(odds: float, memory: PlanMemory, arm: int, limit: int) -> float:
    """Return odds that a plan may end with: those of now, or so low that they will not matter.

    A plan twice as long as the last one would probably not be cut short by odds of this size.
    """
    return max(odds, 0.25 / min(limit, 2 * memory.lengths[arm] + 2))


@compilable
def miss_share(data: Data, arm: int, bottom: float, top: float) -> float:
    """Return which share of the pulls may be misses: about two deviations more than so far.

    Any number is right; after few pulls there is no telling, so 1.
    """
    pulls = data.pulls[arm]
    if pulls <= 8:
        return 1.0
    mean = (data.sums[arm] / pulls - bottom) / (top - bottom)
    return min(1.0, 1.0 - mean + 2.0 * math.sqrt((mean * (1.0 - mean) + 0.02) / pulls))


@compilable
def thinned(
    posterior: TablePosterior,
    belief: Belief,
    memory: PlanMemory,
    drawn: Drawn,
    share: float,
    limit: int,
) -> OddsReach:
    """Return a reach with odds not far above those of now, or so low that they will not matter.

    Each light model stays below its share of the aim.
    """
    arm = drawn.arm
    slopes = slopes_of(posterior, belief, arm)
    aim = worth_a_plan(drawn.odds, memory, arm, limit)
    most, heavy_ones = light_reach(posterior, belief, memory, slopes, arm, aim, share, limit)
    light = aim * (1.0 - heavy_ones / len(belief.logs))
    length = int(most)
    while length > 0:
        misses = int(share * length)
        heavy = heavy_odds(belief, slopes, memory.heavy[:heavy_ones], length, misses)
        if heavy <= 2.0 * aim or heavy + aim <= 0.5 / length:
            bound = max(drawn.odds, light + heavy) * margin(length)
            return OddsReach(Reach(length, misses), bound) if bound <= MOST_ODDS else NO_PLAN
        length //= 2
    return NO_PLAN


@compilable
def light_reach(
    posterior: TablePosterior,
    belief: Belief,
    memory: PlanMemory,
    slopes: Slopes,
    arm: int,
    aim: float,
    share: float,
    limit: int,
) -> tuple[float, int]:
    """Return for how many further pulls each light model adds at most its share of `aim` to the odds.

    And how many models have more weight than that already: these are listed as heavy ones.
    """
    models = len(belief.logs)
    threshold = math.log(aim / models) + slopes.log_weight
    most = limit - 1.0
    size = 0
    for model in range(models):
        if posterior.starts[arm] <= model < posterior.starts[arm + 1]:
            continue
        slack = threshold - belief.logs[model]
        if slack < 0.0:
            memory.heavy[size] = model
            size += 1
        else:
            hit = slopes.per_hit[model] - slopes.mean_hit
            miss = slopes.per_miss[model] - slopes.mean_miss
            slope = steepest(hit, miss, share)
            if slope * most > slack:  # rarely: divisions are dear
                most = slack / slope
    return most, size


@compilable
def steepest(hit: float, miss: float, share: float) -> float:
    """Return by how much a pull can raise a logarithm, if at most a share of the pulls are misses.

    Per pull, on the way to each corner: nothing but hits, nothing but misses, as many misses as may be.
    """
    return max(max(hit, miss * share), hit + (miss - hit) * share)


@compilable
def heavy_odds(belief: Belief, slopes: Slopes, heavy: Ints, length: int, misses: int) -> float:
    """Return the most that the heavy models add to the odds at the corners of what may come.

    Of the corners other than now: there the odds are known.
    """
    most = odds_after(belief, slopes, heavy, length, 0)
    most = max(most, odds_after(belief, slopes, heavy, 0, misses))
    return max(most, odds_after(belief, slopes, heavy, length - misses, misses))


@compilable
def odds_after(belief: Belief, slopes: Slopes, heavy: Ints, hits: int, misses: int) -> float:
    """Return a bound on what some models add to the odds after so many hits and misses."""
    odds = 0.0
    for model in heavy:
        log = belief.logs[model] - slopes.log_weight
        hit = slopes.per_hit[model] - slopes.mean_hit
        miss = slopes.per_miss[model] - slopes.mean_miss
        odds += math.exp(min(log + hits * hit + misses * miss, MOST_LOG))
    return odds
