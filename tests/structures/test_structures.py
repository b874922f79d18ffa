"""Structures: what they accept, what they answer, and that a grid converges to the exact curves."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from support.boxes import best_arms, optimistic_arm

import structured_bandits as sb
from structured_bandits.base.confidence import Box, Data
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)
from structured_bandits.structures.curves.structure import envelope

RIGHT = figure1_right()


def test_finite_structure_answers_by_index_and_by_name() -> None:
    users = sb.FiniteStructure([[0.2, 0.9], [0.6, 0.1]], arms=["a", "b"], models=["x", "y"])
    assert (users.n_models, users.n_arms) == (2, 2)
    assert users.arm_names == ("a", "b")
    assert users.best_arms == (0, 1)
    assert users.means(1).tolist() == users.means("y").tolist() == [0.6, 0.1]
    assert users.best_arm("x") == 1
    assert users.arm_index("b") == users.arm_index(1) == 1


def test_a_tie_goes_to_the_lowest_arm() -> None:
    assert sb.FiniteStructure([[0.5, 0.8, 0.8]]).best_arms == (1,)


def test_the_table_is_copied() -> None:
    means = np.array([[0.5, 0.6]])
    structure = sb.FiniteStructure(means)
    means[0, 0] = 0.9
    structure.means(0)[0] = 0.9
    assert structure.means(0).tolist() == [0.5, 0.6]


def test_equal_structures_have_equal_fingerprints_and_survive_pickling() -> None:
    again = sb.FiniteStructure([RIGHT.means(model) for model in range(4)], RIGHT.arm_names)
    assert again == RIGHT
    assert hash(again) == hash(RIGHT)
    assert pickle.loads(pickle.dumps(figure1_left())) == figure1_left()
    assert figure1_left() != figure1_left(informative=False)
    assert sb.FiniteStructure([[0.5]], arms=["a"]) != sb.FiniteStructure([[0.5]], arms=["b"])


def test_from_csv_with_and_without_model_names(tmp_path: Path) -> None:
    named = tmp_path / "named.csv"
    named.write_text("model,tea,coffee\nold,0.5,0.25\nyoung,0.125,1\n")
    structure = sb.FiniteStructure.from_csv(named)
    assert structure.arm_names == ("tea", "coffee")
    assert structure.model_names == ("old", "young")
    assert structure.means("young").tolist() == [0.125, 1.0]
    plain = tmp_path / "plain.csv"
    plain.write_text("tea,coffee\n0.5,0.25\n\n0.125,1\n")
    structure = sb.FiniteStructure.from_csv(plain)
    assert structure.model_names == ("0", "1")
    assert structure.n_models == 2


def test_from_frame_takes_names_from_columns_and_index() -> None:
    frame = pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4], "c": [0.5, 0.6]}, index=["m", "n"])
    structure = sb.FiniteStructure.from_frame(frame)
    assert structure.arm_names == ("a", "b", "c")
    assert structure.means("n").tolist() == [0.2, 0.4, 0.6]
    counted = sb.FiniteStructure.from_frame(frame.reset_index(drop=True))
    assert counted.model_names == ("0", "1")


def test_representations_name_what_matters() -> None:
    assert repr(RIGHT) == "FiniteStructure(4 models × 4 arms, 4 arms best in some model)"
    page = sb.FiniteStructure([[0.25, 0.5]], arms=["<b>", "x"])._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>0.5</b>" in page
    assert "<b>0.25</b>" not in page
    assert "0.85 → 0.8" in figure1_left()._repr_html_()
    assert "and 5 more" in sb.FiniteStructure(np.full((25, 2), 0.5))._repr_html_()


def test_figure1_left_is_the_papers() -> None:
    left = figure1_left()
    assert left.best_arms == (0, 1, 2)
    assert left.cells.best.tolist() == [0, 2, 1]
    assert left.means(0.165) == pytest.approx([0.825, 0.8, 0.7], abs=1e-15)
    assert left.means(0.33).tolist() == [0.8, 0.2, 0.86]
    assert left.means(1.0).tolist() == [0.4, 0.8, 0.6]
    assert figure1_left(informative=False).means(0.5)[1] == 0.8


def test_random_structures_are_the_papers() -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        structure, truth = random_structure(np.random.default_rng(1))
    table = structure.cells.table
    best = table[truth].argmax()
    changed = table[100:] != table[truth]
    assert table.shape == (150, 50)
    assert truth < 100
    assert set(changed.sum(axis=1)) == {2}  # one arm raised, one lowered
    raised = table[100:].max(axis=1) - table[truth, best]
    assert (raised >= 0).all()
    assert (raised <= 0.2).all()
    clipped, _ = random_structure(np.random.default_rng(1), clip=True)
    assert clipped.cells.table.max() <= 1.0


def test_curves_know_which_piece_owns_a_border() -> None:
    pieces = [
        sb.Piece(0, 1, [0.0, 0.5], [1.0, 0.5], closed="both"),
        sb.Piece(1, 2, [0.25, 0.5], [0.75, 0.5], closed="right"),
        sb.Piece(3, 3, [0.1, 0.2], [0.1, 0.2]),
    ]
    curve = sb.CurveStructure(pieces)
    assert curve.means(1)[0] == 1.0
    assert curve.means(2)[0] == 0.75
    assert curve.means(3).tolist() == [0.1, 0.2]
    for outside in (2.5, -0.1, 3.5):
        with pytest.raises(sb.StructureError, match="in no piece"):
            curve.means(outside)


def test_neighbouring_cells_share_their_border_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        structure = sb.CurveStructure([sb.Piece(0, 1, rng.random(6), rng.random(6))])
        cells = structure.cells
        assert (cells.at_end[:-1] == cells.at_start[1:]).all()
        assert (cells.end[:-1] == cells.start[1:]).all()
        for cell in range(len(cells.best) - 1):  # a vertex is a tie by construction
            left, right = cells.best[cell], cells.best[cell + 1]
            assert left != right
            assert cells.at_end[cell, left] == cells.at_end[cell, right]


LINES = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda p: (p[0] / 8, p[1] / 8)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(LINES)
def test_envelope_against_brute_force(lines: list[tuple[float, float]]) -> None:
    """Between any two crossings the envelope names the lowest index among the highest lines."""
    first = [Fraction(line[0]) for line in lines]
    last = [Fraction(line[1]) for line in lines]
    parts = envelope(first, last)
    crossings = {Fraction(0), Fraction(1)}
    for i in range(len(lines)):
        for j in range(i):
            gap, turn = first[i] - first[j], (last[i] - first[i]) - (last[j] - first[j])
            if turn and 0 < -gap / turn < 1:
                crossings.add(-gap / turn)
    places = sorted(crossings)
    for left, right in pairwise(places):
        middle = (left + right) / 2
        heights = [a + middle * (b - a) for a, b in zip(first, last, strict=True)]
        named = [arm for position, arm in parts if position <= middle][-1]
        assert named == heights.index(max(heights))
    assert all(position in crossings for position, _ in parts)


def active(
    structure: sb.CurveStructure | sb.FiniteStructure, low: object, high: object
) -> list[bool]:
    return best_arms(structure.cells, low, high)[1]


def test_a_grid_differs_from_the_curves_only_within_a_step_of_a_border() -> None:
    """Active arms of L and of its grids: rate of disagreement and where it happens.

    A disagreement needs a cell's surviving part to hold no grid point, so to be shorter than a
    step. The share of such boxes falls with the step.
    """
    import structured_bandits.simulation.compiled  # noqa: F401  lets Numba compile cells

    @njit  # six million looks at models take a minute in plain Python
    def ask(cells, box, found, notes):
        return cells.best_arms_in(box, found, notes)

    def active(structure: Any, low: Any, high: Any) -> list[bool]:
        found = np.zeros(3, np.bool_)
        ask(structure.cells, Box(low, high), found, structure.cells.fresh_notes())
        return found.tolist()

    left = figure1_left()
    places = np.linspace(0, 1, 20001)[:-1]
    table = np.array([left.means(place) for place in places])
    rng = np.random.default_rng(5)
    boxes = []
    for _ in range(1000):
        centre = left.means(rng.random()) + rng.normal(0, 0.05, 3)
        width = rng.uniform(0.005, 0.25, 3)
        boxes.append((centre - width, centre + width))
    rates = []
    for points in (30, 300, 3000):
        step = 1.0 / points
        middles = (np.arange(points) + 0.5) * step
        grid = sb.FiniteStructure([left.means(place) for place in middles])
        wrong = 0
        for low, high in boxes:
            exact, coarse = active(left, low, high), active(grid, low, high)
            wrong += exact != coarse
            for arm in range(3):
                assert exact[arm] or not coarse[arm]  # a grid point is a model
                if exact[arm] and not coarse[arm]:
                    assert longest_part(table, arm, low, high) * places[1] <= step
        rates.append(wrong / len(boxes))
    assert rates[0] > 0
    assert rates[1] < rates[0] / 3
    assert rates[2] < rates[1] / 3


def longest_part(table: np.ndarray, arm: int, low: Any, high: Any) -> int:
    """Steps in the longest part of a cell of `arm` inside the box, of means at even steps."""
    inside = ((table > low) & (table < high)).all(axis=1) & (table.argmax(axis=1) == arm)
    longest = run = 0
    for flag in inside.tolist():
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return max(0, longest - 1)


def test_points_of_a_line_are_a_finite_structure() -> None:
    """The same models as points and as a table give the same arms on the same boxes."""
    rng = np.random.default_rng(2)
    for _ in range(100):
        table = rng.integers(0, 9, (5, 4)) / 8
        finite = sb.FiniteStructure(table)
        points = sb.CurveStructure([sb.Piece(i, i, row, row) for i, row in enumerate(table)])
        centre, width = rng.random(4), rng.uniform(0.05, 0.6, 4)
        low, high = centre - width, centre + width
        assert active(finite, low, high) == active(points, low, high)
        assert optimistic_arm(finite.cells, low, high) == optimistic_arm(points.cells, low, high)
        data = Data(rng.integers(0, 9, 4), rng.integers(0, 9, 4) / 2)
        assert finite.fitting_cells.fitting_arm(data) == points.cells.fitting_arm(data)


def test_unbounded_box_keeps_everything() -> None:
    for structure in (RIGHT, figure1_left()):
        everything = np.full(structure.n_arms, math.inf)
        assert active(structure, -everything, everything) == [
            arm in structure.best_arms for arm in range(structure.n_arms)
        ]
