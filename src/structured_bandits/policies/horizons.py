"""Policies that are made for a number of pulls in all, and what to say when they are played for more."""

from __future__ import annotations

from typing import Any

from structured_bandits.policies.base import Policy


def tuned_horizon(policy: Any) -> int | None:
    """Return for how many pulls a policy is made, None if for any; of several the least."""
    parts = policy.inner_policies if isinstance(policy, Policy) else ()
    known = [getattr(policy, "horizon", None), *map(tuned_horizon, parts)]
    return min((horizon for horizon in known if horizon is not None), default=None)


def beyond_horizon(name: str, tuned: int, happening: str) -> str:
    """Return what it means that a policy is played for more pulls than it is made for.

    `happening` says what happens, with the policy as its subject.
    """
    return (
        f"{name} is tuned for horizon={tuned} and {happening}. Beyond its horizon nothing is promised "
        "of its regret, which may then grow with every pull. Give it the number of pulls that will be "
        "made in all, or take a policy that needs none, such as ASAE or SUCB."
    )
