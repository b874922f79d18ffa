"""Lookahead of ASAE with likelihood sets: a single arm is pulled until another could come back."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.inference.likelihood_sets import TableSets
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.likelihood_sets import Memory, fresh_memory, set_stretch
from structured_bandits.policies.asae import ASAE, ASAEState
from structured_bandits.policies.playing import plan
from structured_bandits.protocols import Now


def memory(policy: ASAE, tables: Any) -> Any:
    """Return the memory before the first pull."""
    return memory_of(policy.widths, policy.cells.arm_count())


def no_memory(widths: Any, arms: int) -> None:
    """Return none: periods say for how long they are certain, rounds on curves are asked one by one."""


memory_of = chosen_by_class({TableSets: fresh_memory}, no_memory)


def quick_plan(
    policy: ASAE, state: ASAEState, now: Now, quota: Ints, rng: np.random.Generator, work: Work
) -> int:
    """Plan a round, and more of it if a single arm is left."""
    empty = plan(policy, state, now, quota, rng)
    prolong(policy.widths, policy, state, now, quota, work.memory)
    return empty


def leave(widths: Any, policy: ASAE, state: ASAEState, now: Now, quota: Ints, memory: Any) -> None:
    """Leave a plan as it is."""


def prolong_round(
    widths: TableSets, policy: ASAE, state: ASAEState, now: Now, quota: Ints, memory: Memory
) -> None:
    """Let a single arm be pulled until another could come back."""
    arm = only_arm(quota)
    if arm >= 0 and state.found[arm]:
        for model in range(len(memory.logs)):
            memory.logs[model] = state.notes[model]
        single = set_stretch(widths, policy, state.data, -1, arm, now, memory)
        quota[arm] = single.surely


prolong = chosen_by_class({TableSets: prolong_round}, leave)


@compilable
def only_arm(quota: Ints) -> int:
    """Return the arm of a plan that has no other, -1 if there are several."""
    found = -1
    for arm in range(len(quota)):
        if quota[arm] > 0:
            if found >= 0:
                return -1
            found = arm
    return found
