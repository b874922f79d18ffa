"""Lookahead of ISAE: for how long the leader's best arm is pulled without a test (docs/planning.md 26).

While arm b is pulled, every log-likelihood is affine in its hits o and misses z. The choice stays b as
long as the leader is a model whose best arm is b, and either all rivals are too light to be tested or

    (t + t0) sum over rivals g of gap_g exp(log w_g - log w_h) < kappa low,

with gap_g the regret of b in g, and low the least, over the models that may lead, of
min over k != b of gap_k / max over rivals of d(h_k, g_k). For on the right side of the rule regret_k is
at least the leader's own part of it, and info_k at most all rivals' weight times the largest divergence.
The sum is convex in (o, z), so the corners of what may come bound it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.lookahead.base import Work
from structured_bandits.planning.corners import NOWHERE, Reach, likely_misses
from structured_bandits.planning.posterior import reward_counts
from structured_bandits.planning.streaks import NO_LIMIT, Streak, certain_streak
from structured_bandits.policies.isae import FAINT, ISAE, ISAEState, judge, pulled_arm
from structured_bandits.policies.rivals import Belief, Models, counted, fresh_belief, told
from structured_bandits.protocol import Now

ROUNDING = 1e-14  # of a logarithm, for each pull and nat: sums of few terms, each right to 2e-16
MOST_LOG = 700.0  # of a number


class Tables(NamedTuple):
    """Facts about the models."""

    low: Floats  # of each model as the leader: the least regret of a nat, in units of its weight
    hit: Floats  # arms x models: what a hit adds to the logarithm of a weight
    miss: Floats
    steepest: float  # the largest of these


class Memory(NamedTuple):
    """The belief, and how long the last stretch of each arm was."""

    belief: Belief
    lengths: Ints


class Chosen(NamedTuple):
    """The arm, the leading model, and whether its rivals are tested."""

    arm: int
    empty: int
    leader: int
    tests: bool


class Corner(NamedTuple):
    """How near a change is after some hits and misses."""

    leads: bool  # does a model lead whose best arm this is?
    stay: float  # regret of a further pull, in units of the leader's weight at the least
    low: float  # least regret of a nat, for the models that may lead
    heaviest: float  # logarithm of the heaviest rival's weight over the leader's


def prepare(policy: ISAE) -> Tables:
    """Return the regret of a nat for each leader, and what hits and misses say."""
    models = policy.models
    low = np.array([least_nat(models, leader) for leader in range(len(models.best))])
    top, bottom = policy.top, policy.bottom
    if not math.isfinite(bottom):
        nothing = np.zeros_like(models.likelihood.per_pull)
        return Tables(low, nothing, nothing, 0.0)
    hit = models.likelihood.per_pull + top * models.likelihood.per_reward
    miss = models.likelihood.per_pull + bottom * models.likelihood.per_reward
    return Tables(low, hit, miss, float(max(abs(hit).max(), abs(miss).max())))


def least_nat(models: Models, leader: int) -> float:
    """Return min over k != b of (regret of k in the leader) / (largest divergence from a rival).

    0 if another arm is as good in the leader: it may turn out to be best in all that is left.
    """
    best = models.best[leader]
    if (models.gaps[leader] == 0.0).sum() > 1:
        return 0.0
    rivals = np.flatnonzero(models.gaps[:, best] > 0.0)
    least = math.inf
    for arm in range(len(models.gaps[0])):
        most = max((told(models, arm, leader, int(each)) for each in rivals), default=0.0)
        if arm != best and most > 0.0:
            least = min(least, models.gaps[leader, arm] / most)
    return least


def memory(policy: ISAE, tables: Tables) -> Memory:
    """Return the memory before the first pull."""
    arms = policy.models.gaps.shape[1]
    return Memory(fresh_belief(policy.models), np.zeros(arms, np.int64))


def quick_choose(
    policy: ISAE, state: ISAEState, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Choose as defined, and keep what is believed."""
    belief = work.memory.belief
    verdict = judge(policy, state, now.t, belief)
    arm = pulled_arm(policy, state, verdict, belief, rng)
    return Chosen(arm, 0, verdict.leader, verdict.tests)


