"""The divergence of two coins, and its inverses to the last bits: KL intervals and KL-UCB indices.

d(x, q) is the divergence of rewards of 0 and 1 with means x and q. `families.kl_bernoulli` is the same
function for arrays; these run in compiled plans. Both inverses by Newton's method from a side on which
d(x, .) is convex: the steps go towards the root and never beyond it, so they end when rounding stops
them, without a tolerance (docs/notes/lookahead.md 16.1).
"""

from __future__ import annotations

import math

from structured_bandits.base.compilable import compilable

BELOW_ONE = 1.0 - 2.0**-53  # the largest number below 1


@compilable
def coin_divergence(x: float, q: float) -> float:
    """Return d(x, q) for x and q in [0, 1]; infinite where q excludes an outcome that x allows.

    With e = q - x as -x log(1 + e / x) - (1 - x) log(1 - e / (1 - x)), which stays accurate for close
    x and q, where the textbook's quotients have lost their digits; each quotient serves where q, or
    1 - q, is less than half of x, or 1 - x.
    """
    if x <= 0.0:
        return math.inf if q >= 1.0 else -math.log1p(-q)
    if x >= 1.0:
        return math.inf if q <= 0.0 else -math.log(q)
    if q <= 0.0 or q >= 1.0:
        return math.inf
    e = q - x
    rest = 1.0 - x
    ones = math.log1p(e / x) if e > -0.5 * x else math.log(q / x)
    zeros = math.log1p(-e / rest) if e < 0.5 * rest else math.log((1.0 - q) / rest)
    return max(-x * ones - rest * zeros, 0.0)


@compilable
def negative_entropy(x: float) -> float:
    """Return x log x + (1 - x) log(1 - x) for 0 < x < 1."""
    return x * math.log(x) + (1.0 - x) * math.log1p(-x)


@compilable
def kl_upper(x: float, b: float) -> float:
    """Return the largest q with d(x, q) <= b, at most 1.

    Newton's method starts where d is at least b: at x + sqrt(b / 2), by Pinsker's inequality, or where
    the term of 1 - x alone is, whichever is less.
    """
    if b <= 0.0:
        return x
    if x >= 1.0:
        return 1.0
    if x <= 0.0:
        return -math.expm1(-b)
    ceiling = -math.expm1(-(b - negative_entropy(x)) / (1.0 - x))
    q = min(x + math.sqrt(0.5 * b), ceiling)
    if q >= BELOW_ONE:
        return BELOW_ONE
    while q > x:
        lower = q - (coin_divergence(x, q) - b) * q * (1.0 - q) / (q - x)
        if not lower < q:
            return q
        q = lower
    return x


@compilable
def kl_lower(x: float, b: float) -> float:
    """Return the least q with d(x, q) <= b, at least 0: the mirror image of `kl_upper`."""
    if b <= 0.0:
        return x
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return math.exp(-b)
    q = max(x - math.sqrt(0.5 * b), math.exp(-(b - negative_entropy(x)) / x))
    while 0.0 < q < x:
        higher = q - (coin_divergence(x, q) - b) * q * (1.0 - q) / (q - x)
        if not higher > q:
            return q
        q = higher
    return min(max(q, 0.0), x)
