"""Does a policy fit the world it is to play in?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structured_bandits.errors import HorizonWarning, ParameterError, RewardError, warn_user
from structured_bandits.policies.base import Policy
from structured_bandits.policies.horizons import beyond_horizon, tuned_horizon
from structured_bandits.policies.validation import check_first_plan, check_policy
from structured_bandits.protocols import Paid
from structured_bandits.simulation.generator import fresh_generator
from structured_bandits.worlds.delays import Delayed
from structured_bandits.worlds.world import World


def check_together(name: str, policy: Any, world: Any, horizon: int) -> None:
    """Raise unless arms, rewards and length fit; what a user's own classes do not declare passes."""
    check_policy(name, policy)
    if isinstance(world, type) or not hasattr(world, "draw"):
        raise ParameterError(f"world: expected one such as sb.Bernoulli(means), got {world!r}")
    arms = getattr(policy, "n_arms", len(world.means))
    if arms != len(world.means):
        raise ParameterError(f"{name}: the policy has {arms} arms, the world {len(world.means)}")
    if not isinstance(policy, Policy):
        check_first_plan(name, policy, arms)
    paying = world.world if isinstance(world, Delayed) else world
    if not isinstance(paying, World):
        _check_first_draw(paying)
    else:
        _check_rewards(name, policy, paying, horizon)


def warn_of_horizons(policies: Mapping[str, Any], horizon: int) -> None:
    """Warn of policies that are tuned for fewer pulls than will be played."""
    for name, policy in policies.items():
        tuned = tuned_horizon(policy)
        if tuned is not None and tuned < horizon:
            happening = f"will be played for {horizon} pulls"
            warn_user(beyond_horizon(name, tuned, happening), HorizonWarning)


def _check_rewards(name: str, policy: Any, world: World, horizon: int) -> None:
    longest = world.longest()
    if longest is not None and longest < horizon:
        raise ParameterError(f"horizon={horizon}: the tape holds {longest} rewards of each arm")
    declared = getattr(policy, "reward_range", None)
    if declared is not None:
        _check_range(name, declared, world)
    if not isinstance(policy, Policy):
        return
    if policy.family == "bernoulli" and world.family != "bernoulli":
        raise RewardError(
            f"{name}: the policy is made for rewards of 0 and 1, the world's are {world.family}"
        )
    if world.noise() > policy.sigma:
        raise RewardError(
            f"{name}: the world's sigma {world.noise():g} is larger than the policy's "
            f"{policy.sigma:g}; give the policy sigma={world.noise():g} or more"
        )


def _check_first_draw(world: Any) -> None:
    """Raise unless a world of the user's own pays a `Paid`."""
    paid = world.draw(0, 0, 1, fresh_generator())
    if not isinstance(paid, Paid):
        raise ParameterError(
            f"world: {type(world).__name__}.draw returned {paid!r}; since version 0.2 it returns "
            "sb.Paid(count, total, squares), the number of pulls, the sum of their rewards and the "
            "sum of their squares"
        )


def _check_range(name: str, declared: tuple[float, float], world: World) -> None:
    actual = world.reward_range()
    if actual is None:
        raise RewardError(
            f"{name}: the world's rewards have no bounds, the policy expects {declared}; "
            "give the policy reward_range=None and a sigma"
        )
    if actual[0] < declared[0] or actual[1] > declared[1]:
        raise RewardError(
            f"{name}: the world's rewards lie in {actual}, outside the policy's range {declared}"
        )
