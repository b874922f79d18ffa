"""An interval for a mean that may change: for what was gained, looked at as often as one likes.

Let x_1, x_2, … in [0, 1] have means p_1, p_2, … that may depend on all that came before, such as the
rewards of a policy that learns. With S the sum of n of them and the tilts TILTS, fixed beforehand,

    E_n(p) = mean over tilts of exp(tilt S - n log(1 - p + p e^tilt)),

and {p : E_n(p) < 1 / level} is an interval that holds the running mean (p_1 + … + p_n) / n at all times
n with probability at least 1 - level (docs/notes/mathematics.md 8.2).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats

#: Small tilts matter for many rewards: beyond some 10^7 the interval is wider than it could be.
TILTS = np.concatenate([-np.geomspace(0.003, 6.0, 40), np.geomspace(0.003, 6.0, 40)])
GROWTH = np.expm1(TILTS)
HALVINGS = 50


class Interval(NamedTuple):
    """An interval for the running mean."""

    low: float
    high: float


def running_mean_interval(
    total: float, count: int, level: float, reward_range: tuple[float, float] = (0.0, 1.0)
) -> Interval:
    """Return the interval after `count` rewards in a range with this sum.

    >>> low, high = running_mean_interval(240.0, 3_000, 0.05)
    >>> round(low, 3), round(high, 3)
    (0.064, 0.098)
    """
    bottom, top = reward_range
    if count == 0:
        return Interval(bottom, top)
    share = min(max((total / count - bottom) / (top - bottom), 0.0), 1.0)
    budget = math.log(1.0 / level)
    low, high = (_end(share, outside, count, budget) for outside in (0.0, 1.0))
    return Interval(bottom + (top - bottom) * low, bottom + (top - bottom) * high)


def _end(inside: float, outside: float, count: int, budget: float) -> float:
    """Return where the evidence against p reaches the budget between the mean and an end of [0, 1]."""
    mean = inside
    if _log_evidence(mean, outside, count) < budget:
        return outside
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        if _log_evidence(mean, middle, count) < budget:
            inside = middle
        else:
            outside = middle
    return outside


def _log_evidence(mean: float, p: float, count: int) -> float:
    """Return log E_n(p); it is convex in p, and at most 0 at the mean."""
    exponents: Floats = count * (TILTS * mean - np.log1p(p * GROWTH))
    top = float(exponents.max())
    return top + math.log(float(np.exp(exponents - top).mean()))
