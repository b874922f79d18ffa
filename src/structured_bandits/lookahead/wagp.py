"""Lookahead of WAGP: the parameter that each arm points to is kept; it decides before every pull."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.lookahead.base import Work
from structured_bandits.policies.base import State
from structured_bandits.policies.wagp import WAGP
from structured_bandits.protocols import Choice, Now


class Memory(NamedTuple):
    """The parameter that each arm points to."""

    pointed: Floats
    counted: Ints  # pulls of each arm when `pointed` was computed


def memory(policy: WAGP, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    arms = policy.cells.arm_count()
    return Memory(np.zeros(arms), np.zeros(arms, np.int64))


def quick_choose(
    policy: WAGP, state: State, now: Now, rng: np.random.Generator, work: Work
) -> Choice:
    """Choose by definition; only arms with new data are asked where they point."""
    pulls, sums = state.data
    pointed, counted = work.memory
    if now.t == 0:
        return Choice(int(rng.random() * len(pulls)), 0)
    total = 0.0
    for arm in range(len(pulls)):
        if pulls[arm] > counted[arm]:
            pointed[arm] = policy.cells.closest_parameter(arm, sums[arm] / pulls[arm])
            counted[arm] = pulls[arm]
        total += pulls[arm] * pointed[arm]
    return Choice(policy.cells.arm_at(total / now.t), 0)
