"""Gaussian rewards."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.checks import checked_above
from structured_bandits.environments.base import World, checked_vector


class _Gaussian(NamedTuple):
    means: Floats
    sigma: float


class Gaussian(World, _Gaussian):
    """Arm i pays a normal reward with mean means[i] and standard deviation sigma.

    The rewards have no bounds: policies need reward_range=None and their own sigma. A block of m
    rewards is one normal draw with mean m means[i] and deviation sqrt(m) sigma.
    """

    def __new__(cls, means: Any, sigma: float = 1.0) -> Gaussian:
        """Check means and sigma."""
        return super().__new__(
            cls, checked_vector("means", means), checked_above("sigma", sigma, 0.0)
        )

    def reward_range(self) -> None:
        """Return None: there are no bounds."""
        return None

    def noise(self) -> float:
        """Return sigma."""
        return self.sigma

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> float:
        """Return the sum of `count` rewards."""
        return float(rng.normal(count * self.means[arm], math.sqrt(count) * self.sigma))
