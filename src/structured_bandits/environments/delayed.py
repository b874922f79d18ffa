"""A world whose rewards come late."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.environments.base import World, declared_range
from structured_bandits.environments.delays import DelayLaw, checked_delay, described, drawn_delay
from structured_bandits.errors import ParameterError
from structured_bandits.protocol import Paid

NO_REWARD = -math.inf


class _Delayed(NamedTuple):
    means: Floats
    world: Any  # that pays
    usual: DelayLaw
    failing: DelayLaw  # of rewards that are the least
    least: float  # NO_REWARD if they take no longer than others


class Delayed(World, _Delayed):
    """The world `world`, with rewards that come `delay` pulls late.

    `delay` is a whole number of pulls, `math.inf` for never, `sb.GeometricDelay(mean)`, or a list of
    measured delays, which are drawn with replacement. `failures` is a delay of the same forms for
    rewards that are the lowest of the world's range, such as the 0 of a visitor who did not click: often
    a success is known at once, and a failure only when nobody waits for a success any longer.

    With a delay of 0 a reward is known before the next pull, as without delay; with a delay of d there
    are d pulls in between. While rewards are out, a simulation follows the same rule as `sb.Agent`
    (docs/mathematics.md 9). Rewards that are still out at the horizon never come.

    >>> import structured_bandits as sb
    >>> sb.Delayed(sb.Bernoulli([0.02, 0.05]), 0, failures=100)
    Delayed(Bernoulli([0.02, 0.05]), 0, failures=100)
    """

    def __new__(cls, world: Any, delay: Any, failures: Any = None) -> Delayed:
        """Check the delays."""
        if isinstance(world, type) or not (hasattr(world, "draw") and hasattr(world, "means")):
            raise ParameterError(f"world={world!r}: expected one such as sb.Bernoulli(means)")
        if hasattr(world, "draw_delay"):
            raise ParameterError(f"world={world!r}: its rewards come late already")
        usual = checked_delay("delay", delay)
        if failures is None:
            return super().__new__(cls, world.means, world, usual, usual, NO_REWARD)
        reward_range = declared_range(world)
        if reward_range is None:
            raise ParameterError(
                f"failures={failures!r}: the rewards of {world!r} have no lowest one; leave it out"
            )
        failing = checked_delay("failures", failures)
        return super().__new__(cls, world.means, world, usual, failing, float(reward_range[0]))

    @property
    def family(self) -> str:
        """The family of the rewards."""
        return str(self.world.family)

    def reward_range(self) -> tuple[float, float] | None:
        """Return the range of the rewards, None if they have no bounds."""
        return declared_range(self.world)

    def noise(self) -> float:
        """Return a sigma for which the rewards are sub-Gaussian."""
        return float(self.world.noise())

    def longest(self) -> int | None:
        """Return the number of pulls that the world can serve, None if there is no end."""
        longest: int | None = self.world.longest() if hasattr(self.world, "longest") else None
        return longest

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Return what the next `count` pulls of `arm` pay, whenever that will be."""
        return self.world.draw(arm, pulls, count, rng)

    def draw_delay(self, arm: int, reward: float, rng: np.random.Generator) -> int:
        """Draw how many pulls are made before the reward of a pull comes; not counting that pull."""
        return drawn_delay(self.failing if reward == self.least else self.usual, rng)

    def __repr__(self) -> str:
        failures = "" if self.least == NO_REWARD else f", failures={described(self.failing)}"
        return f"Delayed({self.world!r}, {described(self.usual)}{failures})"
