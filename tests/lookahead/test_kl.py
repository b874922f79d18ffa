"""The divergence of coins and its inverses, against numbers of 60 digits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest

from structured_bandits.base.families import kl_bernoulli
from structured_bandits.base.kl import BELOW_ONE, coin_divergence, kl_lower, kl_upper

MP = mpmath.MPContext()
MP.dps = 60


def divergence(x: float, q: Any) -> Any:
    """The definition, for q > 0."""
    if q >= 1 and x < 1.0:
        return MP.inf
    ones = x * MP.log(MP.mpf(x) / q) if x > 0.0 else MP.mpf(0)
    return ones + ((1 - MP.mpf(x)) * MP.log((1 - MP.mpf(x)) / (1 - q)) if x < 1.0 else 0)


def points(seed: int, count: int) -> Iterator[tuple[float, float]]:
    """Means x near 0, in the middle and near 1; budgets b from 1e-12 to 200."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        x = (10.0 ** rng.uniform(-9, -0.3), rng.random(), 1.0 - 10.0 ** rng.uniform(-6, -0.3))
        yield float(x[number % 3]), float(10.0 ** rng.uniform(-12, math.log10(200.0)))


GOLDEN = [
    (0.1, 0.2, 0.378391548848),
    (0.5, 0.2, 0.787088816381),
    (0.9, 0.2, 0.994489489379),
    (0.1, 0.4, 0.519475531763),
    (0.9, 0.4, 0.999285837460),
    (0.1, 0.9, 0.734715064211),
    (0.5, 0.9, 0.956809892564),
    (0.9, 0.9, 0.999995218646),
]


@pytest.mark.parametrize(("x", "b", "q"), GOLDEN)
def test_golden_values(x: float, b: float, q: float) -> None:
    """The first six digits are those of the examples of SMPyBandits' klucbBern."""
    assert kl_upper(x, b) == pytest.approx(q, abs=6e-13)
    assert kl_lower(1.0 - x, b) == pytest.approx(1.0 - q, abs=6e-13)


def test_the_divergence() -> None:
    """To 4 ulp of its larger part, x log(x / q) or (1 - x) log((1 - x) / (1 - q))."""
    for x, b in points(1, 300):
        for q in (min(x + b * x, BELOW_ONE), x * math.exp(-b), kl_upper(x, b), 0.25, BELOW_ONE):
            if q > 0.0:
                scale = abs(x * math.log(q / x)) + abs((1.0 - x) * math.log((1.0 - q) / (1.0 - x)))
                error = abs(float(coin_divergence(x, q) - divergence(x, MP.mpf(q))))
                assert error <= 4 * math.ulp(scale) + 4 * math.ulp(abs(q - x)), (x, q)


def test_the_divergence_at_the_ends() -> None:
    assert (
        coin_divergence(0.0, 0.0) == coin_divergence(1.0, 1.0) == coin_divergence(0.3, 0.3) == 0.0
    )
    assert coin_divergence(0.3, 0.0) == coin_divergence(0.3, 1.0) == math.inf
    assert coin_divergence(0.0, 1.0) == coin_divergence(1.0, 0.0) == math.inf
    assert coin_divergence(0.0, 0.5) == coin_divergence(1.0, 0.5) == math.log(2.0)


def test_the_divergence_is_that_of_theory() -> None:
    rng = np.random.default_rng(2)
    x, q = rng.random((2, 200))
    ours = [coin_divergence(float(a), float(b)) for a, b in zip(x, q, strict=True)]
    np.testing.assert_allclose(ours, kl_bernoulli(x, q), rtol=1e-11)


def test_the_upper_inverse_is_within_4_ulp() -> None:
    """The largest error seen in 2,000 points was 3.1; it is below 2 from b = 0.01 on."""
    for x, b in points(3, 900):
        q = kl_upper(x, b)
        few = (4 if b < 0.01 else 2) * MP.mpf(math.ulp(q))
        assert divergence(x, q - few) <= b, (x, b)
        assert divergence(x, q + few) >= b, (x, b)


def test_the_lower_inverse_is_as_accurate_as_its_logarithm() -> None:
    """q is nearly exp(-b / x) where that is small, so its error grows with the logarithm of q / x."""
    for x, b in points(4, 900):
        q = kl_lower(x, b)
        if q > 1e-290:
            few = (4.0 + 2.0 * math.log(x / q)) * MP.mpf(math.ulp(q))
            assert divergence(x, q + few) <= b, (x, b)
            assert divergence(x, q - few) >= b, (x, b)
        else:
            assert divergence(x, MP.mpf(10) ** -289) <= b


@pytest.mark.parametrize("b", [1e-300, 1e-12, 0.3, 25.0, 200.0, 1e4])
def test_the_inverses_at_the_ends(b: float) -> None:
    assert kl_upper(0.0, b) == -math.expm1(-b)
    assert kl_upper(1.0, b) == 1.0
    assert kl_lower(0.0, b) == 0.0
    assert kl_lower(1.0, b) == math.exp(-b)
    for x in (1e-300, 1e-9, 0.3, 1.0 - 2.0**-53):
        assert 0.0 <= kl_lower(x, b) <= x <= kl_upper(x, b) <= 1.0


@pytest.mark.parametrize("b", [0.0, -1.0])
def test_without_a_budget_the_inverses_are_the_mean(b: float) -> None:
    for x in (0.0, 0.3, 1.0):
        assert kl_upper(x, b) == kl_lower(x, b) == x


def test_a_large_budget_stops_short_of_one() -> None:
    assert kl_upper(0.3, 20.0) < kl_upper(0.3, 25.0) == kl_upper(0.3, 200.0) == BELOW_ONE
