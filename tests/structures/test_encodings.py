"""Finite models and curves, encoded as polytopes, give the answers of the exact classes.

Truths and data are random, so decisions within the solver's tolerance of a tie do not happen except by
construction (equal arms, equal models), and those must be broken alike.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.boxes import best_arms, optimistic_arm
from support.cases import draw_case
from support.play import play
from support.twins import as_polytopes

import structured_bandits as sb

CASES = 80
pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)


def boxes(structure: Any, rng: np.random.Generator, count: int = 6) -> Any:
    """Random boxes around means of the structure's kind, some arms without data."""
    arms = structure.n_arms
    for _ in range(count):
        centre, radius = rng.random(arms), 10.0 ** rng.uniform(-2.0, 0.0, arms)
        free = rng.random(arms) < 0.3
        low = np.where(free, -math.inf, centre - radius)
        high = np.where(free, math.inf, centre + radius)
        yield low, high


def answers(structure: Any, low: Any, high: Any) -> tuple[Any, ...]:
    alive, found = best_arms(structure.cells, low, high)
    return alive, found, optimistic_arm(structure.cells, low, high)


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_the_same_active_and_optimistic_arms(kind: str) -> None:
    met = 0
    for index in range(CASES):
        case = draw_case(21, index, kind, full_size=False)
        twin = as_polytopes(case.structure)
        assert twin.best_arms == case.structure.best_arms
        for low, high in boxes(case.structure, np.random.default_rng(index)):
            assert answers(twin, low, high) == answers(case.structure, low, high), index
            met += answers(twin, low, high)[0]
    assert met > CASES  # boxes that hold models


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_the_same_arms_are_played(kind: str) -> None:
    long_plans = 0
    for index in range(CASES):
        case = draw_case(22, index, kind, full_size=False)
        twin = as_polytopes(case.structure)
        horizon = min(case.horizon, 200)
        for make in (
            lambda s, c=case: sb.SUCB.paper(s, alpha=c.alpha),
            lambda s, c=case, n=horizon: sb.SAE.paper(s, n, alpha=c.alpha, beta=c.beta),
            lambda s, c=case: sb.ASAE.paper(s, alpha=c.alpha, beta=c.beta, eta=c.eta),
        ):
            exact = play(make(case.structure), case.rewards, horizon, compiled=True, planning=True)
            planned = play(make(twin), case.rewards, horizon, compiled=False, planning=True)
            pulls = play(make(twin), case.rewards, horizon, compiled=False, planning=False)
            assert planned.arms == exact.arms, index
            assert pulls.arms == exact.arms, index
            assert planned.empty == exact.empty or pulls.empty == exact.empty, index
            long_plans += planned.plans < pulls.plans
    assert long_plans > CASES // 4


def test_greedy_fits_points_like_the_table() -> None:
    for index in range(CASES // 2):
        case = draw_case(23, index, "finite", full_size=False)
        horizon = min(case.horizon, 100)
        exact, twin = (
            play(sb.GreedyMLE(s), case.rewards, horizon, compiled=False, planning=True)
            for s in (case.structure, as_polytopes(case.structure))
        )
        assert twin.arms == exact.arms, index


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_the_same_theory(kind: str) -> None:
    """Hardness, elimination, classes and bounds; the truth is a model of the structure."""
    for index in range(CASES // 2):
        case = draw_case(24, index, kind, full_size=False)
        rng = np.random.default_rng(index)
        truth = _some_model(case.structure, rng)
        ours = sb.analyse(as_polytopes(case.structure), case.structure.means(truth))
        exact = sb.analyse(case.structure, case.structure.means(truth))
        assert ours.best_arm == exact.best_arm
        assert ours.inside == exact.inside
        assert ours.gamma_star == pytest.approx(exact.gamma_star, abs=1e-8), index
        assert ours.constant_regret_possible == exact.constant_regret_possible, index
        assert ours.decoys == exact.decoys, index
        for arm in exact.best_arms:
            for using in (None, [arm], [arm, exact.best_arm]):
                for optimistic in (False, True):
                    one = ours.hardest(arm, using, optimistic)
                    two = exact.hardest(arm, using, optimistic)
                    assert one.gap == pytest.approx(two.gap, abs=1e-8), (index, arm, using)
                    # polytopes own all their ends, curve pieces may not
                    assert one.attained >= two.attained, (index, arm, using, optimistic)
                    assert kind == "curves" or one.attained == two.attained
        if exact.inside:
            _same_sets(ours, exact, index)


def _same_sets(ours: Any, exact: Any, index: int) -> None:
    for beta in (1.0, 3.0):
        assert ours.elimination(10_000, beta) == exact.elimination(10_000, beta), index
        assert ours.classes(10_000, beta) == exact.classes(10_000, beta), index
    left, right = (analysis.bounds(10_000) for analysis in (ours, exact))
    assert left["valid"].tolist() == right["valid"].tolist(), index
    np.testing.assert_allclose(left["value"], right["value"], rtol=1e-6, atol=1e-6)


def _some_model(structure: Any, rng: np.random.Generator) -> Any:
    if isinstance(structure, sb.FiniteStructure):
        return int(rng.integers(structure.n_models))
    piece = structure.pieces[int(rng.integers(len(structure.pieces)))]
    return float(piece.start + (piece.end - piece.start) * rng.choice([0.25, 0.375, 0.5]))


def test_a_grid_converges_at_its_rate() -> None:
    """Hardness on a grid of models is no lower than on the polytope, and off by some steps at most."""
    rng = np.random.default_rng(8)
    features = rng.uniform(-1.0, 1.0, (5, 2))
    plane = sb.linear(features, (-1.0, 1.0))
    truth = plane.means([0.3, -0.45])
    exact = sb.analyse(plane, truth)
    errors = []
    for step in (0.04, 0.004):
        axis = np.arange(-1.0, 1.0 + step / 2, step)
        points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        grid = sb.analyse(sb.FiniteStructure(points @ features.T), truth)
        assert grid.best_arms == exact.best_arms
        questions = product(exact.other_arms, (False, True), (False, True))
        pairs = [
            [a.hardest(arm, [arm] if alone else None, above).gap for a in (grid, exact)]
            for arm, alone, above in questions
        ]
        gaps = [ours - theirs for ours, theirs in pairs if ours != theirs]  # both may be infinite
        assert len(gaps) > 5
        assert min(gaps) > -1e-9
        assert max(gaps) <= 5.0 * step
        errors.append(np.mean(gaps))
    assert errors[1] < errors[0] / 3.0
