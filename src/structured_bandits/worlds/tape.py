"""Rewards fixed in advance, for tests and for replaying records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.errors import ParameterError
from structured_bandits.protocols import Paid, Stop
from structured_bandits.worlds.world import World, checked_vector


class _Tape(NamedTuple):
    means: Floats
    totals: Floats  # arms x (length + 1): sums of the first k rewards
    squares: Floats  # and of their squares
    least: float
    most: float


class Tape(World, _Tape):
    """The k-th pull of arm i pays rewards[i, k].

    `means` (by default the average of each row) are used to compute regret. The sum of a block is a
    difference of running sums. This is exact for rewards whose sums are exact in floating point, such as
    0, 1 and other multiples of a power of two.
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
        if np.abs(table).max() > 1e150:
            raise ParameterError("rewards: expected numbers up to 1e150, whose squares are finite")
        vector = table.mean(axis=1) if means is None else checked_vector("means", means)
        if len(vector) != len(table):
            raise ParameterError(f"means: {len(vector)} for a tape of {len(table)} arms")
        least, most = float(table.min()), float(table.max())
        return super().__new__(cls, vector, _totals(table), _totals(table * table), least, most)

    @property
    def family(self) -> str:
        """Rewards of 0 and 1 if there are no others on the tape, bounded ones otherwise."""
        steps = np.diff(self.totals, axis=1)
        return "bernoulli" if ((steps == 0.0) | (steps == 1.0)).all() else "bounded"

    def reward_range(self) -> tuple[float, float]:
        """Return the least and the largest reward on the tape."""
        return self.least, self.most

    def noise(self) -> float:
        """Return 0: a tape is not random."""
        return 0.0

    def longest(self) -> int:
        """Return the length of the tape: any arm may be pulled each time."""
        return self.totals.shape[1] - 1

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Pay the next `count` rewards on the tape."""
        total = float(self.totals[arm, pulls + count] - self.totals[arm, pulls])
        squares = float(self.squares[arm, pulls + count] - self.squares[arm, pulls])
        return Paid(count, total, squares)

    def draw_until(
        self, arm: int, pulls: int, count: int, misses: int, rng: np.random.Generator
    ) -> Paid:
        """Read until there are more than `misses` rewards below the highest, at most `count`."""
        totals = self.totals[arm]
        made = 0
        while made < count and misses >= 0:
            if totals[pulls + made + 1] - totals[pulls + made] < self.most:
                misses -= 1
            made += 1
        return self.draw(arm, pulls, made, rng)

    def draw_while(self, arm: int, pulls: int, stop: Stop, rng: np.random.Generator) -> Paid:
        """Read until there are more misses or more gains than `stop` allows, or enough pulls."""
        totals = self.totals[arm]
        allowed = stop.misses + stop.spare
        made = misses = gains = 0
        while made < stop.length and misses <= allowed and gains <= stop.gains:
            reward = totals[pulls + made + 1] - totals[pulls + made]
            misses += reward < self.most
            allowed += stop.earned if reward >= self.most else 0.0
            gains += reward > self.least
            made += 1
        return self.draw(arm, pulls, made, rng)

    def least_paid(self) -> float:
        """Return the least reward on the tape."""
        return self.least

    def most_paid(self) -> float:
        """Return the largest reward on the tape."""
        return self.most


def _totals(table: Floats) -> Floats:
    """Return the sums of the first k numbers of each row, k from 0."""
    totals = np.zeros((table.shape[0], table.shape[1] + 1))
    np.cumsum(table, axis=1, out=totals[:, 1:])
    return totals
