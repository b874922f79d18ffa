"""The base of the library's worlds.

A world is a named tuple with `means`, the true means of the arms, and a method
`draw(arm, pulls, count, rng)` that Numba can compile and that returns what the next `count` pulls of
`arm`, which has been pulled `pulls` times before, pay (`protocols.WorldLike`). If it also offers
`draw_until`, streaks can stop at misses (`protocols.StoppingWorld`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_range
from structured_bandits.base.records import Record
from structured_bandits.errors import ParameterError

Range = tuple[float, float]


class World(Record, ABC):
    """Mixin of the library's worlds.

    `stops` says whether streaks are drawn by `draw_until`. A class that gives `draw` anew without
    `draw_until` does not stop, unless it says so itself. Likewise for `counts_gains` and `draw_while`,
    if `draw` or `draw_until` is given anew.
    """

    means: Floats
    stops: ClassVar[bool] = False
    counts_gains: ClassVar[bool] = False

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        own = vars(cls)
        if "stops" not in own and ("draw_until" in own or "draw" in own):
            cls.stops = "draw_until" in own
        if "counts_gains" not in own and own.keys() & {"draw", "draw_until", "draw_while"}:
            cls.counts_gains = "draw_while" in own

    @property
    @abstractmethod
    def family(self) -> str:
        """The family of the rewards, one of `families.FAMILIES`."""

    @abstractmethod
    def reward_range(self) -> tuple[float, float] | None:
        """Return the range of the rewards, None if they have no bounds."""

    @abstractmethod
    def noise(self) -> float:
        """Return a sigma for which the rewards are sub-Gaussian."""

    def longest(self) -> int | None:
        """Return the number of pulls that the world can serve, None if there is no end."""
        return None

    def __repr__(self) -> str:
        shown = np.array2string(self.means, precision=4, separator=", ", threshold=8)
        return f"{type(self).__name__}({shown})"


class RangedWorld(World):
    """Mixin of worlds whose rewards lie in a range: from their field `bottom` to their field `top`."""

    bottom: float
    top: float

    def reward_range(self) -> Range:
        """Return the range of the rewards."""
        return self.bottom, self.top

    def __repr__(self) -> str:
        shown = super().__repr__()
        if self.reward_range() == (0.0, 1.0):
            return shown
        return f"{shown[:-1]}, reward_range={self.reward_range()})"


class CoinWorld(RangedWorld):
    """Mixin of worlds that pay one end of their range or the other."""

    @property
    def family(self) -> str:
        """Rewards of 0 and 1; those of another range are bounded ones."""
        return "bernoulli" if self.reward_range() == (0.0, 1.0) else "bounded"

    def noise(self) -> float:
        """Return half the width of the range, 1/2 for 0 and 1 (Hoeffding)."""
        return 0.5 * (self.top - self.bottom)


def checked_in_range(means: Any, reward_range: Any) -> tuple[Floats, Range]:
    """Return a vector of means that rewards in the range can have, and the range."""
    vector = checked_vector("means", means)
    low, high = checked_range("reward_range", reward_range)
    if vector.min() < low or vector.max() > high:
        raise ParameterError(
            f"means={vector}: expected means in [{low:g}, {high:g}], where the rewards lie"
        )
    return vector, (low, high)


def shares_of(means: Floats, bottom: float, top: float) -> Floats:
    """Return where means lie in the range, from 0 to 1."""
    return np.minimum((means - bottom) / (top - bottom), 1.0)


def checked_vector(name: str, values: Any) -> Floats:
    """Return a vector of finite means."""
    try:
        vector = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError(f"{name}={values!r}: expected a mean per arm") from None
    if vector.ndim != 1 or not len(vector):
        raise ParameterError(f"{name}: shape {vector.shape}; expected a mean per arm")
    if not np.isfinite(vector).all():
        raise ParameterError(f"{name}={vector}: means must be finite")
    return vector


def declared_range(world: Any) -> tuple[float, float] | None:
    """Return the range of rewards that a world declares, by a method or a property, if any."""
    declared = getattr(world, "reward_range", None)
    found: tuple[float, float] | None = declared() if callable(declared) else declared
    return found
