"""Lookahead of MOSS (docs/notes/lookahead.md 18.3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.convex_condition import Reach, stopping_streak
from structured_bandits.lookahead.index import IndexMemory, LeadingArm, index_memory, note_mean
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import CLOSE, SPREAD, front_of
from structured_bandits.policies.moss import MOSS, radius
from structured_bandits.protocols import Now, Outcome

memory = index_memory


def quick_choose(
    policy: MOSS, state: State, now: Now, rng: np.random.Generator, work: Work
) -> LeadingArm:
    """Find the highest index; with a horizon indices are kept, since they do not depend on time."""
    memory = work.memory
    if policy.pulls_in_all == 0:
        for place in range(len(policy.playable)):
            write_index(policy, state.data, memory, policy.playable[place], now.t + 1)
    front = front_of(memory.indices, policy.playable)
    return LeadingArm(front.arm, 0, front.highest, front.second)


def stretch(
    policy: MOSS, state: State, choice: LeadingArm, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the leader as long as it is sure to lead."""
    if choice.highest == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(choice.arm, 1, 0)  # without pulls or bounds no more is certain
    if choice.second == -math.inf:
        return certain_streak(choice.arm, now.limit, 0)  # there is no other arm
    if choice.highest - choice.second < CLOSE:
        return certain_streak(choice.arm, 1, 0)
    return moss_streak(policy, state.data, work.memory, choice, now)


def note(policy: MOSS, state: State, outcome: Outcome, work: Work) -> None:
    """Note the mean and the index of the arm."""
    note_mean(work.memory.means, state.data, outcome.arm, policy.bottom, policy.top)
    write_index(policy, state.data, work.memory, outcome.arm, policy.pulls_in_all)


@compilable
def write_index(policy: Any, data: Data, memory: IndexMemory, arm: int, clock: int) -> None:
    """Write the index of an arm with pulls; others keep theirs, which is infinite."""
    pulls = data.pulls[arm]
    if pulls > 0:
        memory.indices[arm] = memory.means[arm] + radius(policy, pulls, clock)


@compilable
def highest_rival(
    policy: Any, data: Data, memory: IndexMemory, front: LeadingArm, clock: float
) -> float:
    """Return the highest index of the other arms when the clock will be at `clock`."""
    if policy.pulls_in_all > 0:
        return front.second  # they stand still
    highest = -math.inf
    for place in range(len(policy.playable)):
        arm = policy.playable[place]
        if arm != front.arm:
            index = memory.means[arm] + radius(policy, data.pulls[arm], clock)
            highest = max(highest, index)
    return highest


@compilable
def moss_streak(
    policy: Any, data: Data, memory: IndexMemory, front: LeadingArm, now: Now
) -> Streak:
    """Pull the leader as long as it surely leads, judged at the plan's end.

    See docs/notes/lookahead.md 18.3.

    There its radius is smallest and the others' are largest, so its mean must stay above a level, which
    misses alone decide. A plan holds no more pulls than the arm has; doubling them is far enough.
    """
    arm = front.arm
    pulls = data.pulls[arm]
    mean = memory.means[arm]
    length = min(now.limit - 1, pulls)
    while length > 0:
        clock = policy.pulls_in_all if policy.pulls_in_all > 0 else now.t + 1 + length
        rival = highest_rival(policy, data, memory, front, clock)
        level = rival + SPREAD * (1.0 + abs(rival)) - radius(policy, pulls + length, clock)
        misses = misses_above(level, mean, pulls, length)
        # If there are rarely more misses than that, a shorter plan would not last longer.
        if misses >= 0 and misses + 1.0 >= 0.5 * length * (1.0 - mean):
            return stopping_streak(arm, Reach(length, misses), policy.top)
        length //= 2
    return certain_streak(arm, 1, 0)


@compilable
def misses_above(level: float, mean: float, pulls: int, length: int) -> int:
    """Return how many misses, up to `length`, leave the mean above a level; -1 if it is below now."""
    if level >= mean or level >= 1.0:
        return -1
    if level * (pulls + length) <= mean * pulls:  # also if nothing but misses come
        return length
    return int(mean * pulls / level - pulls)
