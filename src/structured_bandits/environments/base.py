"""What a world is.

A world is a named tuple with `means`, the true means of the arms, and a method
`draw(arm, pulls, count, rng)` that Numba can compile and that returns the sum of the next `count`
rewards of `arm`, which has been pulled `pulls` times before. If it also offers `draw_until`, streaks can
stop at misses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError
from structured_bandits.records import Record


class WorldLike(Protocol):
    """What the engine needs of a world; any such named tuple will do."""

    @property
    def means(self) -> Floats:
        """The true means of the arms, from which regret is computed."""

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> float:
        """Return the sum of the next `count` rewards of `arm`."""


class StoppingWorld(WorldLike, Protocol):
    """A world that can stop at misses: rewards below the highest that the arm pays.

    Other rewards are no less than any mean of rewards of that arm.
    """

    def draw_until(
        self, arm: int, pulls: int, count: int, misses: int, rng: np.random.Generator
    ) -> tuple[int, float]:
        """Pull `arm` until there are more than `misses` misses, at most `count` times.

        Return how often it was pulled, and the sum of the rewards.
        """


class World(Record, ABC):
    """Mixin of the library's worlds."""

    means: Floats

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
