"""Likelihoods of rewards, arm by arm, as functions of two numbers.

- Rewards in a range, scaled to [0, 1]: a reward x counts as x hits and 1 - x misses, and the likelihood
  of a mean q is q^hits (1 - q)^misses. Its mixture over all means, with the weights of the law
  Beta(1/2, 1/2), is B(hits + 1/2, misses + 1/2) / B(1/2, 1/2) (Krichevsky and Trofimov).
- Gaussian rewards, and others that are sub-Gaussian with `sigma`: the two numbers are the sum S of the
  rewards and their number T, and the likelihood is exp((S q - T q^2 / 2) / sigma^2) up to a factor that
  no mean has an influence on. The mixture is over means q of the law Normal(centre, sigma^2).

Mixtures are there twice: of one arm (`log_mixture`), and of whole tables of runs (`log_mixtures`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.records import Record

#: Shares of the pulls below this count as no hits (or no misses): sums of rewards are rounded.
ROUNDED = 1e-10
MOST_ROUNDED = 0.01  # hits: of very many pulls, what is more may be true ones
LARGE = 8  # from here on the terms of the series give all digits of what Stirling's formula leaves
SERIES = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
)  # of 1/x, 1/x^3, ...
BEFORE_ALL = 0.5 * math.log(2.0 / math.pi)


class _RewardScale(NamedTuple):
    gaussian: bool
    bottom: float
    width: float
    sigma: float
    centres: Floats  # of the mixtures of Gaussian rewards, a number for each arm; otherwise none


class RewardScale(Record, _RewardScale):
    """The range of the rewards, or their sigma if they have none."""


class Counts(NamedTuple):
    """Hits and misses of each arm (of Gaussian rewards sums and pulls)."""

    first: Floats
    second: Floats


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
    rounding = min(ROUNDED * pulls, MOST_ROUNDED)
    if hits < rounding:
        return 0.0, float(pulls)
    if misses < rounding:
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


def log_mixtures(scale: RewardScale, counts: Counts) -> Floats:
    """Return what `log_mixture` does, for whole tables (runs x arms), but for rounding."""
    first, second = counts
    if not scale.gaussian:
        return _beta_mixtures(first, second)
    centre, variance = scale.centres, scale.sigma * scale.sigma
    off = first - second * centre
    known = 1.0 + second
    at_centre = (first - 0.5 * second * centre) * centre / variance
    return at_centre + 0.5 * off * off / (variance * known) - 0.5 * np.log(known)


def _beta_mixtures(hits: Floats, misses: Floats) -> Floats:
    """Return the same for hits h and misses m; of nothing 0, without what rounding would make of it.

    With n = h + m the mixture is B(h + 1/2, m + 1/2) / pi. By Stirling's formula its logarithm is

        h log((h + 1/2) / (n + 1)) + m log((m + 1/2) / (n + 1)) - log(n + 1) / 2 + log(2 / pi) / 2
            + r(h + 1/2) + r(m + 1/2) - r(n + 1),

    where r(x) is what the formula for log Gamma(x) leaves, about 1/(12 x). Unlike in the difference of
    three logarithms of Gamma, which are larger than the result by a factor log n, little is lost to
    rounding. Each number is computed from its own arm and run alone, so it does not depend on the others
    beside it.
    """
    points = np.stack([hits + 0.5, misses + 0.5, hits + misses + 1.0])
    above_hits, above_misses, above_all = _left_by_stirling(points)
    whole = points[2]
    likely = hits * np.log(points[0] / whole) + misses * np.log(points[1] / whole)
    spread = BEFORE_ALL - 0.5 * np.log(whole) + (above_hits + above_misses - above_all)
    return np.where(whole == 1.0, 0.0, likely + spread)


def _left_by_stirling(points: Floats) -> Floats:
    """Return log Gamma(x) - (x - 1/2) log x + x - log(2 pi) / 2 of each number x from 1/2 on."""
    left = _series(points)
    small = np.flatnonzero(points < LARGE)
    if len(small):
        x = points.ravel()[small]
        far = x + LARGE
        product = x.copy()
        for step in range(1, LARGE):  # to Gamma(far) / Gamma(x)
            product *= x + step
        moved = (far - 0.5) * np.log(far) - (x - 0.5) * np.log(x) - LARGE - np.log(product)
        left.ravel()[small] = _series(far) + moved
    return left


def _series(points: Floats) -> Floats:
    inverse = 1.0 / points
    square = inverse * inverse
    total = np.full_like(points, SERIES[-1])
    for factor in SERIES[-2::-1]:
        total *= square
        total += factor
    return total * inverse
