"""Does a policy fit the world it is to play in?"""

from __future__ import annotations

from typing import Any

from structured_bandits.environments.base import World
from structured_bandits.errors import ParameterError, RewardError
from structured_bandits.policies.base import Policy
from structured_bandits.warn import warn_user


def check_together(name: str, policy: Any, world: Any, horizon: int) -> None:
    """Raise unless arms, rewards and length fit; what a user's own classes do not declare passes."""
    if isinstance(policy, type) or not hasattr(policy, "plan"):
        raise ParameterError(f"{name}: expected a policy such as sb.UCB(4), got {policy!r}")
    if isinstance(world, type) or not hasattr(world, "draw"):
        raise ParameterError(f"world: expected one such as sb.Bernoulli(means), got {world!r}")
    arms = getattr(policy, "n_arms", len(world.means))
    if arms != len(world.means):
        raise ParameterError(f"{name}: the policy has {arms} arms, the world {len(world.means)}")
    tuned = getattr(policy, "horizon", horizon)
    if tuned < horizon:
        warn_user(
            f"{name} is tuned for horizon={tuned} and will be played for {horizon} pulls",
            UserWarning,
        )
    if not isinstance(world, World):
        return
    longest = world.longest()
    if longest is not None and longest < horizon:
        raise ParameterError(f"horizon={horizon}: the tape holds {longest} rewards of each arm")
    if not isinstance(policy, Policy):
        return
    if policy.reward_range is not None:
        _check_range(name, policy.reward_range, world)
    if world.noise() > policy.sigma:
        raise RewardError(
            f"{name}: the world's sigma {world.noise():g} is larger than the policy's "
            f"{policy.sigma:g}; give the policy sigma={world.noise():g} or more"
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
