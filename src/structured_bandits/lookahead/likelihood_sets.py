"""For how many pulls the models of a likelihood set stay the same, as far as a policy asks.

While arm a is pulled, every log-likelihood L is affine in its hits o and misses z, and log N - L_theta
is convex in them. Within {o <= gains, z <= misses, o + z <= length} a model is surely in the set if it
is so at all corners, with the budget of the first pull. It is surely out if at all corners log pi_h +
L_h - L_theta, which is affine and at most log N - L_theta, is at least the budget of the last one, for
the model h with the largest posterior weight (docs/notes/lookahead.md 27).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.inference.likelihood_sets import (
    TableSets,
    budget_at,
    comes_before,
    log_mixture,
)
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
from structured_bandits.protocols import Now

MARGIN = 1e-9  # of log-likelihoods, for each unit of their size


class Memory(NamedTuple):
    """Log-likelihoods now and at a corner, and how long the last stretch of each arm was."""

    logs: Floats
    there: Floats
    found: Flags
    lengths: Ints


@compilable
def fresh_memory(sets: TableSets, arms: int) -> Memory:
    """Return the memory before the first pull."""
    lengths = np.zeros(arms, np.int64)
    return Memory(sets.fresh_logs(), sets.fresh_logs(), np.zeros(arms, np.bool_), lengths)


@compilable
def set_stretch(
    sets: Any, policy: Any, data: Any, model: int, arm: int, now: Now, memory: Memory
) -> Streak:
    """Pull an arm as long as the set surely has no other answer.

    With a model: as long as it stays in the set, and all that optimism prefers to it stay out. With
    model = -1: as long as all models with other best arms stay out.
    """
    if not math.isfinite(policy.bottom) or now.limit < 2:
        return certain_streak(arm, 1, 0)
    ended = now.least == policy.bottom and now.most == policy.top
    mean = guessed_share(data, arm, policy.bottom, policy.top)
    length = min(now.limit - 1, 4 * memory.lengths[arm] + 4)
    region = NO_REGION
    while length > 0:
        tried = likely_region(length, mean, ended)
        if answer_stays(sets, policy.alpha, model, arm, now.t, tried, memory):
            region = tried
            break
        length //= 2
    memory.lengths[arm] = region.length
    return region_streak(arm, region, ended, policy.top)


@compilable
def answer_stays(
    sets: Any, alpha: float, model: int, arm: int, t: int, region: Region, memory: Memory
) -> bool:
    """Does the set have the same answer at all corners of a region?"""
    heaviest = heaviest_model(sets, memory.logs)
    if not stays_possible(sets, heaviest, arm, region, memory.logs):
        return False
    last = budget_at(alpha, t + region.length + 1)
    for other in range(len(memory.logs)):
        threat = sets.best[other] != arm if model < 0 else preferred(sets, other, model)
        if threat and not stays_out(sets, other, heaviest, arm, last, region, memory.logs):
            return False
    return model < 0 or stays_in(sets, model, arm, budget_at(alpha, t), region, memory)


@compilable
def stays_possible(sets: Any, model: int, arm: int, region: Region, logs: Floats) -> bool:
    """Does a model explain all rewards that may come? Then the set is not empty."""
    for corner in range(CORNERS):
        hits, misses = corner_of(region, corner)
        if logs[model] + moved(sets, arm, model, hits, misses) == -math.inf:
            return False
    return True


@compilable
def preferred(sets: Any, other: int, model: int) -> bool:
    """Would optimism choose the arm of another model, if this were in the set, too?"""
    return sets.best[other] != sets.best[model] and comes_before(sets, other, model)


@compilable
def heaviest_model(sets: Any, logs: Floats) -> int:
    """Return the model with the largest posterior weight."""
    place = 0
    for model in range(1, len(logs)):
        if logs[model] + sets.log_prior[model] > logs[place] + sets.log_prior[place]:
            place = model
    return place


@compilable
def stays_out(
    sets: Any, other: int, heaviest: int, arm: int, budget: float, region: Region, logs: Floats
) -> bool:
    """Is a model outside at all corners, by the heaviest model alone?"""
    if logs[other] == -math.inf:
        return True
    for corner in range(CORNERS):
        hits, misses = corner_of(region, corner)
        there = logs[heaviest] + moved(sets, arm, heaviest, hits, misses)
        below = there - logs[other] - moved(sets, arm, other, hits, misses)
        if not below + sets.log_prior[heaviest] >= budget + MARGIN * (1.0 + abs(there)):
            return False
    return True


@compilable
def stays_in(
    sets: Any, model: int, arm: int, budget: float, region: Region, memory: Memory
) -> bool:
    """Is a model inside at all corners?"""
    for corner in range(CORNERS):
        hits, misses = corner_of(region, corner)
        for other in range(len(memory.logs)):
            memory.there[other] = memory.logs[other] + moved(sets, arm, other, hits, misses)
        total = log_mixture(sets, memory.there)
        if not total - memory.there[model] < budget - MARGIN * (1.0 + abs(total)):
            return False
    return True


@compilable
def moved(sets: Any, arm: int, model: int, hits: float, misses: float) -> float:
    """Return what hits and misses of an arm add to a model's log-likelihood."""
    if sets.silent[arm]:
        return 0.0
    more = 0.0
    if hits > 0.0:
        more += hits * sets.first[arm, model]
    if misses > 0.0:
        more += misses * sets.second[arm, model]
    return more
