"""Lookahead of UCB: a short list of arms, and for how long a lead lasts (docs/notes/lookahead.md 7)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.base.confidence import width_budget
from structured_bandits.base.intervals import RELATIVE_ERROR, Hoeffding, Intervals
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.index_margin import (
    Lead,
    Rivals,
    lead_streak,
    lost_at_once,
    near_future,
)
from structured_bandits.lookahead.kl_margin import kl_streak
from structured_bandits.lookahead.prospect import radius_growth
from structured_bandits.lookahead.shortlist import (
    Indices,
    ShortList,
    drop_list,
    fresh_list,
    front_arm,
    rivals_after,
)
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import Growth, budget_at, kl_front
from structured_bandits.policies.ucb import UCB
from structured_bandits.protocols import Now, Outcome


class Memory(NamedTuple):
    """What the indices are made of."""

    means: Floats  # on the scale of the intervals; inf before the first pull
    roots: Floats  # 1 / sqrt(pulls); 0 before the first pull
    short: ShortList  # of arms with high indices
    playable: Ints  # all arms
    latest: Floats  # pulls in the latest stretch of each arm


class ByRadius(NamedTuple):
    """The arm with the highest mean + radius, and what was computed on the way."""

    arm: int
    empty: int
    highest: float  # index
    second: float  # highest index of the others
    root: float  # radius * sqrt(pulls)
    growth: float  # of the root, with the next pull


class ByDivergence(NamedTuple):
    """The arm with the highest KL index."""

    arm: int
    empty: int
    highest: float
    second: float


def memory(policy: UCB, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    return Memory(
        np.full(policy.n_arms, math.inf),
        np.zeros(policy.n_arms),
        fresh_list(policy.n_arms),
        np.arange(policy.n_arms),
        np.zeros(policy.n_arms),
    )


def quick_choose(policy: UCB, state: State, now: Now, rng: np.random.Generator, work: Work) -> Any:
    """Find the highest index from what is kept of each arm."""
    return quick_index(policy.widths, policy, state, now, work.memory)


def by_radius(widths: Hoeffding, policy: UCB, state: State, now: Now, memory: Memory) -> ByRadius:
    """Find the highest mean + radius on the short list, or among all arms."""
    log_time = math.log(now.t + 1)
    root = math.sqrt(width_budget(policy.alpha, policy.sigma, log_time))
    growth = root * radius_growth(now.t + 1.0, log_time) if now.t > 0 else 0.0
    indices = Indices(memory.means, memory.roots)
    arm, highest, second = front_arm(indices, memory.short, root, growth)
    return ByRadius(arm, 0, highest, second, root, growth)


def by_divergence(
    widths: Intervals, policy: UCB, state: State, now: Now, memory: Memory
) -> ByDivergence:
    """Find the highest KL index."""
    budget = budget_at(Growth(2.0 * policy.alpha, 0.0), math.log(now.t + 1))
    front = kl_front(state.data, memory.means, memory.playable, budget)
    return ByDivergence(front.arm, 0, front.highest, front.second)


quick_index = chosen_by_class({Hoeffding: by_radius}, by_divergence)


def stretch(
    policy: UCB, state: State, choice: Any, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the leader as long as it is sure to lead."""
    return stretch_of(choice, policy, state, now, work.memory)


def radius_stretch(choice: ByRadius, policy: UCB, state: State, now: Now, memory: Memory) -> Streak:
    """By the tangents of the radii (docs/notes/lookahead.md 7.2)."""
    arm, _, highest, second, root, growth = choice
    if highest == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(arm, 1, 0)  # without pulls or bounds nothing more is certain
    if second == -math.inf:
        return certain_streak(arm, now.limit, 0)  # there is no other arm
    second += RELATIVE_ERROR * (abs(highest) + root)
    pulls, mean = state.data.pulls[arm], memory.means[arm]
    room, fall = (highest - second) * pulls, 0.5 * root * memory.roots[arm]
    lead = Lead(arm, pulls, room, mean - policy.bottom, policy.top - mean, fall)
    if lost_at_once(lead):
        return certain_streak(arm, 1, 0)
    far = near_future(pulls, memory.latest[arm], now.limit)
    indices = Indices(memory.means, memory.roots)
    widest, rival = rivals_after(indices, arm, second, root + growth * far)
    always = Rivals(growth * widest * pulls, now.limit - 1.0)
    near = Rivals((rival - second) / far * pulls, far)
    return lead_streak(lead, always, near, policy.top)


def divergence_stretch(
    choice: ByDivergence, policy: UCB, state: State, now: Now, memory: Memory
) -> Streak:
    """By a level between the two highest indices (docs/notes/lookahead.md 18.1)."""
    if choice.highest == math.inf:
        return certain_streak(choice.arm, 1, 0)
    growth = Growth(2.0 * policy.alpha, 0.0)
    return kl_streak(state.data, memory.means, memory.playable, choice, growth, now, policy.top)


stretch_of = chosen_by_class({ByRadius: radius_stretch}, divergence_stretch)


def note(policy: UCB, state: State, outcome: Outcome, work: Work) -> None:
    """Note what the index of the arm is made of."""
    arm, data, memory = outcome.arm, state.data, work.memory
    memory.means[arm] = policy.widths.scaled(data.sums[arm] / data.pulls[arm])
    memory.roots[arm] = 1.0 / math.sqrt(data.pulls[arm])
    memory.latest[arm] = outcome.pulls
    if not memory.short.listed[arm]:
        drop_list(memory.short)
