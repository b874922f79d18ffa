"""Gamma functions of counts: the likelihood of rewards whose mean has a Beta law."""

from __future__ import annotations

import math

from structured_bandits.compilable import compilable

LARGE = 16.0  # from here on four terms of Stirling's series have all digits that a float holds


@compilable
def log_rising(x: float, more: float) -> float:
    """Return log Gamma(x + more) - log Gamma(x), for x > 0 and more >= 0.

    For large x by Stirling's series with the large terms cancelled by hand: log Gamma(10^9) is about
    2e10, and a difference of two such floats is off by some 1e-6.
    """
    if x < LARGE:
        return math.lgamma(x + more) - math.lgamma(x)
    tails = stirling_tail(x + more) - stirling_tail(x)
    return (x - 0.5) * math.log1p(more / x) + more * (math.log(x + more) - 1.0) + tails


@compilable
def stirling_tail(x: float) -> float:
    """Return what log Gamma(x) is above (x - 1/2) log x - x + log(2 pi) / 2, for large x."""
    r = 1.0 / (x * x)
    return (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / x
