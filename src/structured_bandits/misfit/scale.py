"""How likely rewards are, arm by arm, as functions of two numbers.

- Rewards in a range, scaled to [0, 1]: a reward x counts as x hits and 1 - x misses, and the likelihood
  of a mean q is q^hits (1 - q)^misses. Its mixture over all means, with the weights of the law
  Beta(1/2, 1/2), is B(hits + 1/2, misses + 1/2) / B(1/2, 1/2) (Krichevsky and Trofimov).
- Gaussian rewards, and others that are sub-Gaussian with `sigma`: the two numbers are the sum S of the
  rewards and their number T, and the likelihood is exp((S q - T q^2 / 2) / sigma^2) up to a factor that
  no mean has an influence on. The mixture is over means q of the law Normal(centre, sigma^2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.compilable import compilable
from structured_bandits.records import Record

#: Shares of the pulls below this count as no hits (or no misses): sums of rewards are rounded.
ROUNDED = 1e-10


class _RewardScale(NamedTuple):
    gaussian: bool
    bottom: float
    width: float
    sigma: float
    centres: Floats  # of the mixtures of Gaussian rewards, a number for each arm; otherwise none


class RewardScale(Record, _RewardScale):
    """The range of the rewards, or their sigma if they have none."""


def reward_scale(
    bottom: float, top: float, sigma: float, ranges: Callable[[], Floats]
) -> RewardScale:
    """Return the scale for rewards of a policy.

    `ranges` tells the means of each arm (arms x 2). It is asked for Gaussian rewards only.
    """
    if math.isfinite(bottom):
        return RewardScale(False, bottom, top - bottom, sigma, np.empty(0))
    ends = np.clip(ranges(), -1e100, 1e100)  # a polytope without bounds has infinite ones
    return RewardScale(True, 0.0, 1.0, sigma, 0.5 * (ends[:, 0] + ends[:, 1]))


@compilable
def reward_counts(scale: RewardScale, pulls: int, total: float) -> tuple[float, float]:
    """Return hits and misses; of Gaussian rewards their sum and their number."""
    if scale.gaussian:
        return total, float(pulls)
    hits = (total - scale.bottom * pulls) / scale.width
    misses = pulls - hits
    if hits < ROUNDED * pulls:
        return 0.0, float(pulls)
    if misses < ROUNDED * pulls:
        return float(pulls), 0.0
    return hits, misses


@compilable
def log_mixture(scale: RewardScale, arm: int, first: float, second: float) -> float:
    """Return the logarithm of the likelihood of one arm's rewards if nothing is known of its mean."""
    if not scale.gaussian:
        spread = math.lgamma(first + 0.5) + math.lgamma(second + 0.5)
        return spread - math.lgamma(first + second + 1.0) - math.log(math.pi)
    centre, variance = scale.centres[arm], scale.sigma * scale.sigma
    off = first - second * centre
    known = 1.0 + second  # the mixture is worth one pull
    at_centre = (first - 0.5 * second * centre) * centre / variance
    return at_centre + 0.5 * off * off / (variance * known) - 0.5 * math.log(known)


@compilable
def log_likelihood(scale: RewardScale, mean: float, first: float, second: float) -> float:
    """Return the logarithm of the likelihood of a mean; -inf if it excludes what was seen."""
    if scale.gaussian:
        return (first - 0.5 * second * mean) * mean / (scale.sigma * scale.sigma)
    if first == 0.0 and second == 0.0:
        return 0.0  # nothing was seen
    share = (mean - scale.bottom) / scale.width
    if share < 0.0 or share > 1.0 or (share == 0.0 and first > 0.0):
        return -math.inf
    if share == 1.0:
        return 0.0 if second == 0.0 else -math.inf
    ones = first * math.log(share) if first > 0.0 else 0.0
    return ones + second * math.log1p(-share)
