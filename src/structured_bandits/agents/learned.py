"""What a policy has learned: the arrays of its state that hold it, by name, and copies of them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import Policy


def learned_arrays(policy: Any, state: Any) -> Iterator[tuple[str, Any]]:
    """Return the arrays of a state that hold what was learned, by their names.

    All of them, unless the policy names the fields.
    """
    if not hasattr(state, "_fields"):
        raise ParameterError(
            f"{type(policy).__name__}: its state is {type(state).__name__}; a snapshot needs one that "
            "is a NamedTuple of arrays"
        )
    names = getattr(policy, "learned", state._fields)
    for name in names:
        if name not in state._fields:
            raise ParameterError(
                f"{type(policy).__name__}: learned={tuple(names)!r} names {name!r}, which its state "
                f"does not have; accepted are names among {', '.join(state._fields)}. Say in the class "
                "which of them hold what was learned, as in learned = ('pulls', 'sums')"
            )
        part = getattr(policy, name, None)
        if isinstance(part, Policy):  # a policy inside another one: what it has learned itself
            for inner, values in learned_arrays(part, getattr(state, name)):
                yield f"{name}.{inner}", values
        else:
            yield from _arrays(name, getattr(state, name))


def names_learned(policy: Any) -> bool:
    """Does a policy say which fields of its state it has learned, as those of the library do?"""
    return hasattr(policy, "learned")


def copied_state(policy: Any, state: Any) -> Any:
    """Return a state that has learned the same and shares no memory with this one.

    Scratch memory is made anew, as for a snapshot: solvers may be in it, which cannot be copied. A state
    of which nobody says what is scratch is copied as it is.
    """
    if not set(getattr(policy, "learned", ("",))) <= set(getattr(state, "_fields", ())):
        return deepcopy(state)
    copy = policy.init()
    for (_, values), (_, source) in zip(
        learned_arrays(policy, copy), learned_arrays(policy, state), strict=True
    ):
        values[...] = source
    if hasattr(policy, "restore"):
        policy.restore(copy)
    return copy


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Return an array by its name, or those of a record."""
    if not hasattr(value, "_fields"):
        yield name, value
        return
    for field, inner in zip(value._fields, value, strict=True):
        yield from _arrays(f"{name}.{field}", inner)
