"""Lookahead of ISAE: for how long the leader's best arm is pulled without a test.

See docs/notes/lookahead.md 26.

While arm b is pulled, the logarithm of each model's weight over the leader's, its log-odds, is affine
in the hits o and misses z of b. So within {o <= gains, z <= misses, o + z <= length} the odds of model
g have their least value l_g and their largest u_g at corners. The choice stays b as long as all models
that may lead have this best arm, and either all rivals are too light to be tested or

    (t + t0) max sum over rivals g of odds_g gap_g(b)
        < kappa min over leaders h and k != b of (gap_k of the first leader + sum over models of
              l_g gap_k(g)) / (mean divergence d(h_k, g_k) over rivals, at most).

The sum on the left is convex in (o, z), so it is largest at a corner. The mean divergence has the odds
for weights; it is at most the largest one, and at most the sum of u_g d(h_k, g_k) over the sum of l_g.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.convex_condition import (
    CORNERS,
    NO_REGION,
    Region,
    corner_of,
    guessed_share,
    likely_region,
    region_streak,
)
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.curve_rivals import CurveExpectations, CurveModels
from structured_bandits.policies.isae import FAINT, ISAE, ISAEState, judge, pulled_arm
from structured_bandits.policies.rivals import (
    Expectations,
    ModelTable,
    counted,
    fresh_belief,
    told_of,
)
from structured_bandits.protocols import Now

ROUNDING = 1e-14  # of a logarithm, for each pull and nat: sums of few terms, each right to 2e-16
MOST_LOG = 700.0  # of a number
LEAST_LOG = -600.0  # smaller weights may count as none


class Tables(NamedTuple):
    """Facts about the models."""

    hit: Floats  # arms x models: what a hit adds to the logarithm of a weight
    miss: Floats
    steepest: float  # the largest of these


class Odds(NamedTuple):
    """Bounds for the weights of models over that of the first leader."""

    least: Floats
    most: Floats


class Memory(NamedTuple):
    """The belief, bounds for the odds, and how long the last stretch of each arm was."""

    belief: Expectations
    odds: Odds
    lengths: Ints


class Chosen(NamedTuple):
    """The arm, the leading model, and whether its rivals are too light to be tested."""

    arm: int
    empty: int
    leader: int
    cheap: bool


def prepare(policy: ISAE) -> Tables | None:
    """Return what hits and misses say; None of a curve, which is asked before each pull."""
    if isinstance(policy.models, CurveModels):
        return None
    likelihood, top, bottom = policy.models.likelihood, policy.top, policy.bottom
    if not math.isfinite(bottom):
        nothing = np.zeros_like(likelihood.per_pull)
        return Tables(nothing, nothing, 0.0)
    hit = likelihood.per_pull + top * likelihood.per_reward
    miss = likelihood.per_pull + bottom * likelihood.per_reward
    return Tables(hit, miss, float(max(abs(hit).max(), abs(miss).max())))


def memory(policy: ISAE, tables: Any) -> Any:
    """Return the memory before the first pull."""
    return memory_of(policy.models)


def table_memory(models: ModelTable) -> Memory:
    """Return memory for the belief and for odds."""
    count, arms = models.gaps.shape
    odds = Odds(np.zeros(count), np.zeros(count))
    return Memory(fresh_belief(models), odds, np.zeros(arms, np.int64))


class CurveMemory(NamedTuple):
    """The belief."""

    belief: CurveExpectations


def curve_memory(models: CurveModels) -> CurveMemory:
    """Return memory for the belief."""
    return CurveMemory(fresh_belief(models))


memory_of = chosen_by_class({CurveModels: curve_memory}, table_memory)


def quick_choose(
    policy: ISAE, state: ISAEState, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Choose as defined, and keep what is believed."""
    belief = work.memory.belief
    lead = judge(policy, state, now.t, belief)
    arm = pulled_arm(policy, state, lead, belief, rng)
    return Chosen(arm, 0, lead.leader, lead.cheap)


