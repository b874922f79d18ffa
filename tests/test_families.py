"""Families of rewards: one definition of their names and divergences."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.base.families import (
    FAMILIES,
    checked_family,
    divergence_of,
    kl_bernoulli,
)

MEANS = np.array([0.05, 0.3, 0.5, 0.8, 0.97])
PARAMETRIC = ["bernoulli", "gaussian"]


def integral(family: str, p: float, q: float, sigma: float) -> float:
    """Return the divergence from its definition: the expected logarithm of the likelihood ratio."""
    if family == "bernoulli":
        return float(p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q)))

    def ratio(x: object) -> object:
        density, other = (mpmath.npdf(x, mean, sigma) for mean in (p, q))
        return density * mpmath.log(density / other)

    return float(mpmath.quad(ratio, [p - 12 * sigma, p, p + 12 * sigma]))


@pytest.mark.parametrize("family", PARAMETRIC)
def test_divergences_agree_with_their_definition(family: str) -> None:
    for p in MEANS:
        for q in MEANS[p != MEANS]:
            found = float(divergence_of(family).value(np.array(p), np.array(q), 0.3))
            assert found == pytest.approx(integral(family, p, q, 0.3), rel=1e-9)


@pytest.mark.parametrize("family", PARAMETRIC)
def test_slopes_and_curvatures_are_derivatives(family: str) -> None:
    value, slope, curvature = divergence_of(family)[:3]
    p, q, step = MEANS, np.array([0.2, 0.35, 0.1, 0.6, 0.9]), 1e-6
    for derivative, function in ((slope, value), (curvature, slope)):
        rise = function(p, q + step, 0.3) - function(p, q - step, 0.3)
        assert derivative(p, q, 0.3) == pytest.approx(rise / (2 * step), rel=1e-6, abs=1e-8)


def test_bernoulli_rewards_are_the_hardest_to_tell_apart_of_all_in_the_unit_interval() -> None:
    """What the message on bounded rewards says, on random laws of random values in [0, 1]."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        values = rng.random(int(rng.integers(2, 6)))
        one, two = rng.dirichlet(np.ones(len(values)), 2)
        divergence = float(one @ np.log(one / two))
        least = kl_bernoulli(np.array(one @ values), np.array(two @ values))
        assert divergence >= least - 1e-12


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_is_accepted_by_its_name(name: str) -> None:
    assert checked_family(name) == name
    assert FAMILIES[name].name == name


@pytest.mark.parametrize("name", ["poisson", "Bernoulli", None, ["gaussian"], 3])
def test_another_name_is_refused_with_those_that_are_accepted(name: object) -> None:
    with pytest.raises(sb.ParameterError) as error:
        checked_family(name)
    expected = f"family={name!r}: accepted are 'bernoulli', 'gaussian' and 'bounded'"
    assert str(error.value) == expected
    analysis = sb.analyse(sb.FiniteStructure([[0.8, 0.3], [0.8, 0.9]]), 0)
    with pytest.raises(sb.ParameterError) as error:
        analysis.lower_bound(name)  # type: ignore[arg-type]
    assert str(error.value) == f"family={name!r}: accepted are 'bernoulli' and 'gaussian'"
    with pytest.raises(sb.ParameterError, match=r"accepted are 'bounded'$"):
        checked_family(name, ["bounded"])


def test_bounded_rewards_have_no_graves_lai_bound_and_the_message_says_what_to_take() -> None:
    analysis = sb.analyse(sb.FiniteStructure([[0.8, 0.3], [0.8, 0.9]]), 0)
    with pytest.raises(sb.ParameterError, match=r"family='bounded': .* take family='bernoulli'"):
        analysis.lower_bound("bounded")
