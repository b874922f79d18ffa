"""The logarithm of a Beta density against 50 digits."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from structured_bandits.lookahead.beta_density import deviance, log_beta_density, stirling_error

MP = mp.mp.clone()
MP.dps = 50


def exactly(y: float, a: float, b: float) -> mp.mpf:
    p, q, x = MP.mpf(a), MP.mpf(b), MP.mpf(y)
    normaliser = MP.loggamma(p) + MP.loggamma(q) - MP.loggamma(p + q)
    return (p - 1) * MP.log(x) + (q - 1) * MP.log1p(-x) - normaliser


@pytest.mark.parametrize("whole", [True, False])
def test_up_to_a_hundred_million_counts(whole: bool) -> None:
    rng = np.random.default_rng(8)
    large = 0
    for number in range(1500):
        counts = 10.0 ** rng.uniform(0.0, 8.0)
        near_end = 10.0 ** -rng.uniform(0.0, 6.0)
        mean = [rng.random(), near_end, 1.0 - near_end][number % 3]
        a, b = 1.0 + counts * mean, 1.0 + counts * (1.0 - mean)
        if whole:
            a, b = round(a), round(b)
        middle = a / (a + b)
        y = middle + rng.uniform(-12.0, 12.0) * (middle * (1.0 - middle) / (a + b + 1.0)) ** 0.5
        if not 0.0 < y < 1.0:
            y = rng.random()
        wanted = exactly(y, a, b)
        assert abs(log_beta_density(y, a, b) - wanted) <= 1e-11 * (1 + abs(wanted)), (y, a, b)
        large += counts > 1e7
    assert large > 100


@pytest.mark.parametrize("y", [1e-12, 0.25, 0.5, 1.0 - 2.0**-40])
def test_laws_at_the_edge(y: float) -> None:
    for a, b in ((1.0, 1.0), (1.0, 7.5), (7.5, 1.0), (1e8, 1.0), (1.0 + 1e-9, 1.5)):
        wanted = exactly(y, a, b)
        assert abs(log_beta_density(y, a, b) - wanted) <= 1e-11 * (1 + abs(wanted)), (a, b)


def test_pieces() -> None:
    for n in (1e-9, 0.3, 1.0, 15.9, 16.0, 1e4, 1e15):
        x = MP.mpf(n)
        wanted = MP.loggamma(x + 1) - (x + MP.mpf(1) / 2) * MP.log(x) + x - MP.log(2 * MP.pi) / 2
        assert abs(stirling_error(n) - wanted) <= 1e-14 * (1 + abs(wanted)), n
    for count, expected in (
        (3.0, 0.1),
        (1e8, 1e8 - 1e4),
        (1e8, 1e8 + 1.0),
        (5.0, 5.0),
        (2.0, 52.0),
    ):
        x, m = MP.mpf(count), MP.mpf(expected)
        wanted = x * MP.log(x / m) - (x - m)
        found = deviance(count, expected, count - expected)
        assert abs(found - wanted) <= 1e-15 * (wanted + abs(found)), (count, expected)
