"""Rewards as hits and misses, and means as shares of their range: what models of each kind share."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.families import kl_bernoulli, kl_gaussian
from structured_bandits.inference.misfit.reward_likelihood import Counts
from structured_bandits.structures.reward_ranges import Rewards

SMOOTHING = 0.5  # of a success, and of a failure, added to each arm for an estimate


class InShares:
    """Mixin: the range of rewards, or the variance of Gaussian ones (0 if there is a range)."""

    bottom: float
    width: float
    variance: float

    def set_rewards(self, rewards: Rewards) -> None:
        """Note the kind of rewards."""
        bounded = math.isfinite(rewards.bottom)
        self.bottom, self.width = (
            (rewards.bottom, rewards.top - rewards.bottom) if bounded else (0.0, 1.0)
        )
        self.variance = 0.0 if bounded else rewards.sigma**2

    def counts(self, pulls: Ints | Floats, sums: Floats) -> Counts:
        """Return hits and misses; of Gaussian rewards sums and numbers."""
        if self.variance > 0.0:
            return Counts(sums, pulls.astype(float))
        hits = (sums - self.bottom * pulls) / self.width
        return Counts(np.clip(hits, 0.0, pulls), np.clip(pulls - hits, 0.0, None))

    def smoothed(self, counts: Counts) -> Counts:
        """Return half a success and half a failure more in each arm; Gaussian counts as they are."""
        if self.variance > 0.0:
            return counts
        return Counts(counts.first + SMOOTHING, counts.second + SMOOTHING)

    def shares(self, means: Floats) -> Floats:
        """Return means as shares of the range of rewards."""
        return (means - self.bottom) / self.width

    def means(self, shares: Floats) -> Floats:
        """Return what `shares` was given."""
        return self.bottom + self.width * shares


def log_likelihood_of(shares: Floats, counts: Counts, variance: float) -> float:
    """Return the log-likelihood of a model; -inf if it excludes what was seen."""
    first, second = counts
    if variance > 0.0:
        return float(((first - 0.5 * second * shares) * shares).sum()) / variance
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(first > 0.0, first * np.log(shares), 0.0)
        misses = np.where(second > 0.0, second * np.log1p(-shares), 0.0)
    return float((hits + misses).sum())


def divergences_from(means: Floats, rival: Floats, rewards: Rewards) -> Floats:
    """Return d(mean, rival's mean) in nats, number by number."""
    if not math.isfinite(rewards.bottom):
        return kl_gaussian(means, rival, rewards.sigma)
    width = rewards.top - rewards.bottom
    one, two = ((each - rewards.bottom) / width for each in (means, rival))
    return kl_bernoulli(one.clip(0.0, 1.0), two.clip(0.0, 1.0))


class PieceCell(NamedTuple):
    """A piece of a structure and an arm that is best in a part of it."""

    piece: int
    arm: int


class LikeliestModel(NamedTuple):
    """The likeliest model, and the piece that it is of."""

    shares: Floats
    piece: int
