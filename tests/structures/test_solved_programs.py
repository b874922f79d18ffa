"""Boxes that move as data come in: what was found for earlier ones changes no answer.

The oracle decides each box in fractions and knows nothing of the ones before.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from oracles import polyhedral as naive
from support.twins import by_programs

import structured_bandits as sb
from structured_bandits.base.confidence import Box, Data
from structured_bandits.base.intervals import Hoeffding
from structured_bandits.lookahead.cells.base import choose, workspace
from structured_bandits.structures.polyhedral.polytope import means_with

pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)
SMALL = 2.0**-10


def small_pieces(index: int, size: int, arms: int) -> list[naive.Polytope]:
    """Pieces with means that hardly differ: errors far above the tolerance would change choices."""
    pieces = naive.random_pieces(random.Random(index), size, arms)
    return [
        piece._replace(
            slopes=(SMALL * np.array(piece.slopes)).tolist(),
            intercepts=(SMALL * np.array(piece.intercepts)).tolist(),
        )
        for piece in pieces
    ]


def growing_boxes(rng: np.random.Generator, means: np.ndarray, count: int) -> Iterator[Box]:
    """Boxes of data that grow arm by arm, mostly around these means; radii grow with time.

    Some arms have no data for long. Ends are multiples of 2^-30, so that arms with equal data tie exactly.
    """
    arms = len(means)
    pulls, sums = np.zeros(arms), np.zeros(arms)
    for time in range(count):
        arm, more = int(rng.integers(arms)), int(rng.integers(1, 5))
        pulls[arm] += more
        sums[arm] += more * means[arm] + SMALL * rng.integers(-8, 9) / 8
        data = np.maximum(pulls, 1)
        radius = np.where(pulls > 0, SMALL * np.sqrt(0.2 * math.log(time + 3) / data), np.inf)
        low, high = (np.round((sums / data + side * radius) * 2**30) / 2**30 for side in (-1, 1))
        yield Box(low, high)


def test_earlier_boxes_change_no_answer() -> None:
    met: Counter[str] = Counter()
    for index in range(40):
        rng = np.random.default_rng([83, index])
        arms = int(rng.integers(2, 5))
        pieces = small_pieces(index, int(rng.integers(1, 4)), arms)
        cells = by_programs(sb.PolyhedralStructure([sb.Polytope(*p) for p in pieces])).cells
        centre = pieces[index % 2]
        means = np.sum(centre.slopes, axis=1) / 2 + centre.intercepts
        notes, found = cells.fresh_notes(), np.zeros(arms, np.bool_)
        for box in growing_boxes(rng, means, 10):
            values = naive.highest(pieces, *box)
            chosen = naive.optimistic_arm(pieces, *box)
            assert cells.optimistic_arm(box, notes) == (-1 if chosen is None else chosen), index
            if values:
                top = float(max(values.values()))
                assert notes.bounds[notes.chosen] == pytest.approx(top, abs=1e-9), index
            assert cells.best_arms_in(box, found, notes) == bool(values), index
            assert set(np.flatnonzero(found)) == set(values), index
            met.update(boxes=1, empty=not values, several=len(values) > 1)
        met["programs"] += notes.solved
    assert met["several"] > 100, met
    assert met["empty"] > 5, met
    assert met["programs"] < 2 * met["boxes"], met  # what was there has answered the rest


def test_cells_that_tie_are_not_all_solved() -> None:
    """Before there are many data, every arm may have the highest mean; the lowest one is chosen."""
    cells = sb.concave(50).cells
    work = workspace(cells)
    data, box = Data(np.zeros(50, np.int64), np.zeros(50)), Box(np.zeros(50), np.zeros(50))
    for pulls in range(8):
        assert choose(cells, 0, data, Hoeffding(8.0), box, work) == 0
        data.pulls[0] += 1
        data.sums[0] += pulls % 2
    assert work.notes.solved <= 8  # one for each decision; there are 50 cells


def test_a_choice_that_holds_is_shown_without_programs() -> None:
    """A model beyond the end of the chosen arm's interval serves for all ends before it."""
    cells = sb.linear([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]], bounds=(0.0, 1.0)).cells
    notes = cells.fresh_notes()
    high = np.array([0.6, 0.5, 0.5])
    assert cells.optimistic_arm(Box(np.zeros(3), high), notes) == 0
    solved = notes.solved
    for end in (0.59, 0.62, 0.55, 0.7):
        high[0] = end
        assert cells.optimistic_arm(Box(np.zeros(3), high), notes) == 0
    assert notes.solved == solved
    high[0] = 0.45
    assert cells.optimistic_arm(Box(np.zeros(3), high), notes) == 1


