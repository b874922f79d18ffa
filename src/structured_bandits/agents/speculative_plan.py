"""Planning ahead: what to ask for while rewards are out.

Beyond its plan an agent asks as if every decision whose reward is out had paid the average of its arm.
For this it plans on a copy of what was learned, so that nothing is believed that was not seen: no arm
is dropped and no phase ends because of such a plan. A randomised policy simply draws once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.agents.learned import copied_state
from structured_bandits.agents.results import Range
from structured_bandits.base.arrays import Flags, Ints
from structured_bandits.policies.phases import MOST_PULLS, Presence
from structured_bandits.policies.playing import expect, observe, plan
from structured_bandits.policies.validation import check_plan
from structured_bandits.protocols import Now, Seen


class LookAhead(NamedTuple):
    """A plan beyond the plan."""

    quota: Ints
    handed: Ints  # how much of it was handed out, by arm


def assumed_results(seen: Seen, counts: Sequence[int], allowed: Range) -> Seen:
    """Return the pending pulls of each arm as if they had paid what the arm paid on average so far.

    Without data of the arm: the middle of the range of rewards; without a range the average of all
    rewards, 0 if there are none. Squares likewise, by the average square of the arm.
    """
    pulls = np.array(counts, np.int64)
    known = (seen.pulls > 0) & np.isfinite(seen.sums)
    each = np.maximum(seen.pulls, 1)
    reward, square = _without_data(seen, allowed)
    rewards = np.where(known, seen.sums / each, reward)
    squares = np.where(known, seen.squares / each, square)
    out = pulls > 0
    return Seen(pulls, np.where(out, pulls * rewards, 0.0), np.where(out, pulls * squares, 0.0))


def _without_data(seen: Seen, allowed: Range) -> tuple[float, float]:
    """Return the reward, and its square, that is assumed of an arm without data."""
    low, high = allowed
    if math.isfinite(low):
        middle = 0.5 * (low + high)
        return middle, middle * middle
    total = int(seen.pulls.sum())
    if not total or not np.isfinite(seen.sums).all():
        return 0.0, 0.0
    return sum(seen.sums.tolist()) / total, sum(seen.squares.tolist()) / total


def note_away(state: Any, away: Flags) -> None:
    """Tell a state which arms are away, if its policy's plans can leave arms out (policies.phases)."""
    presence = getattr(state, "presence", None)
    if isinstance(presence, Presence):
        presence.away[:] = away


class PlannedAhead(NamedTuple):
    """A plan beyond the plan, and how likely the policy was to choose its arm, if it knows."""

    plan: LookAhead
    chance: float | None


def chance_of(policy: Any, state: Any, t: int, arm: int) -> float | None:
    """Return the probability with which a policy chooses an arm that it has chosen, if it knows."""
    if not hasattr(policy, "chances"):
        return None
    if hasattr(policy, "is_drawn") and not policy.is_drawn(state):
        return 1.0
    return float(policy.chances(state, Now(t, 1))[arm])


class Ahead(NamedTuple):
    """A state that has learned what is assumed, and its pulls."""

    state: Any
    t: int


def look_ahead(policy: Any, state: Any, t: int, assumed: Seen, away: Flags) -> Ahead:
    """Return a copy of a state after `t` pulls, in which the `assumed` results were observed too.

    For a randomised policy nothing is assumed: it draws from what was seen, and is told how many pulls
    are out, if it wants to know.
    """
    copy = copied_state(policy, state)
    if hasattr(policy, "forget"):
        policy.forget(copy)
    if not getattr(policy, "randomised", False):
        # What was not seen may be heard, but it is never settled: it is no evidence.
        if getattr(policy, "in_order", False):
            policy.hear(copy, assumed)
        else:
            observe(policy, copy, assumed)
        t += int(assumed.pulls.sum())
    note_away(copy, away)
    expect(policy, copy, assumed.pulls)
    return Ahead(copy, t)


def plan_ahead(
    policy: Any, state: Any, t: int, assumed: Seen, away: Flags, rng: np.random.Generator
) -> PlannedAhead:
    """Plan on a copy of a state that has learned what is assumed."""
    copy, t = look_ahead(policy, state, t, assumed, away)
    quota = np.zeros(policy.n_arms, np.int64)
    check_plan("policy", plan(policy, copy, Now(t, MOST_PULLS), quota, rng), quota)
    chance = chance_of(policy, copy, t, int(quota.argmax()))
    return PlannedAhead(LookAhead(quota, np.zeros_like(quota)), chance)
