"""The logarithm of a Beta density, to 11 digits after the point also for 10^8 counts.

The three log-gammas of the textbook are of size n log n and cancel: with 10^8 counts seven digits are
left. Loader's way ("Fast and accurate computation of binomial probabilities", 2000) splits each into
Stirling's formula, which cancels by hand, its small error, and the deviance of the counts from what
they are expected to be, which has a series where it is small (docs/notes/lookahead.md 19.1).
"""

from __future__ import annotations

import math

from structured_bandits.base.compilable import compilable

LOG_TWO_PI = math.log(2.0 * math.pi)
SPLITTER = 2.0**27 + 1.0  # cuts a float into two halves whose products are exact


@compilable
def stirling_error(n: float) -> float:
    """Return log(n!) less Stirling's log(sqrt(2 pi n) (n / e)^n), for n > 0, whole or not."""
    if n < 16.0:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * LOG_TWO_PI
    r = 1.0 / (n * n)
    tail = 1.0 / 1260.0 - (1.0 / 1680.0 - r / 1188.0) * r
    return (1.0 / 12.0 - (1.0 / 360.0 - tail * r) * r) / n


@compilable
def deviance(count: float, expected: float, excess: float) -> float:
    """Return count log(count / expected) - excess for positive numbers with excess = count - expected.

    The excess is given too, since it may be known to more digits than the difference has.
    """
    ratio = excess / (count + expected)
    if abs(ratio) >= 0.1:
        return count * math.log(count / expected) - excess
    square = ratio * ratio
    term = 2.0 * count * ratio * square
    total = excess * ratio
    divisor = 3.0
    while total + term / divisor != total:
        total += term / divisor
        term *= square
        divisor += 2.0
    return total


@compilable
def excess_count(ones: float, zeros: float, y: float) -> float:
    """Return ones - (ones + zeros) y, with the rounding errors of sum and product taken out.

    They are what the floats nearest to them leave over (Knuth's sum, Dekker's product).
    """
    n = ones + zeros
    without = n - ones
    sum_error = (ones - (n - without)) + (zeros - without)
    product = n * y
    cut = SPLITTER * n
    n_high = cut - (cut - n)
    cut = SPLITTER * y
    y_high = cut - (cut - y)
    n_low, y_low = n - n_high, y - y_high
    error = ((n_high * y_high - product) + n_high * y_low + n_low * y_high) + n_low * y_low
    return (ones - product) - (error + sum_error * y)


@compilable
def log_beta_density(y: float, a: float, b: float) -> float:
    """Return the logarithm of the density of Beta(a, b) at 0 < y < 1, for a, b >= 1."""
    ones, zeros = a - 1.0, b - 1.0
    n = ones + zeros
    if ones == 0.0:
        return math.log1p(n) + n * math.log1p(-y)
    if zeros == 0.0:
        return math.log1p(n) + n * math.log(y)
    excess = excess_count(ones, zeros, y)
    errors = stirling_error(n) - stirling_error(ones) - stirling_error(zeros)
    misfit = deviance(ones, n * y, excess) + deviance(zeros, n * (1.0 - y), -excess)
    return math.log1p(n) + errors - misfit - 0.5 * (LOG_TWO_PI + math.log(ones / n * zeros))
