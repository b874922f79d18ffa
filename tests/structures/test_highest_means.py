"""The highest mean of each arm inside a box, beside slow ways to find it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import draw_case

import structured_bandits as sb
from structured_bandits.base.confidence import Box
from structured_bandits.structures.upper_means import highest_in_polytopes, highest_means


def random_box(means: Any, rng: np.random.Generator) -> Box:
    """A box around a model, open to one side or both for some arms; sometimes beside the model."""
    centre = means + rng.normal(0.0, 0.1, len(means)) * (rng.random() < 0.5)
    low, high = (
        centre - rng.uniform(0.01, 0.4, len(means)),
        centre + rng.uniform(0.01, 0.4, len(means)),
    )
    free = rng.random(len(means)) < 0.3
    return Box(np.where(free, -np.inf, low), np.where(free, np.inf, high))


def everything(structure: Any) -> Any:
    return np.ones(structure.n_arms, bool)


def test_on_tables_it_is_the_highest_among_the_models_inside() -> None:
    met = {"inside": 0, "outside": 0}
    for index in range(40):
        structure = draw_case(90, index, "finite", full_size=False).structure
        rng = np.random.default_rng([90, index])
        box = random_box(structure.cells.table[rng.integers(structure.n_models)], rng)
        inside = [
            row
            for row in structure.cells.table.tolist()
            if all(a < b < c for a, b, c in zip(box.low, row, box.high, strict=True))
        ]
        found = highest_means(structure, box, everything(structure))
        met["inside" if inside else "outside"] += 1
        if not inside:
            assert found is None
            continue
        assert found is not None
        assert found.tolist() == [max(column) for column in zip(*inside, strict=True)]
    assert min(met.values()) >= 3, met


def test_on_curves_it_is_the_highest_on_a_fine_grid() -> None:
    met = 0
    for index in range(20):
        structure = draw_case(91, index, "curves", full_size=False).structure
        rng = np.random.default_rng([91, index])
        steps = np.linspace(0.0, 1.0, 4001)[:, None]
        grid = np.vstack(
            [
                piece.at_start + steps * (np.asarray(piece.at_end) - piece.at_start)
                for piece in structure.pieces
            ]
        )
        box = random_box(grid[rng.integers(len(grid))], rng)
        inside = grid[((box.low < grid) & (grid < box.high)).all(axis=1)]
        found = highest_means(structure, box, everything(structure))
        if not len(inside):
            continue
        met += 1
        assert found is not None
        step = max(np.abs(np.asarray(p.at_end) - p.at_start).max() for p in structure.pieces) / 4000
        assert (found >= inside.max(axis=0) - 1e-12).all()
        assert (found <= inside.max(axis=0) + 1.01 * step).all()
    assert met >= 10


PAIRS = np.random.default_rng(3).uniform(0.0, 0.5, (5, 2)).round(3)
POLYHEDRAL = [
    sb.unimodal(4),
    sb.lipschitz([0.0, 0.3, 0.5, 1.0], 0.8),
    sb.monotone(3),
    sb.product([sb.FiniteStructure([[0.9, 0.2], [0.3, 0.6]]), sb.unimodal(3)]),
    sb.product([sb.CurveStructure([sb.Piece(0, 1, [0.1, 0.8], [0.9, 0.3])]), sb.monotone(2)]),
    sb.linear(PAIRS, bounds=(0.0, 1.0)),
    sb.around(np.random.default_rng(4).uniform(0.1, 0.9, (5, 4)).round(2), 0.05),
]


@pytest.mark.parametrize("structure", POLYHEDRAL, ids=repr)
def test_closed_forms_and_groups_agree_with_programs_and_no_model_is_higher(structure: Any) -> None:
    rng = np.random.default_rng(92)
    met = {"inside": 0, "outside": 0}
    for _ in range(12):
        models = [random_model(structure, rng) for _ in range(60)]
        box = random_box(models[0], rng)
        found = highest_means(structure, box, everything(structure))
        slow = highest_in_polytopes(structure.polytopes, box, everything(structure))
        met["outside" if found is None else "inside"] += 1
        assert (found is None) == (slow is None)
        if found is None:
            continue
        assert slow is not None
        assert np.abs(found - slow).max() < 1e-7
        for means in models:
            if (box.low < means).all() and (means < box.high).all():
                assert (found >= means - 1e-7).all()
    assert met["inside"] >= 4, met


def random_model(structure: Any, rng: np.random.Generator) -> Any:
    """Means of a random model: a mean of corners, each the farthest of a piece in some direction."""
    piece = structure.polytopes[rng.integers(len(structure.polytopes))]
    if not piece.dimension:
        return piece.intercepts
    from structured_bandits.solvers.linear import maximise

    corners = [
        maximise(rng.normal(size=piece.dimension), piece.rows, piece.lower, piece.upper).x
        for _ in range(3)
    ]
    return piece.means(rng.dirichlet(np.ones(3)) @ corners)


def test_arms_that_nobody_wants_are_not_computed() -> None:
    structure = sb.linear(PAIRS, bounds=(0.0, 1.0))
    free = np.full(5, np.inf)
    found = highest_means(structure, Box(-free, free), np.array([True, False, True, False, False]))
    assert found is not None
    assert found[[1, 3, 4]].tolist() == [np.inf] * 3
    assert found[[0, 2]] == pytest.approx(PAIRS[[0, 2]].sum(axis=1))
