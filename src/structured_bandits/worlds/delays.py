"""Worlds whose rewards come late, and the laws of how late, in pulls.

All laws are one record, so that compiled code for one of them serves the others too.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_at_least, checked_count
from structured_bandits.base.compilable import compilable
from structured_bandits.base.records import Record
from structured_bandits.errors import ParameterError
from structured_bandits.protocols import Paid
from structured_bandits.worlds.world import World, declared_range

NEVER = 1 << 60  # pulls: beyond any horizon, and a pull number can be added
LONGEST_MEAN = 1e12
ACCEPTED = (
    "a whole number of pulls from 0, math.inf for never, sb.GeometricDelay(mean), or a list of measured "
    "delays"
)
NO_REWARD = -math.inf


class GeometricDelay(NamedTuple):
    """Random delays of 0, 1, 2, … pulls, `mean` on average; each is q times as likely as the one before.

    So q = mean / (1 + mean): before each pull a reward that is out comes with probability 1 - q, however
    long it has been out.
    """

    mean: float


class _DelayLaw(NamedTuple):
    values: Ints  # in pulls; NEVER for rewards that do not come
    log_stay: float  # the logarithm of q of the geometric law


class DelayLaw(Record, _DelayLaw):
    """Delays drawn from `values` with replacement; without any, a geometric law."""


def checked_delay(name: str, delay: Any) -> DelayLaw:
    """Return the law that a user describes."""
    if isinstance(delay, GeometricDelay):
        return _geometric(name, delay)
    if isinstance(delay, (str, bytes, dict)) or delay is None:
        raise ParameterError(f"{name}={delay!r}: expected {ACCEPTED}")
    measured = list(delay) if np.ndim(delay) else [delay]
    if not measured:
        raise ParameterError(f"{name}={delay!r}: expected at least one measured delay")
    return DelayLaw(np.array([_pulls(name, each) for each in measured], np.int64), 0.0)


def described(law: DelayLaw) -> str:
    """Return a law as a user would write it, long lists in short."""
    if not len(law.values):
        stay = math.exp(law.log_stay)
        return f"GeometricDelay({stay / -math.expm1(law.log_stay):g})"
    plain = [math.inf if value == NEVER else value for value in law.values.tolist()]
    if len(plain) == 1:
        return str(plain[0])
    shown = ", ".join(map(str, plain[:4]))
    return f"[{shown}]" if len(plain) <= 4 else f"[{shown}, … {len(plain)} delays]"


@compilable
def drawn_delay(law: DelayLaw, rng: np.random.Generator) -> int:
    """Draw a delay; a fixed one takes no random number."""
    count = len(law.values)
    if count == 0:
        return int(math.log(1.0 - rng.random()) / law.log_stay)
    if count == 1:
        return law.values[0]
    return law.values[int(rng.random() * count)]


def _geometric(name: str, delay: GeometricDelay) -> DelayLaw:
    mean = checked_at_least(f"{name}: mean", delay.mean, 0.0)
    if mean > LONGEST_MEAN:
        raise ParameterError(f"{name}={delay!r}: expected a mean of up to {LONGEST_MEAN:g} pulls")
    if mean == 0.0:
        return DelayLaw(np.zeros(1, np.int64), 0.0)
    return DelayLaw(np.zeros(0, np.int64), -math.log1p(1.0 / mean))


def _pulls(name: str, delay: Any) -> int:
    """Return a single delay as a number of pulls."""
    if isinstance(delay, (float, np.floating)) and delay == math.inf:
        return NEVER
    try:
        return checked_count(name, delay, least=0)
    except ParameterError:
        raise ParameterError(f"{name}={delay!r}: expected {ACCEPTED}") from None


class _Delayed(NamedTuple):
    means: Floats
    world: Any  # that pays
    usual: DelayLaw
    failing: DelayLaw  # of rewards that are the least
    least: float  # NO_REWARD if they take no longer than others


class Delayed(World, _Delayed):
    """The world `world`, with rewards that come `delay` pulls late.

    `delay` is a whole number of pulls, `math.inf` for never, `sb.GeometricDelay(mean)`, or a list of
    measured delays, which are drawn with replacement. `failures`, given like `delay`, is the delay
    of the lowest reward of the world's range, such as the 0 of a visitor who did not click: a click is
    known at once, its absence only after some waiting.

    With a delay of d a reward is known after d further pulls; with 0, before the next pull. While
    rewards are out, a simulation follows the same rule as `sb.Agent` (docs/notes/mathematics.md 9).
    Rewards that are still out at the horizon never come.

    >>> import structured_bandits as sb
    >>> sb.Delayed(sb.Bernoulli([0.02, 0.05]), 0, failures=100)
    Delayed(Bernoulli([0.02, 0.05]), 0, failures=100)
    """

    def __new__(cls, world: Any, delay: Any, failures: Any = None) -> Delayed:
        """Check the delays."""
        if isinstance(world, type) or not (hasattr(world, "draw") and hasattr(world, "means")):
            raise ParameterError(f"world={world!r}: expected one such as sb.Bernoulli(means)")
        if hasattr(world, "draw_at"):
            raise ParameterError(f"world={world!r}: rewards of worlds that change come at once")
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
