"""Negative binomial numbers without memory of their own.

NumPy's generator has them, and Numba compiles that method, but its code takes memory, which plans in
compiled code do without (simulation/engine.py). So the same two steps, a Poisson number whose mean is a
gamma number, with Hörmann's rejection for the Poisson number.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.compilable import compilable
from structured_bandits.draws import draw_gamma


@compilable
def ones_before(zeros: int, mean: float, rng: np.random.Generator) -> int:
    """Draw the number of ones before zero number `zeros` among rewards of 0 and 1 with this mean."""
    return poisson(mean / (1.0 - mean) * draw_gamma(float(zeros), rng), rng)


@compilable
def poisson(mean: float, rng: np.random.Generator) -> int:
    """Draw a Poisson number."""
    return _by_rejection(mean, rng) if mean >= 10.0 else _by_product(mean, rng)


@compilable
def _by_product(mean: float, rng: np.random.Generator) -> int:
    """Count how many uniform numbers can be multiplied before the product is below exp(-mean)."""
    least = math.exp(-mean)
    count = 0
    product = rng.random()
    while product > least:
        count += 1
        product *= rng.random()
    return count


@compilable
def _by_rejection(mean: float, rng: np.random.Generator) -> int:
    """Hörmann's transformed rejection with squeeze (PTRS, 1993), for means of at least 10."""
    log_mean = math.log(mean)
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    surely = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = rng.random() - 0.5
        v = 1.0 - rng.random()  # above 0
        near = 0.5 - abs(u)
        count = math.floor((2.0 * a / near + b) * u + mean + 0.43)
        if near >= 0.07 and v <= surely:
            return int(count)
        if count < 0 or (near < 0.013 and v > near):
            continue
        accepted = count * log_mean - mean - math.lgamma(count + 1.0)
        if math.log(v * inverse_alpha / (a / (near * near) + b)) <= accepted:
            return int(count)
