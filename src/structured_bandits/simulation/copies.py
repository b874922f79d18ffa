"""A copy of what a policy has learned, on which it can plan without believing what it plans.

The arrays of a state are copied into those of another one, compiled code does the same field by field
(`simulation.compiled`). A state that holds other things, such as the notes of solvers, runs on the
Python engine: of such a one a fresh state gets what was learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.live.learned import copied_state

NUMBERS = (bool, int, float, np.generic)


def copied(policy: Any, spare: Any, state: Any) -> Any:
    """Return a copy of a state; `spare` is another state of the policy, whose memory it may take."""
    if holds_arrays(state):
        return copied_whole(policy, spare, state)
    return copied_state(policy, state)


def copied_whole(policy: Any, spare: Any, state: Any) -> Any:
    """Return a copy of a state that consists of arrays: in the memory of `spare`."""
    copy_into(spare, state)
    return spare


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
    return isinstance(state, (np.ndarray, *NUMBERS))
