"""Numbers for the table: mean, 95 % quantile and worst truth, each with a 95 % interval.

Regrets are skew: many small ones and a few large ones. Student's t is off for skew samples of this size:
of 64 regrets of ModelTS with a skewness of 3.6 its 95 % interval misses the mean in 10 % of cases,
nearly always from below. Hall's transformation of t (1992, "On the removal of skewness by
transformation") corrects for the estimated skewness, by a formula that can be inverted; it misses in
6 %, and in 5 % from 96 regrets on (docs/notes/decisions.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.advice.truths import NamedTruth
from structured_bandits.base.arrays import Floats
from structured_bandits.base.extras import needs

QUANTILE = 0.95
COVERAGE = 0.95
SMALL = 1e-9  # a skewness that corrects nothing


class Estimate(NamedTuple):
    """A value with an interval; an end is None where the runs say nothing of it."""

    value: float
    low: float | None
    high: float | None


class Worst(NamedTuple):
    """The truth that costs most, and what it costs."""

    truth: str
    regret: Estimate


class Estimates(NamedTuple):
    """What runs say of a candidate that they did not choose."""

    runs: int
    mean: Estimate
    quantile: Estimate
    worst: Worst
    wrong: dict[str, Estimate]  # by how much each mean is off


def mean_of(samples: Floats) -> Estimate:
    """Return the mean with its interval, which is longer to the side of the large regrets."""
    mean = float(samples.mean())
    if len(samples) < 2:
        return Estimate(mean, None, None)
    tail = 0.5 * (1.0 - COVERAGE)
    return Estimate(mean, end_of_mean(samples, 1.0 - tail), end_of_mean(samples, tail))


def quantile_of(samples: Floats) -> Estimate:
    """Return the 95 % quantile with the interval of order statistics, whatever the law.

    The number of samples below the quantile is binomial: ranks that it leaves with probability at most
    1/40 on either side are the ends. With fewer than 72 samples there is no upper one.
    """
    with needs("sb.advise", extra="simulate"):
        from scipy.special import bdtr

    ordered = np.sort(samples)
    count = len(ordered)
    below = bdtr(np.arange(count + 1), count, QUANTILE)  # of k samples or fewer below the quantile
    tail = 0.5 * (1.0 - COVERAGE)
    low = int(np.searchsorted(below, tail, side="right"))  # P(fewer than `low` below) <= tail
    high = int(np.searchsorted(below, 1.0 - tail, side="left")) + 1
    return Estimate(
        float(np.quantile(ordered, QUANTILE)),
        float(ordered[low - 1]) if low >= 1 else None,
        float(ordered[high - 1]) if high <= count else None,
    )


def worst_of(trials: list[NamedTruth], regrets: list[Floats]) -> Worst:
    """Return the worst truth: found on every other run, estimated on the rest.

    The largest of several means is too large on the runs that made it the largest.
    """
    finding = [float(each[::2].mean()) for each in regrets]
    place = int(np.argmax(finding))
    return Worst(trials[place].name, mean_of(regrets[place][1::2]))


def end_of_mean(samples: Floats, probability: float) -> float:
    """Return a number that the mean exceeds with this probability, approximately.

    >>> sample = np.array([1.0, 2.0, 3.0, 4.0])
    >>> end_of_mean(sample, 0.5), round(end_of_mean(sample, 0.975), 3)
    (2.5, 0.446)
    """
    with needs("An interval", extra="simulate"):
        from scipy.special import stdtrit

    runs, mean, spread = len(samples), float(samples.mean()), float(samples.std())
    if spread <= 0.0:
        return mean
    error = spread / math.sqrt(runs - 1)
    skewness = float(np.mean(((samples - mean) / spread) ** 3)) / math.sqrt(runs)
    t = float(stdtrit(runs - 1, probability))
    if abs(skewness) > SMALL:
        t = 3.0 * float(np.cbrt(1.0 + skewness * (t - skewness / 6.0)) - 1.0) / skewness
    return mean - error * t
