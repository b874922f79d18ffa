"""A copy of what a policy has learned, on which it can plan without believing what it plans.

The arrays of a state, and of what its lookahead keeps, are copied into others, compiled code does the
same field by field (`simulation.compiled`). What holds other things, such as the notes of solvers, runs
on the Python engine: then a fresh state gets what was learned, and a fresh memory notes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.agents.learned import copied_state
from structured_bandits.errors import ParameterError
from structured_bandits.lookahead.base import Work, fresh_work, resumed_work
from structured_bandits.policies.playing import chooses
from structured_bandits.simulation.pending_queue import Spare

CONSTANT = (bool, int, float, np.generic, type(None))


def copied(policy: Any, spare: Spare, state: Any, work: Work) -> tuple[Any, Work]:
    """Return copies of a state and of what a lookahead keeps, in the memory that is `spare`."""
    if holds_arrays(state) and holds_arrays(work.memory):
        return copied_whole(policy, spare, state, work)
    copy = copied_state(policy, state)
    if not chooses(type(policy)):
        return copy, fresh_work(policy)
    resumed = resumed_work(policy, copy)
    if resumed is None:
        raise ParameterError(
            f"{type(policy).__name__}: its lookahead keeps what was seen, and its state, which cannot "
            "be copied array by array, does not hold that as `data` (sb.fresh_state)"
        )
    return copy, resumed


def copied_whole(policy: Any, spare: Spare, state: Any, work: Work) -> tuple[Any, Work]:
    """Return copies of what consists of arrays."""
    copy_into(spare.state, state)
    copy_into(spare.memory, work.memory)
    return spare.state, Work(work.tables, spare.memory)


def copy_into(target: Any, source: Any) -> None:
    """Copy all arrays of a record, or of records in it; those that nobody can change are the same."""
    if isinstance(source, tuple):
        for one, other in zip(target, source, strict=True):
            copy_into(one, other)
    elif isinstance(source, np.ndarray) and target.flags.writeable:
        target[...] = source


def holds_arrays(state: Any) -> bool:
    """Does a state consist of arrays, numbers and records of such, which can be copied one by one?"""
    if isinstance(state, tuple):
        return all(map(holds_arrays, state))
    return isinstance(state, (np.ndarray, *CONSTANT))
