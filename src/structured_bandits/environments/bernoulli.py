"""Rewards of 0 and 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.compilable import compilable
from structured_bandits.environments.base import World, checked_vector
from structured_bandits.environments.negative_binomial import ones_before
from structured_bandits.errors import ParameterError
from structured_bandits.protocol import Paid

FEW = 64  # pulls that are taken back as fast as a stop is drawn


class _Bernoulli(NamedTuple):
    means: Floats


class Bernoulli(World, _Bernoulli):
    """Arm i pays 1 with probability means[i], else 0; a block is one binomial draw.

    >>> Bernoulli([0.8, 0.7])
    Bernoulli([0.8, 0.7])
    """

    def __new__(cls, means: Any) -> Bernoulli:
        """Check the means."""
        vector = checked_vector("means", means)
        if vector.min() < 0.0 or vector.max() > 1.0:
            raise ParameterError(f"means={vector}: means of 0/1 rewards lie in [0, 1]")
        return super().__new__(cls, vector)

    @property
    def family(self) -> str:
        """Rewards of 0 and 1."""
        return "bernoulli"

    def reward_range(self) -> tuple[float, float]:
        """Return (0, 1)."""
        return 0.0, 1.0

    def noise(self) -> float:
        """Return 1/2 (Hoeffding)."""
        return 0.5

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Pay `count` rewards: a single one by one uniform, more by a binomial; 0 and 1 are squares."""
        if count == 1:
            ones = 1.0 if rng.random() < self.means[arm] else 0.0
        else:
            ones = float(rng.binomial(count, self.means[arm]))
        return Paid(count, ones, ones)

    def draw_until(
        self, arm: int, pulls: int, count: int, misses: int, rng: np.random.Generator
    ) -> Paid:
        """Pull until there are more than `misses` zeros, at most `count` times.

        All pulls are drawn at once. If they have too many zeros, the stop came before the last pull.
        Where few pulls are likely to be in excess, they are taken back one by one; otherwise the stop
        is drawn anew, given that it came in time (docs/planning.md 1.3). Which of the two must not
        depend on what was drawn.
        """
        mean = self.means[arm]
        ones = self.draw(arm, pulls, count, rng).total
        if count - ones <= misses:
            return Paid(count, ones, ones)
        if (count - FEW) * (1.0 - mean) < misses + 1:
            return taken_back(count, count - ones, misses, rng)
        before = ones_before(misses + 1, mean, rng)
        while misses + 1 + before > count:
            before = ones_before(misses + 1, mean, rng)
        return Paid(misses + 1 + before, float(before), float(before))

    def most_paid(self) -> float:
        """Return 1."""
        return 1.0


@compilable
def taken_back(count: int, zeros: float, misses: int, rng: np.random.Generator) -> Paid:
    """Take pulls back from the end of a block until its last one is the zero at which to stop.

    Each of the orders in which they may have come is equally likely: the last is a zero with the share
    of zeros among them.
    """
    while True:
        if rng.random() * count < zeros:
            if zeros == misses + 1:
                return Paid(count, count - zeros, count - zeros)
            zeros -= 1.0
        count -= 1
