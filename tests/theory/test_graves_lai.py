"""The cheapest allocation as a policy would ask for it: with estimated means."""

from __future__ import annotations

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.base.families import divergence_of
from structured_bandits.theory.graves_lai import cheapest_allocation
from structured_bandits.theory.truth import truth_of


@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_unrelated_arms_need_one_over_their_divergence(family: str) -> None:
    """Lai and Robbins: arm i is pulled log n / KL(its mean, the best mean) times."""
    rng = np.random.default_rng(1)
    structure = sb.unstructured(4)
    for _ in range(10):
        estimates = rng.uniform(0.05, 0.95, 4)
        bound = cheapest_allocation(truth_of(structure, estimates), family, 0.4)
        others = estimates < estimates.max()
        divergence = divergence_of(family).value(estimates, estimates.max(), 0.4)
        expected = np.zeros(4)
        expected[others] = 1.0 / divergence[others]
        assert bound.allocation == pytest.approx(expected, rel=1e-6)
        assert bound.constant == pytest.approx((estimates.max() - estimates) @ expected, rel=1e-6)


def test_estimates_outside_a_table_are_answered_as_they_are() -> None:
    structure = sb.FiniteStructure([[0.75, 0.25], [0.75, 1.0], [0.5, 0.9]])
    truth = truth_of(structure, [0.75, 0.5])  # no model, but model 1 has this mean of arm 0
    assert not truth.inside
    assert truth.confusing_models == (1,)
    bound = cheapest_allocation(truth, "gaussian", 0.5)
    assert bound.allocation == pytest.approx([0.0, 2 * 0.25 / 0.5**2])
    assert bound.binding == (1,)
    apart = cheapest_allocation(truth_of(structure, [0.7, 0.5]), "gaussian", 0.5)
    assert (
        apart.constant == 0.0
    )  # each model differs on the best arm: its own pulls refute them all


@pytest.mark.parametrize(
    ("family", "sigma", "message"),
    [
        ("poisson", 0.5, "family='poisson': accepted are"),
        ("bounded", 0.5, "family='bounded'"),
        ("gaussian", 0.0, "sigma=0.0: expected a finite number > 0"),
    ],
)
def test_bad_input(family: str, sigma: float, message: str) -> None:
    truth = truth_of(sb.FiniteStructure([[0.8, 0.3], [0.8, 0.9]]), 0)
    with pytest.raises(sb.ParameterError) as error:
        cheapest_allocation(truth, family, sigma)
    assert message in str(error.value)
