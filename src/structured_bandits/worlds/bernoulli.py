"""Rewards of 0 and 1, or of the low and the high end of another range."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.draws import draw_binomial
from structured_bandits.protocols import Paid, Stop
from structured_bandits.worlds.stopped_coins import Coin, run_scales, stopped_coins
from structured_bandits.worlds.world import CoinWorld, Range, checked_in_range, shares_of


class _Bernoulli(NamedTuple):
    means: Floats
    shares: Floats  # the probabilities of the high reward
    high_runs: (
        Floats  # what runs of high rewards are drawn by, and those of low ones (`run_scales`)
    )
    low_runs: Floats
    bottom: float
    top: float


class Bernoulli(CoinWorld, _Bernoulli):
    """Arm i pays 1 with probability means[i], else 0; a block is one binomial draw.

    With another `reward_range` it pays the high end or the low end, so that its mean is means[i].

    >>> Bernoulli([0.8, 0.7])
    Bernoulli([0.8, 0.7])
    >>> Bernoulli([8, 7], reward_range=(0, 10))
    Bernoulli([8., 7.], reward_range=(0.0, 10.0))
    """

    def __new__(cls, means: Any, reward_range: Range = (0.0, 1.0)) -> Bernoulli:
        """Check the means."""
        vector, (bottom, top) = checked_in_range(means, reward_range)
        shares = shares_of(vector, bottom, top)
        return super().__new__(cls, vector, shares, *run_scales(shares), bottom, top)

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Pay `count` rewards: a single one by one uniform, more by a binomial."""
        return paid_for(count, high_rewards(self.shares[arm], count, rng), self.bottom, self.top)

    def draw_until(
        self, arm: int, pulls: int, count: int, misses: int, rng: np.random.Generator
    ) -> Paid:
        """Pull until there are more than `misses` low rewards, at most `count` times."""
        return self.draw_while(arm, pulls, Stop(count, misses, count, 0.0, 0.0), rng)

    def draw_while(self, arm: int, pulls: int, stop: Stop, rng: np.random.Generator) -> Paid:
        """Pull until there are more low or more high rewards than `stop` allows, or enough pulls."""
        coin = Coin(self.shares[arm], self.high_runs[arm], self.low_runs[arm])
        made, ones = stopped_coins(coin, stop, rng)
        return paid_for(made, float(ones), self.bottom, self.top)

    def least_paid(self) -> float:
        """Return the low end of the range."""
        return self.bottom

    def most_paid(self) -> float:
        """Return the high end of the range."""
        return self.top


@compilable
def high_rewards(share: float, count: int, rng: np.random.Generator) -> float:
    """Draw how many of `count` rewards are the high one, which comes with probability `share`."""
    if count == 1:
        return 1.0 if rng.random() < share else 0.0
    return float(draw_binomial(share, count, rng))


@compilable
def paid_for(count: int, ones: float, bottom: float, top: float) -> Paid:
    """Return what `count` pulls pay of which `ones` pay the high reward."""
    zeros = count - ones
    total, squares = zeros * bottom + ones * top, zeros * (bottom * bottom) + ones * (top * top)
    return Paid(count, total, squares)
