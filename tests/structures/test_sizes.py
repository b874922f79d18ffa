"""Large structures are built at once, or refused at once with the reason; nothing depends on how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.structures.builders.trees import spanning_trees
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells
from structured_bandits.structures.polyhedral.differences import (
    differences,
    leading_arms,
    rivals_of,
)
from structured_bandits.structures.polyhedral.polytope import Polytope, means_with
from structured_bandits.testing.requirements import in_threads


def longest_leads(piece: Polytope) -> Any:
    """All-pairs shortest paths over arms and the constant 0, step by step as in a textbook."""
    arms = piece.n_arms
    lead = [[0.0 if j == k else np.inf for k in range(arms + 1)] for j in range(arms + 1)]
    for row, lower, upper in zip(piece.rows, piece.lower, piece.upper, strict=True):
        used = [int(arm) for arm in np.flatnonzero(row)]
        j, k = used if len(used) == 2 else (used[0], arms)
        ends = sorted((lower / row[j], upper / row[j]))
        lead[j][k] = min(lead[j][k], ends[1])
        lead[k][j] = min(lead[k][j], -ends[0])
    for via in range(arms + 1):
        for j in range(arms + 1):
            for k in range(arms + 1):
                lead[j][k] = min(lead[j][k], lead[j][via] + lead[via][k])
    return np.array(lead)


def random_piece(rng: np.random.Generator) -> Polytope:
    """Bounds on differences along random edges (forests, cycles, parallel ones), around a model."""
    arms = int(rng.integers(1, 9))
    inside = rng.integers(0, 9, arms) / 8
    rows, lower, upper = [], [], []
    for _ in range(int(rng.integers(0, 2 * arms))):
        row = np.zeros(arms)
        first, second = rng.choice(arms, 2) if arms > 1 else (0, 0)
        row[first] = rng.choice([1.0, -0.5, 2.0])
        if first != second:
            row[second] = -row[first]
        slack = rng.integers(0, 5, 2) / 8
        sides = rng.random(2) < 0.7
        lower.append(row @ inside - slack[0] if sides[0] else -np.inf)
        upper.append(row @ inside + slack[1] if sides[1] else np.inf)
        rows.append(row)
    weights = np.array(rows).reshape(-1, arms)
    return means_with(inside - 0.75, inside + 0.75, weights, lower, upper)


def test_what_differences_imply_are_shortest_paths() -> None:
    for seed in range(400):
        piece = random_piece(np.random.default_rng(seed))
        found, wanted = differences(piece), longest_leads(piece)
        assert found is not None
        arms = piece.n_arms
        assert found.most_lead.tolist() == wanted[:arms, :arms].tolist(), seed  # dyadic: exact
        assert found.high.tolist() == wanted[:arms, arms].tolist()
        assert found.low.tolist() == (-wanted[arms, :arms]).tolist()
        leading = [rivals_of(found, arm) is not None for arm in range(arms)]
        assert leading_arms(found).tolist() == leading


def test_differences_that_contradict_each_other_are_of_no_kind() -> None:
    rows = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 0.0, 1.0]]
    assert differences(means_with([0.0] * 3, [1.0] * 3, rows, upper=-0.1)) is None  # in a circle
    assert differences(means_with([0.0] * 3, [1.0] * 3, rows[:2], upper=-0.6)) is None  # 1.2 in all
    assert differences(means_with([0.0] * 3, [1.0] * 3, rows[:2], upper=-0.4)) is not None


def test_unstructured_2000_and_long_chains_are_built() -> None:
    for structure in (
        sb.unstructured(2000),
        sb.monotone(2000),
        sb.lipschitz(np.arange(2000) / 2000, 0.5),
    ):
        assert isinstance(structure.cells, DifferenceCells)
        assert structure.n_arms == 2000
    assert sb.lipschitz(np.arange(2000) / 2000, 0.5).cells.reach[0, 0, 1000] == pytest.approx(0.25)


def test_unimodal_1000_is_refused_with_the_reason_and_without_recursion() -> None:
    with pytest.raises(sb.StructureError, match=r"n_arms=1000: .* 40\.0 GB .* at most 310 arms"):
        sb.unimodal(1000)
    with pytest.raises(sb.StructureError, match=r"n_arms=500: .* 5\.0 GB .* at most 310 arms"):
        sb.unimodal(500)
    star = [(0, arm) for arm in range(1, 1000)]
    with pytest.raises(sb.StructureError, match="at most 310 arms"):
        sb.unimodal(1000, star)
    _, child, parent = next(spanning_trees(1000, star).rooted())
    assert child.tolist() == list(range(1000))
    assert parent.tolist() == [-1] + [0] * 999


def test_as_many_arms_as_a_refusal_names_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structured_bandits.structures.polyhedral.polytope.MOST_NUMBERS", 5000)
    for build in (
        sb.unimodal,
        lambda arms: sb.known_best_mean(arms, 0.5),
        lambda arms: sb.lipschitz(np.arange(2.0 * arms).reshape(-1, 2), 0.1),
    ):
        with pytest.raises(sb.StructureError, match="expected at most") as refused:
            build(60)
        most = int(str(refused.value).split("expected at most ")[1].split()[0])
        assert build(most).n_arms == most > 5
        with pytest.raises(sb.StructureError, match=f"expected at most {most} arms"):
            build(most + 1)


def test_graphs_and_intersections_with_too_many_pieces_are_refused() -> None:
    ring = [(arm, (arm + 1) % 100) for arm in range(100)]
    with pytest.raises(sb.StructureError, match=r"edges: .* 100 spanning trees: 10,000 pieces"):
        sb.unimodal(100, ring)
    row = sb.unimodal(100)
    with pytest.raises(sb.StructureError, match=r"intersection: 10,000 pieces .* 5\.6 GB"):
        sb.intersection([row, row])


def test_unimodal_on_a_chain_keeps_its_cells() -> None:
    """In the piece with this peak an arm exceeds another by nothing if it is on its way down."""
    count = 40
    cells = sb.unimodal(count).cells
    assert cells.piece.tolist() == cells.best.tolist() == list(range(count))
    for peak in range(count):
        for j in range(count):
            for k in range(count):
                below = j <= k <= peak or j >= k >= peak
                assert cells.reach[peak, j, k] == (0.0 if below else 1.0)


def asked_at_once(question: Callable[[], Any]) -> list[Any]:
    """Return the answers that four threads get to a question they ask at the same time."""
    return in_threads([question] * 4)


def test_threads_that_ask_a_polytope_at_once_get_one_answer() -> None:
    expected = longest_leads(sb.unimodal(30).pieces[7])[:30, :30]
    for _ in range(20):
        piece = sb.unimodal(30).pieces[7].constrained(np.eye(30)[:1], np.zeros(1), np.ones(1))
        for answer in asked_at_once(lambda piece=piece: differences(piece)):
            assert np.array_equal(answer.most_lead, expected)


def test_threads_that_ask_a_structure_at_once_get_one_answer() -> None:
    """What a structure keeps are facts about itself: found twice, they are equal."""
    types = sb.FiniteStructure([[0.9, 0.1], [0.2, 0.6]])
    makes: list[Callable[[], Any]] = [
        lambda: sb.product([types, sb.concave(3)]),
        lambda: sb.linear([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], (0, 1)),
        lambda: sb.unimodal(4),
    ]
    for make in makes:
        expected = make()
        for name in ("polytope_cells", "mean_ranges", "best_arms", "fingerprints", "pieces"):
            wanted = getattr(expected, name)
            structure = make()
            for answer in asked_at_once(lambda name=name, it=structure: getattr(it, name)):
                if name == "pieces":
                    found = [part for piece in answer for part in piece.arrays()]
                    parts = [part for piece in wanted for part in piece.arrays()]
                    assert all(map(np.array_equal, found, parts))
                else:
                    assert np.array_equal(answer, wanted)
