"""How likely the rewards of many runs are if nothing is known, arm by arm (`scale.log_mixture`).

For hits h and misses m, n = h + m, the mixture is B(h + 1/2, m + 1/2) / pi. By Stirling's formula its
logarithm is

    h log((h + 1/2) / (n + 1)) + m log((m + 1/2) / (n + 1)) - log(n + 1) / 2 + log(2 / pi) / 2
        + r(h + 1/2) + r(m + 1/2) - r(n + 1),

where r(x) is what the formula for log Gamma(x) leaves, about 1/(12 x). Unlike in the difference of three
logarithms of Gamma, which are larger than the result by a factor log n, little is lost to rounding. Each
number is computed from its own arm and run alone, so it does not depend on the others beside it.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.misfit.likeliest import Counts
from structured_bandits.misfit.scale import RewardScale

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
    """Return the same for hits and misses; of nothing 0, without what rounding would make of it."""
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