def test_the_lowest_arm_within_the_tolerance_of_the_highest_wins() -> None:
    """The first arm is within the tolerance of the second, but not of the third, which is highest."""
    cells = by_programs(sb.unstructured(3)).cells
    notes = cells.fresh_notes()
    for first, second, third, winner in (
        (0.5, 0.5 + 0.7e-9, 0.5 + 1.4e-9, 1),
        (0.5, 0.5 + 0.3e-9, 0.5 + 0.6e-9, 0),
        (0.5, 0.5 + 1.4e-9, 0.5 + 0.7e-9, 1),
        (0.5, 0.5 + 1.5e-9, 0.5 + 3e-9, 2),
    ):
        box = Box(np.full(3, 0.4), np.array([first, second, third]))
        assert cells.optimistic_arm(box, notes) == winner
        assert cells.optimistic_arm(box, cells.fresh_notes()) == winner


def test_a_bound_that_is_hardly_too_high_does_not_decide() -> None:
    """Arm 0 exceeds neither arm 2 nor arm 3 by more than 0.1; which of them limits it changes."""
    limits = means_with([0.0] * 4, [1.0] * 4, [[1, 0, -1, 0], [1, 0, 0, -1]], upper=0.1)
    cells = by_programs(sb.PolyhedralStructure([limits])).cells
    notes = cells.fresh_notes()
    low = np.full(4, 0.1)
    assert cells.optimistic_arm(Box(low, np.array([0.9, 0.3, 0.5, 0.6])), notes) == 0
    moved = Box(low, np.array([0.9, 0.6 - 2e-5, 0.5, 0.5 - 5e-5]))
    assert cells.optimistic_arm(moved, notes) == 1


def test_a_bound_that_is_too_high_breaks_no_tie() -> None:
    """Arm 2, which can no longer be as high, would keep arm 0 out of the tie with arm 1."""
    limits = means_with([0.0] * 5, [1.0] * 5, [[0, 0, 1, -1, 0], [0, 0, 1, 0, -1]], upper=0.1)
    cells = by_programs(sb.PolyhedralStructure([limits])).cells
    notes = cells.fresh_notes()
    low, third = np.full(5, 0.1), 0.4 + 1.4e-9
    assert cells.optimistic_arm(Box(low, np.array([0.3, 0.3, 0.9, third, 0.45])), notes) == 2
    moved = Box(low, np.array([0.5, 0.5 + 0.7e-9, 0.9, third, 0.2]))
    assert cells.optimistic_arm(moved, notes) == 0


def test_an_optimum_that_moves_out_of_its_cell_is_none() -> None:
    """Arm 0 is at most 0.1 above arm 1, and at most 0.55."""
    rows, low = [[-1, 1, 0], [-1, 0, 0]], np.full(3, 0.1)
    cells = by_programs(
        sb.PolyhedralStructure([means_with([0.0] * 3, [1.0] * 3, rows, [-0.1, -0.55])])
    ).cells
    notes = cells.fresh_notes()
    for end, other, winner in ((0.4, 0.2, 0), (0.42, 0.2, 0), (0.5, 0.57, 2), (0.5, 0.54, 0)):
        assert cells.optimistic_arm(Box(low, np.array([0.9, end, other])), notes) == winner


def test_bounds_beyond_an_arms_own_end_hold_when_it_moves() -> None:
    cells = by_programs(sb.unstructured(2)).cells
    notes = cells.fresh_notes()
    low = np.array([0.4, 0.4])
    for end in (0.5, 0.5, 0.49, 0.52):
        assert cells.optimistic_arm(Box(low, np.array([end, 0.48])), notes) == 0
    assert notes.solved > 0
