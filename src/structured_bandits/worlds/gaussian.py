"""Gaussian rewards."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_above
from structured_bandits.base.draws import draw_chisquare, draw_normal
from structured_bandits.protocols import Paid
from structured_bandits.worlds.world import World, checked_vector


class _Gaussian(NamedTuple):
    means: Floats
    sigma: float


class Gaussian(World, _Gaussian):
    """Arm i pays a normal reward with mean means[i] and standard deviation sigma.

    The rewards have no bounds: policies need reward_range=None and their own sigma. Of a block of m
    rewards the sum S is one normal draw with mean m means[i] and deviation sqrt(m) sigma, and the sum
    of their squares is S^2 / m plus sigma^2 times a chi-squared draw with m - 1 degrees of freedom,
    which is independent of S (Cochran's theorem); so the two have the right joint distribution.
    """

    def __new__(cls, means: Any, sigma: float = 1.0) -> Gaussian:
        """Check means and sigma."""
        return super().__new__(
            cls, checked_vector("means", means), checked_above("sigma", sigma, 0.0)
        )

    @property
    def family(self) -> str:
        """Normal rewards of known deviation."""
        return "gaussian"

    def reward_range(self) -> None:
        """Return None: there are no bounds."""
        return None

    def noise(self) -> float:
        """Return sigma."""
        return self.sigma

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Pay `count` rewards."""
        total = draw_normal(count * self.means[arm], math.sqrt(count) * self.sigma, rng)
        squares = total * total / count
        if count > 1:
            squares += self.sigma * self.sigma * draw_chisquare(float(count - 1), rng)
        return Paid(count, total, squares)
