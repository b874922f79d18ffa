"""Which arm, if those that the plan wants are not available?

Arms that a policy has dropped are not best of all; that does not make them worse than those that are
left. So the choice is optimistic among the available ones: the arm with the highest mean that it may
still have, by its own rewards and by the models that fit the data.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.agents.bounds import own_widths
from structured_bandits.arrays import Flags, Floats
from structured_bandits.planning.confidence import Box
from structured_bandits.planning.intervals import Chernoff, Hoeffding, Intervals
from structured_bandits.policies.base import StructuredPolicy
from structured_bandits.protocol import Seen
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.highest import highest_means
from structured_bandits.structures.shared_ties import knows_best_mean


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
        return Chernoff(0.5 * (high - low) ** 2 * log_time, low, high - low)
    return Hoeffding(2.0 * getattr(policy, "sigma", 1.0) ** 2 * log_time)