def stretch(
    policy: ISAE,
    state: ISAEState,
    choice: Chosen,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Pull the leader's best arm as long as no rival can be worth a test."""
    arm, _, leader, tests = choice
    models, rule = policy.models, policy.numbers
    plain = tests or not rule.by_value or arm != models.best[leader] or counted(state.pending) > 0
    if plain or not math.isfinite(policy.bottom):
        return certain_streak(arm, 1, 0)
    ended = now.least == policy.bottom and now.most == policy.top
    reach, gains = longest(policy, state, choice, now, ended, work)
    work.memory.lengths[arm] = reach.length
    surely = 1 + min(min(reach.length, reach.misses), gains)
    gains = gains if ended else NO_LIMIT
    return Streak(arm, surely, 1 + reach.length, reach.misses, 0, policy.top, gains, 0.0, 0.0)


@compilable
def longest(
    policy: Any, state: Any, choice: Chosen, now: Now, ended: bool, work: Work
) -> tuple[Reach, int]:
    """Return a reach in which the arm is surely pulled, and how many gains it allows.

    It is tried as long as four times the last one, and halved until it holds.
    """
    arm = choice.arm
    pulls = state.data.pulls[arm]
    mean = 0.5
    if pulls > 0:
        hits, _ = reward_counts(pulls, state.data.sums[arm], policy.bottom, policy.top)
        mean = min(max((hits + 0.5) / (pulls + 1.0), 0.0), 1.0)
    length = min(now.limit - 1, 4 * work.memory.lengths[arm] + 16)
    while length > 0:
        misses = min(length, likely_misses(length, mean))
        gains = min(length, likely_misses(length, 1.0 - mean)) if ended else length
        if stays(policy, choice, now.t, Reach(length, misses), gains, work):
            return Reach(length, misses), gains
        length //= 2
    return NOWHERE, 0


@compilable
def stays(policy: Any, choice: Chosen, t: int, reach: Reach, gains: int, work: Work) -> bool:
    """Is the arm the choice wherever so many pulls with so many misses and gains can lead?"""
    length, misses = reach
    stay = 0.0
    low = math.inf
    heaviest = -math.inf
    for corner in range(5):
        hits, missed = place(corner, length, misses, gains)
        found = look_at(policy, choice, hits, missed, t + length, work)
        if not found.leads:
            return False
        stay = max(stay, found.stay)
        low = min(low, found.low)
        heaviest = max(heaviest, found.heaviest)
    if heaviest < math.log(FAINT):
        return True
    rule = policy.numbers
    return (t + length + 1 + rule.t0) * stay < rule.kappa * low * (1.0 - 1e-9)


@compilable
def place(corner: int, length: int, misses: int, gains: int) -> tuple[float, float]:
    """Return hits and misses at a corner of {o <= gains, z <= misses, o + z <= length}."""
    if corner == 0:
        return 0.0, 0.0
    if corner == 1:
        return float(min(gains, length)), 0.0
    if corner == 2:
        return 0.0, float(min(misses, length))
    if corner == 3:
        most = min(gains, length)
        return float(most), float(min(misses, length - most))
    most = min(misses, length)
    return float(min(gains, length - most)), float(most)


@compilable
def look_at(
    policy: Any, choice: Chosen, hits: float, misses: float, clock: int, work: Work
) -> Corner:
    """Return how near a change is after so many hits and misses of the arm."""
    models, tables, logs = policy.models, work.tables, work.memory.belief.logs
    arm, leader = choice.arm, choice.leader
    per_hit, per_miss = tables.hit[arm], tables.miss[arm]
    margin = ROUNDING * (1.0 + tables.steepest * (clock + 1.0)) * len(tables.hit)
    stay = 0.0
    low = math.inf
    heaviest = -math.inf
    for model in range(len(logs)):
        log = logs[model] - logs[leader] + margin
        log += hits * (per_hit[model] - per_hit[leader])
        log += misses * (per_miss[model] - per_miss[leader])
        gap = models.gaps[model, arm]
        if log >= 0.0:  # this model may lead
            if models.best[model] != arm:
                return Corner(False, stay, low, heaviest)
            low = min(low, tables.low[model])
        if gap > 0.0:
            stay += gap * math.exp(min(log, MOST_LOG))
            heaviest = max(heaviest, log)
    return Corner(True, stay, min(low, tables.low[leader]), heaviest)
