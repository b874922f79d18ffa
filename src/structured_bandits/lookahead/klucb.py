"""Lookahead of KL-UCB and KL-UCB++ (docs/notes/lookahead.md 18.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.convex_condition import stopping_streak
from structured_bandits.lookahead.index import IndexMemory, LeadingArm, index_memory, note_mean
from structured_bandits.lookahead.kl_margin import StaysAbove, kl_streak, most_misses, surest_reach
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import CLOSE, SPREAD, Growth, budget_at, front_of, kl_front
from structured_bandits.policies.klucb import KLUCB, index, plus_budget
from structured_bandits.protocols import Now, Outcome

memory = index_memory


def quick_choose(
    policy: KLUCB, state: State, now: Now, rng: np.random.Generator, work: Work
) -> LeadingArm:
    """Find the highest index; the variant "++" keeps its indices, which do not depend on time."""
    memory = work.memory
    budget = budget_at(Growth(1.0, policy.c), math.log(now.t + 1))
    if policy.pulls_in_all == 0 and math.isfinite(policy.bottom):
        front = kl_front(state.data, memory.means, policy.playable, budget)
    else:
        if policy.pulls_in_all == 0:
            for place in range(len(policy.playable)):
                write_index(policy, state.data, memory, policy.playable[place], budget)
        front = front_of(memory.indices, policy.playable)
    return LeadingArm(front.arm, 0, front.highest, front.second)


@compilable
def write_index(policy: Any, data: Data, memory: IndexMemory, arm: int, budget: float) -> None:
    """Write the index of an arm with pulls; others keep theirs, which is infinite."""
    if data.pulls[arm] > 0:
        memory.indices[arm] = index(policy, data.pulls[arm], memory.means[arm], budget)


def stretch(
    policy: KLUCB, state: State, choice: LeadingArm, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the leader as long as it is sure to lead."""
    if choice.highest == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(choice.arm, 1, 0)  # without pulls or bounds no more is certain
    means = work.memory.means
    if policy.pulls_in_all == 0:
        growth = Growth(1.0, policy.c)
        return kl_streak(state.data, means, policy.playable, choice, growth, now, policy.top)
    return steady_streak(policy, state.data, means, choice, now)


def note(policy: KLUCB, state: State, outcome: Outcome, work: Work) -> None:
    """Note the mean of the arm, and its index for the variant "++"."""
    note_mean(work.memory.means, state.data, outcome.arm, policy.bottom, policy.top)
    if policy.pulls_in_all > 0:
        write_index(policy, state.data, work.memory, outcome.arm, 0.0)


@compilable
def steady_streak(policy: Any, data: Data, means: Floats, front: Any, now: Now) -> Streak:
    """Pull the leader of the variant "++" as long as it surely leads: the others' indices stand still.

    Its own budget falls with its pulls, so the condition has that of the plan's end
    (docs/notes/lookahead.md 18.1). A plan holds no more pulls than the arm has; doubling them is far
    enough.
    """
    arm = front.arm
    if front.second == -math.inf:
        return certain_streak(arm, now.limit, 0)  # there is no other arm
    if front.highest - front.second < CLOSE:
        return certain_streak(arm, 1, 0)
    pulls = data.pulls[arm]
    mean = means[arm]
    length = min(now.limit - 1, pulls)
    while length > 0:
        budget = plus_budget(policy.pulls_in_all, len(policy.playable), pulls + length)
        condition = StaysAbove(float(pulls), pulls * mean, front.second + SPREAD, budget)
        misses = most_misses(condition)
        # If there are rarely more misses than that, a shorter plan would not last longer.
        if misses + 1.0 >= 0.5 * length * (1.0 - mean):
            reach = surest_reach(condition, data, arm, length, misses)
            return stopping_streak(arm, reach, policy.top)
        length //= 2
    return certain_streak(arm, 1, 0)
