"""The characteristic time of a table: golden values, another solver, and what BestArm takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right

RIGHT = figure1_right()


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


def test_ends() -> None:
    alone = sb.analyse(sb.FiniteStructure([[0.8, 0.3], [0.7, 0.2]]), 0).identification()
    assert (alone.time, alone.least_pulls(0.05)) == (0.0, 0.0)
    certain = sb.analyse(sb.FiniteStructure([[0.8, 0.3], [0.2, 1.0]]), 0).identification()
    assert certain.time == 0.0, "a model that calls an outcome impossible"
    opposite = sb.analyse(sb.FiniteStructure([[0.0, 1.0], [1.0, 0.0]]), 0).identification()
    assert (opposite.time, opposite.proportions.tolist()) == (0.0, [0.5, 0.5])
    assert certain.least_pulls(0.5) == 0.0
    with pytest.raises(sb.ParameterError, match="identification: needs a table of models"):
        sb.analyse(sb.concave(3), [0.5, 0.6, 0.5]).identification()
    with pytest.raises(
        sb.ParameterError, match="the characteristic time is defined for a true model"
    ):
        sb.analyse(RIGHT, [0.1, 0.2, 0.3, 0.4]).identification()
