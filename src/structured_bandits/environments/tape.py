"""Rewards fixed in advance, for tests and for replaying records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.environments.base import World, checked_vector
from structured_bandits.errors import ParameterError


class _Tape(NamedTuple):
    means: Floats
    totals: Floats  # arms x (length + 1): sums of the first k rewards
    least: float
    most: float


class Tape(World, _Tape):
    """The k-th pull of arm i pays rewards[i, k].

    `means` (default: the average of each row) serve to compute regret. Blocks are differences of
    running sums: exact for rewards whose sums are, such as 0/1 and other multiples of a power of two.
    """

    def __new__(cls, rewards: Any, means: Any = None) -> Tape:
        """Check the rewards: arms x length."""
        try:
            table = np.array(rewards, dtype=np.float64, order="C")
        except (TypeError, ValueError):
            raise ParameterError("rewards: expected a table of arms × length") from None
        if table.ndim != 2 or 0 in table.shape or not np.isfinite(table).all():
            raise ParameterError(
                f"rewards: shape {table.shape}; expected finite numbers, arms × length"
            )
        vector = table.mean(axis=1) if means is None else checked_vector("means", means)
        if len(vector) != len(table):
            raise ParameterError(f"means: {len(vector)} for a tape of {len(table)} arms")
        totals = np.zeros((table.shape[0], table.shape[1] + 1))
        np.cumsum(table, axis=1, out=totals[:, 1:])
        return super().__new__(cls, vector, totals, float(table.min()), float(table.max()))

    def reward_range(self) -> tuple[float, float]:
        """Return the least and the largest reward on the tape."""
        return self.least, self.most

    def noise(self) -> float:
        """Return 0: a tape is not random."""
        return 0.0

    def longest(self) -> int:
        """Return the length of the tape: any arm may be pulled each time."""
        return self.totals.shape[1] - 1

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> float:
        """Return the sum of the next `count` rewards on the tape."""
        return float(self.totals[arm, pulls + count] - self.totals[arm, pulls])

    def draw_until(
        self, arm: int, pulls: int, count: int, misses: int, rng: np.random.Generator
    ) -> tuple[int, float]:
        """Read until there are more than `misses` rewards below the highest, at most `count`."""
        totals = self.totals[arm]
        made = 0
        while made < count and misses >= 0:
            if totals[pulls + made + 1] - totals[pulls + made] < self.most:
                misses -= 1
            made += 1
        return made, float(totals[pulls + made] - totals[pulls])
