"""Rewards in a range that are neither all nor nothing."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_above
from structured_bandits.base.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.protocols import Paid
from structured_bandits.worlds.world import Range, RangedWorld, checked_in_range, shares_of

LEAST_SPREAD = 1e-12  # with less the rewards are constant but for rounding


class _Bounded(NamedTuple):
    means: Floats
    shares: Floats  # of the range: the means of the Beta laws
    spread: float
    bottom: float
    top: float


class Bounded(RangedWorld, _Bounded):
    """Arm i pays a reward in `reward_range` with mean means[i], from a scaled Beta distribution.

    `spread`, above 0 and at most 1, is the variance as a share of the largest that rewards in the range
    with this mean can have, (high - mean) (mean - low). By default it is a quarter, so the deviation is
    half of what it is for rewards at the two ends of the range, which `spread=1` pays. The two
    parameters of the Beta distribution add up to 1 / spread - 1. The sum of several such rewards cannot
    be drawn at once, so the pulls of a block are drawn one by one, and long runs are slow.

    >>> Bounded([8, 7], reward_range=(0, 10), spread=0.1)
    Bounded([8., 7.], reward_range=(0.0, 10.0), spread=0.1)
    """

    def __new__(cls, means: Any, reward_range: Range = (0.0, 1.0), spread: float = 0.25) -> Bounded:
        """Check means, range and spread."""
        vector, (bottom, top) = checked_in_range(means, reward_range)
        share = checked_above("spread", spread, 0.0)
        if not LEAST_SPREAD <= share <= 1.0:
            raise ParameterError(f"spread={spread!r}: expected {LEAST_SPREAD:g} to 1")
        return super().__new__(cls, vector, shares_of(vector, bottom, top), share, bottom, top)

    @property
    def family(self) -> str:
        """Rewards in a range."""
        return "bounded"

    def noise(self) -> float:
        """Return sqrt(spread) times half the width of the range.

        A Beta(a, b) law is sub-Gaussian with sigma^2 = 1 / (4 (a + b + 1)), and a + b + 1 is 1 / spread
        (Marchal and Arbel, 2017).
        """
        return 0.5 * math.sqrt(self.spread) * (self.top - self.bottom)

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Pay `count` rewards, one by one."""
        total = 0.0
        squares = 0.0
        for _ in range(count):
            share = beta_share(self.shares[arm], self.spread, rng)
            reward = min(self.bottom + (self.top - self.bottom) * share, self.top)
            total += reward
            squares += reward * reward
        return Paid(count, total, squares)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, spread={self.spread:g})"


@compilable
def beta_share(mean: float, spread: float, rng: np.random.Generator) -> float:
    """Draw a number in [0, 1] with this mean and the variance spread * mean * (1 - mean)."""
    if mean <= 0.0 or mean >= 1.0:
        return mean
    if spread == 1.0:
        return 1.0 if rng.random() < mean else 0.0
    size = 1.0 / spread - 1.0
    return rng.beta(size * mean, size * (1.0 - mean))
