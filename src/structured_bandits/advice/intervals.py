"""Confidence in the mean of regrets, which are skew: many small ones and a few large ones.

Student's t is off for skew samples of this size: of 64 regrets of ModelTS with a skewness of 3.6 its
95 % interval misses the mean in 10 % of cases, nearly always from below. Hall's transformation of t
(1992, "On the removal of skewness by transformation") corrects for the estimated skewness, by a formula
that can be inverted; it misses in 6 %, and in 5 % from 96 regrets on (docs/design.md).
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.extras import needs

SMALL = 1e-9  # a skewness that corrects nothing


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
