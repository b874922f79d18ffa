"""Worlds whose means change, in jumps or steadily; they pay 0 and 1, or the ends of a range."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_range
from structured_bandits.errors import ParameterError
from structured_bandits.protocols import Paid
from structured_bandits.worlds.bernoulli import paid_for
from structured_bandits.worlds.world import CoinWorld, Range


class _Changing(NamedTuple):
    means: Floats  # of each arm at the first pull
    rows: Floats  # means from time to time (rows x arms)
    times: Ints  # before which pull each row holds, the first at 0
    bottom: float
    top: float


class Changing(CoinWorld, _Changing):
    """Mixin of worlds whose means change; a simulation plays them pull by pull.

    Regret is against the arm that is best at the moment.
    """

    @abstractmethod
    def mean_at(self, arm: int, t: int) -> float:
        """Return the mean of an arm after t pulls."""

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Refuse: what an arm pays depends on when it is pulled."""
        raise ParameterError("a world that changes says what it pays by `draw_at`, not by `draw`")

    def draw_at(self, arm: int, t: int, rng: np.random.Generator) -> Paid:
        """Return what a pull of an arm pays after t pulls."""
        share = (self.mean_at(arm, t) - self.bottom) / (self.top - self.bottom)
        return paid_for(1, 1.0 if rng.random() < share else 0.0, self.bottom, self.top)

    def __repr__(self) -> str:
        rows = np.array2string(self.rows, precision=4, separator=", ", threshold=8)
        more = "" if self.reward_range() == (0.0, 1.0) else f", reward_range={self.reward_range()}"
        at = [t for t in self.times.tolist() if t or type(self) is Drifting]
        return f"{type(self).__name__}({rows}, at={at}{more})"


class Piecewise(Changing):
    """Means that jump: row k of `means` holds from pull `at[k - 1]` on, the first from the beginning.

    Arm i pays 1 with the probability that is its mean at the moment, else 0; with another `reward_range`
    the high end or the low end.

    >>> Piecewise([[0.8, 0.3], [0.2, 0.7]], at=[5000])
    Piecewise([[0.8, 0.3],
     [0.2, 0.7]], at=[5000])
    """

    def __new__(cls, means: Any, at: Any, reward_range: Range = (0.0, 1.0)) -> Piecewise:
        """Check the means and when they change."""
        rows, ends = _checked_rows(means, reward_range)
        times = _checked_times(at, len(rows) - 1)
        if len(times) and times[0] == 0:
            raise ParameterError(
                f"at={at!r}: the first row of means holds from pull 0; begin later"
            )
        starts = np.concatenate([np.zeros(1, np.int64), times])
        return super().__new__(cls, rows[0].copy(), rows, starts, *ends)

    def mean_at(self, arm: int, t: int) -> float:
        """Return the mean of an arm after t pulls."""
        row = len(self.times) - 1
        while self.times[row] > t:
            row -= 1
        return float(self.rows[row, arm])


class Drifting(Changing):
    """Means that move steadily: row k of `means` holds at pull `at[k]`, straight lines lie in between.

    `at` begins with 0; after its last number means stay. Rewards are as those of `Piecewise`.

    >>> world = Drifting([[0.8, 0.3], [0.2, 0.7]], at=[0, 1000])
    >>> world.mean_at(0, 500), world.mean_at(0, 5000)
    (0.5, 0.2)
    """

    def __new__(cls, means: Any, at: Any, reward_range: Range = (0.0, 1.0)) -> Drifting:
        """Check the means and when they hold."""
        rows, ends = _checked_rows(means, reward_range)
        times = _checked_times(at, len(rows))
        if times[0] != 0:
            raise ParameterError(f"at={at!r}: expected 0 as the first time")
        return super().__new__(cls, rows[0].copy(), rows, times, *ends)

    def mean_at(self, arm: int, t: int) -> float:
        """Return the mean of an arm after t pulls."""
        row = len(self.times) - 1
        if t >= self.times[row]:
            return float(self.rows[row, arm])
        while self.times[row] > t:
            row -= 1
        share = (t - self.times[row]) / (self.times[row + 1] - self.times[row])
        return float(self.rows[row, arm] + share * (self.rows[row + 1, arm] - self.rows[row, arm]))


def _checked_rows(means: Any, reward_range: Any) -> tuple[Floats, Range]:
    """Return means as rows x arms that rewards in the range can have, and the range."""
    low, high = checked_range("reward_range", reward_range)
    try:
        rows = np.array(means, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        rows = np.zeros(0)
    if rows.ndim != 2 or not rows.size:
        raise ParameterError(f"means={means!r}: expected rows of means, one number for each arm")
    if not (np.isfinite(rows).all() and low <= rows.min() and rows.max() <= high):
        raise ParameterError(
            f"means={rows.tolist()}: expected means in [{low:g}, {high:g}], where the rewards lie"
        )
    return rows, (low, high)


def _checked_times(at: Any, count: int) -> Ints:
    """Return so many rising numbers of pulls."""
    times = np.array(at)
    whole = times.ndim == 1 and (times.size == 0 or np.issubdtype(times.dtype, np.integer))
    if not whole or len(times) != count or (count and times[0] < 0) or (np.diff(times) <= 0).any():
        raise ParameterError(f"at={at!r}: expected {count} rising whole numbers of pulls, from 0")
    return times.astype(np.int64)