def stretch(
    policy: ISAE,
    state: ISAEState,
    choice: Chosen,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Pull the leader's best arm as long as no rival can be worth a test."""
    return stretch_of(policy.models, policy, state, choice, now, work)


def single_pull(
    models: CurveModels, policy: ISAE, state: ISAEState, choice: Chosen, now: Now, work: Work
) -> Streak:
    """Pull once."""
    return certain_streak(choice.arm, 1, 0)


def untested_pulls(
    models: ModelTable, policy: ISAE, state: ISAEState, choice: Chosen, now: Now, work: Work
) -> Streak:
    """Pull the leader's best arm as long as no rival can be worth a test."""
    arm = choice.arm
    if not (choice.cheap and policy.numbers.by_value and math.isfinite(policy.bottom)):
        return certain_streak(arm, 1, 0)
    if counted(state.pending) > 0:
        return certain_streak(arm, 1, 0)
    ended = now.least == policy.bottom and now.most == policy.top
    region = longest(policy, state, choice, now, ended, work)
    work.memory.lengths[arm] = region.length
    return region_streak(arm, region, ended, policy.top)


stretch_of = chosen_by_class({CurveModels: single_pull}, untested_pulls)


@compilable
def longest(policy: Any, state: Any, choice: Chosen, now: Now, ended: bool, work: Work) -> Region:
    """Return a region in which the arm is surely pulled.

    It is tried as long as four times the last one, and halved until it holds.
    """
    arm = choice.arm
    mean = guessed_share(state.data, arm, policy.bottom, policy.top)
    length = min(now.limit - 1, 4 * work.memory.lengths[arm] + 4)
    while length > 0:
        region = likely_region(length, mean, ended)
        if stays(policy, choice, now.t, region, work):
            return region
        length //= 2
    return NO_REGION


@compilable
def stays(policy: Any, choice: Chosen, t: int, region: Region, work: Work) -> bool:
    """Is the arm the choice wherever so many pulls with so many misses and gains can lead?"""
    models, rule, odds = policy.models, policy.numbers, work.memory.odds
    end = t + region.length + 1
    stay = write_odds(policy, choice, region, end, work)
    heaviest = 0.0
    for model in range(len(odds.most)):
        if odds.most[model] >= 1.0 and models.best[model] != choice.arm:
            return False  # it may lead
        if models.gaps[model, choice.arm] > 0.0:
            heaviest = max(heaviest, odds.most[model])
    if heaviest < FAINT:
        return True
    nat = math.inf
    for leader in range(len(odds.most)):
        if odds.most[leader] >= 1.0:
            nat = min(nat, least_nat(models, choice, leader, odds))
    return (end + rule.t0) * stay < rule.kappa * nat * (1.0 - 1e-9)


@compilable
def write_odds(policy: Any, choice: Chosen, region: Region, end: int, work: Work) -> float:
    """Write the least and the largest odds of each model; return the largest regret of a pull.

    In units of the first leader's weight, and with margins for rounding.
    """
    models, tables, odds = policy.models, work.tables, work.memory.odds
    logs = work.memory.belief.logs
    arm, leader = choice.arm, choice.leader
    per_hit, per_miss = tables.hit[arm], tables.miss[arm]
    margin = ROUNDING * (1.0 + tables.steepest * end) * len(tables.hit)
    odds.least[:] = math.inf
    odds.most[:] = 0.0
    stay = 0.0
    for corner in range(CORNERS):
        hits, misses = corner_of(region, corner)
        regret = 0.0
        for model in range(len(logs)):
            log = logs[model] - logs[leader]
            log += hits * (per_hit[model] - per_hit[leader])
            log += misses * (per_miss[model] - per_miss[leader])
            high = math.exp(min(log + margin, MOST_LOG))
            odds.most[model] = max(odds.most[model], high)
            low = math.exp(min(log - margin, MOST_LOG)) if log > LEAST_LOG else 0.0
            odds.least[model] = min(odds.least[model], low)
            regret += high * models.gaps[model, arm]
        stay = max(stay, regret)
    return stay


@compilable
def least_nat(models: ModelTable, choice: Chosen, leader: int, odds: Odds) -> float:
    """Return the least regret of a nat against a leader's rivals, over the first leader's weight."""
    least = math.inf
    for arm in range(models.gaps.shape[1]):
        if arm == choice.arm:
            continue
        regret = 0.0
        weight = 0.0
        evidence = 0.0
        largest = 0.0
        for model in range(len(odds.most)):
            regret += odds.least[model] * models.gaps[model, arm]
            if models.gaps[model, choice.arm] > 0.0:
                one = told_of(models, arm, leader, model)
                weight += odds.least[model]
                evidence += odds.most[model] * one
                largest = max(largest, one)
        if regret == 0.0:  # it may be best in all models that have a weight, and is pulled then
            return 0.0
        if largest > 0.0:
            mean = largest if weight == 0.0 else min(largest, evidence / weight)
            if mean > 0.0:  # else those that it tells of have no weight that floats can hold
                least = min(least, regret / mean)
    return least
