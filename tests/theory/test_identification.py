"""Characteristic times: golden values, other solvers, and what BestArm takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support.identification import INSTANCES

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.inference.shares import divergences_from
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.theory.identification import time_without_structure

RIGHT = figure1_right()
COINS = Rewards(0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    ("truth", "bernoulli", "gaussian"),
    [
        (0, 6.830401, 13.455579),
        (1, 2.716917, 3.125),
        (2, 3.065395, 3.462604),
        (3, 6.863917, 10.330579),
    ],
)
def test_golden_values(truth: int, bernoulli: float, gaussian: float) -> None:
    analysis = sb.analyse(RIGHT, truth)
    assert analysis.identification().time == pytest.approx(bernoulli, abs=1e-6)
    found = analysis.identification("gaussian", sigma=0.5)
    assert found.time == pytest.approx(gaussian, abs=1e-6)
    assert found.proportions.sum() == pytest.approx(1.0, abs=1e-12)


def test_nothing_is_spent_on_the_best_arm() -> None:
    proportions = sb.analyse(RIGHT, 0).identification().proportions
    np.testing.assert_allclose(proportions, [0.0, 0.7134, 0.0, 0.2866], atol=5e-5)


def divergence(p: Any, q: Any) -> Any:
    return p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))


@pytest.mark.parametrize("index", range(10))
def test_another_solver_finds_the_same(index: int) -> None:
    """As a game for the shares, by scipy, instead of as a program for the pulls."""
    rng = np.random.default_rng([70, index])
    table = rng.uniform(0.05, 0.95, (rng.integers(3, 12), rng.integers(2, 7)))
    found = sb.analyse(sb.FiniteStructure(table), 0).identification()
    best = table[0].argmax()
    rivals = table[table.max(axis=1) > table[:, best]]
    told = divergence(table[0], rivals)
    arms = table.shape[1]
    game = linprog(
        np.append(np.zeros(arms), -1.0),
        A_ub=np.hstack([-told, np.ones((len(rivals), 1))]),
        b_ub=np.zeros(len(rivals)),
        A_eq=np.append(np.ones(arms), 0.0)[None],
        b_eq=[1.0],
    )
    assert found.time == pytest.approx(-1.0 / game.fun, rel=1e-7)
    assert (told @ found.proportions).min() == pytest.approx(1.0 / found.time, rel=1e-7)


def test_best_arm_takes_no_less() -> None:
    for truth in range(RIGHT.n_models):
        bound = sb.analyse(RIGHT, truth).identification().least_pulls(0.05)
        found = sb.identify(RIGHT, sb.Bernoulli(RIGHT.means(truth)), runs=400, horizon=5_000)
        assert bound < found.mean < 4 * bound


QUICK = [  # the others: `python benchmarks/best_arm.py times`
    "linear sphere",
    "mixtures 4 × 10",
    "mixtures 3 × 10",
    "lipschitz, inside",
    "lipschitz, two hills",
    "unimodal tent",
    "unimodal rates",
    "unimodal flat",
    "unimodal edge",
]


@pytest.mark.parametrize("name", QUICK)
def test_beyond_tables_another_program_found_the_same(name: str) -> None:
    each = INSTANCES[name]
    analysis = sb.analyse(each.make(), each.means)
    family = "bernoulli" if each.sigma is None else "gaussian"
    found = analysis.identification(family, sigma=each.sigma)
    assert found.time == pytest.approx(each.time, rel=2e-5)


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("unimodal tent", {8: 0.282, 9: 0.4361, 10: 0.282}),
        ("unimodal flat", {9: 0.2958, 10: 0.4084, 11: 0.2958}),
        ("mixtures 4 × 10", {0: 1.0}),
        ("mixtures 3 × 10", {3: 0.9644, 8: 0.0356}),
    ],
)
def test_shares_beyond_tables(name: str, shares: dict[int, float]) -> None:
    each = INSTANCES[name]
    found = sb.analyse(each.make(), each.means).identification().proportions
    expected = np.zeros(len(each.means))
    expected[list(shares)] = list(shares.values())
    np.testing.assert_allclose(found, expected, atol=3e-4)


def test_gaussian_sphere_in_closed_form() -> None:
    """Without bounds that bind: the largest 2 |x_b - x_j|^2 in the metric of the shares, over gaps^2."""
    each = INSTANCES["linear sphere"]
    structure = each.make()
    found = sb.analyse(structure, each.means).identification("gaussian", sigma=1.0)
    features = structure.pieces[0].slopes
    best = int(np.argmax(each.means))
    inverse = np.linalg.inv((features.T * found.proportions) @ features)
    steps = np.delete(features[best] - features, best, axis=0)
    gaps = np.delete(each.means[best] - each.means, best)
    needed = 2.0 * np.einsum("ij,jk,ik->i", steps, inverse, steps) / gaps**2
    assert needed.max() == pytest.approx(found.time, rel=1e-5)


def test_a_curve_in_closed_form() -> None:
    """On one line all models with another best arm lie beyond the tie, so one arm tells most."""
    curve = sb.CurveStructure([sb.Piece(0.0, 1.0, (0.8, 0.4, 0.1), (0.2, 0.6, 0.2))])
    tie = 0.5  # of arms 0 and 1
    truth, there = curve.means(0.3), curve.means(tie)
    told = divergences_from(truth, there, COINS)
    found = sb.analyse(curve, 0.3).identification()
    assert found.time == pytest.approx(1.0 / told.max(), rel=1e-5)
    assert found.proportions[told.argmax()] == pytest.approx(1.0, abs=1e-3)


def test_a_product_in_another_encoding() -> None:
    """The table of all combinations of two tables."""
    first, second = np.array([[0.5, 0.2], [0.3, 0.45]]), np.array([[0.4], [0.6], [0.1]])
    groups = sb.product([sb.FiniteStructure(first), sb.FiniteStructure(second)])
    table = np.array([[*one, *two] for one in first for two in second])
    whole = sb.analyse(sb.FiniteStructure(table), 0).identification()
    parts = sb.analyse(groups, table[0]).identification()
    assert parts.time == pytest.approx(whole.time, rel=1e-5)
    np.testing.assert_allclose(parts.proportions, whole.proportions, atol=1e-3)


def test_without_a_structure() -> None:
    """Two arms: the pulls of both that their pooled mean makes equally unlikely."""
    assert time_without_structure(np.array([0.3, 0.21, 0.2, 0.19, 0.18]), COINS) == pytest.approx(
        326.64, abs=0.01
    )
    shares = np.linspace(1e-4, 1.0 - 1e-4, 100_001)
    pooled = shares * 0.6 + (1.0 - shares) * 0.4
    told = shares * divergence(0.6, pooled) + (1.0 - shares) * divergence(0.4, pooled)
    for order in ([0.6, 0.4], [0.4, 0.6]):
        found = time_without_structure(np.array(order), COINS)
        assert found == pytest.approx(1.0 / told.max(), rel=1e-8)
    normal = Rewards(0.5, -np.inf, np.inf)
    assert time_without_structure(np.array([1.0, 0.0]), normal) == pytest.approx(
        8.0 * 0.25, rel=1e-8
    )
    assert time_without_structure(np.array([0.5, 0.5]), normal) == np.inf
    assert time_without_structure(np.array([0.5, 0.5 - 1e-12]), COINS) == np.inf
    assert 0.0 < time_without_structure(np.array([1.0, 1e-9, 0.0]), COINS) < 3.0


def test_ends() -> None:
    alone = sb.analyse(sb.FiniteStructure([[0.8, 0.3], [0.7, 0.2]]), 0).identification()
    assert (alone.time, alone.least_pulls(0.05)) == (0.0, 0.0)
    certain = sb.analyse(sb.FiniteStructure([[0.8, 0.3], [0.2, 1.0]]), 0).identification()
    assert certain.time == 0.0, "a model that calls an outcome impossible"
    opposite = sb.analyse(sb.FiniteStructure([[0.0, 1.0], [1.0, 0.0]]), 0).identification()
    assert (opposite.time, opposite.proportions.tolist()) == (0.0, [0.5, 0.5])
    assert certain.least_pulls(0.5) == 0.0
    with pytest.raises(
        sb.ParameterError, match="the characteristic time is defined for a true model"
    ):
        sb.analyse(RIGHT, [0.1, 0.2, 0.3, 0.4]).identification()
