"""Arms that are not available: which ones may be given, and which of these if the plan wants others.

Given may be what the caller has, without the arms that are parked. Arms that a policy has dropped are
not best of all; that does not make them worse than those that are left. So the choice is optimistic
among the available ones: the arm with the highest mean that it may still have, by its own rewards and
by the models that fit the data.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from structured_bandits.agents.intervals import own_widths
from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.confidence import Box
from structured_bandits.base.intervals import Hoeffding, Intervals, KLIntervals
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import StructuredPolicy
from structured_bandits.protocols import Seen
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.base import index_of, shortened
from structured_bandits.structures.shared_ties import knows_best_mean
from structured_bandits.structures.upper_means import highest_means


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


def optimistic_arm(
    policy: Any, state: Any, t: int, seen: Seen, assumed: Seen, allowed: Flags
) -> int:
    """Return the allowed arm with the highest mean that it may have, the lowest arm on ties.

    Of arms that tie because the structure says what the best mean is, and not whose, it is the least
    pulled. The arm's own bound counts pending pulls as `assumed`, so that they spread over the arms;
    models are held against what was `seen` alone.
    """
    ahead = _level(policy, state, t + int(assumed.pulls.sum()))
    pulls = seen.pulls + assumed.pulls
    _, highest = ahead.intervals(pulls, seen.sums + assumed.sums)
    bounds = np.minimum(highest, _by_models(policy, state, t, seen, allowed))
    bounds = np.where(allowed, bounds, -math.inf)
    if isinstance(policy, StructuredPolicy) and knows_best_mean(
        policy.structure.cells, bounds.max()
    ):
        tied = bounds >= bounds.max() - TOLERANCE
        return int(np.where(tied, pulls, np.iinfo(np.int64).max).argmin())
    return int(bounds.argmax())


def _by_models(policy: Any, state: Any, t: int, seen: Seen, allowed: Flags) -> Floats:
    """Return the highest mean of each allowed arm over the models that fit; infinite if none does.

    A policy that is blind to the structure stays so.
    """
    nobody_knows = np.full(len(seen.pulls), math.inf)
    if not isinstance(policy, StructuredPolicy):
        return nobody_knows
    box = Box(*_level(policy, state, t).intervals(seen.pulls, seen.sums))
    found = highest_means(policy.structure, box, allowed)
    return nobody_knows if found is None else found


def _level(policy: Any, state: Any, t: int) -> Intervals:
    """Return the policy's intervals; for one that has none, those of KL-UCB for its range of rewards."""
    own = own_widths(policy, state, t)
    if own is not None:
        return own
    log_time = math.log(t + 1)
    low, high = getattr(policy, "reward_range", None) or (-math.inf, math.inf)
    if math.isfinite(high - low):
        return KLIntervals(0.5 * (high - low) ** 2 * log_time, low, high - low)
    return Hoeffding(2.0 * getattr(policy, "sigma", 1.0) ** 2 * log_time)
