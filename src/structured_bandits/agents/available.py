"""Which arms may be given now: those that the caller has, without those that are parked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from structured_bandits.arrays import Flags
from structured_bandits.errors import ParameterError
from structured_bandits.structures.base import index_of, shortened


def allowed_arms(
    available: Collection[int | str] | None, names: Sequence[str], parked: Flags
) -> Flags:
    """Return a flag for each arm: is it available (all are if this is None) and not parked?"""
    if available is None:
        return ~parked
    here: Flags = np.zeros(len(names), np.bool_)
    for arm in listed_arms(available):
        here[index_of(arm, names, "available arm")] = True
    allowed: Flags = here & ~parked
    if not allowed.any():
        away = shortened([names[arm] for arm in np.flatnonzero(parked).tolist()])
        why = f"; parked are {away}" if parked.any() else ""
        raise ParameterError(f"available={available!r}: expected at least one arm to choose{why}")
    return allowed


def listed_arms(available: Any) -> list[Any]:
    """Return the arms that are available as a list; raise if they are no collection."""
    if isinstance(available, (str, bytes)):
        raise ParameterError(
            f"available={available!r}: expected a collection of arms, as in [{available!r}]"
        )
    try:
        return list(available)
    except TypeError:
        raise ParameterError(
            f"available={available!r}: expected a collection of arms, by index or name"
        ) from None
