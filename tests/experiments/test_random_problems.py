"""Random structures of the paper: drawn at once as NumPy draws them one by one, and once for all."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import (
    MOST,
    DrawnOnce,
    _at_once,
    draw_random,
    hard_draws,
    random_structure,
)
from structured_bandits.experiments.worlds import Problem

pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)
MANY = 2**31 + 12345  # arms: NumPy draws about every second number again


def other_than(arm: int, arms: int, rng: np.random.Generator) -> int:
    other = int(rng.integers(arms - 1))
    return other + (other >= arm)


def one_after_the_other(
    rng: np.random.Generator, best: int, arms: int, count: int
) -> list[tuple[int, int, float]]:
    """The draws as the experiment is described."""
    rows = []
    for _ in range(count):
        raised = other_than(best, arms, rng)
        rows.append((raised, other_than(raised, arms, rng), rng.random()))
    return rows


def rows_of(rng: np.random.Generator, best: int, arms: int, count: int) -> list[tuple[float, ...]]:
    draws = hard_draws(rng, best, arms, count)
    return list(zip(*(part.tolist() for part in draws), strict=True))


@pytest.mark.parametrize("arms", [2, 3, 50, 51, 1000, MANY, 2**32 - 1, 2**32, 2**33])
def test_hard_models_are_drawn_as_numpy_draws_them(arms: int) -> None:
    for seed in range(60):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        for drawn in range(3):  # what is drawn afterwards is the same, too
            if (seed + drawn) % 4:
                assert one.integers(100) == other.integers(100)  # keeps half a word
            found = rows_of(one, seed % 2, arms, 1 + seed)
            assert found == one_after_the_other(other, seed % 2, arms, 1 + seed)
            assert one.bit_generator.state == other.bit_generator.state


def test_where_numpy_might_draw_again_nothing_is_drawn_at_once() -> None:
    rng = np.random.default_rng(0)
    rng.integers(100)
    before = rng.bit_generator.state
    assert _at_once(rng, 0, MANY, 50) is None
    assert rng.bit_generator.state == before
    assert _at_once(rng, 0, 50, 50) is not None


def test_other_generators_are_asked_one_by_one() -> None:
    one, other = (np.random.Generator(np.random.MT19937(3)) for _ in range(2))
    assert rows_of(one, 4, 50, 20) == one_after_the_other(other, 4, 50, 20)


def test_a_random_structure_is_the_one_that_is_described() -> None:
    for seed in range(20):
        one, other = np.random.default_rng(seed), np.random.default_rng(seed)
        structure, truth = random_structure(one)
        table = np.empty((150, 50))
        table[:100] = other.random((100, 50))
        assert truth == other.integers(100)
        best = int(table[truth].argmax())
        for model, row in enumerate(one_after_the_other(other, best, 50, 50), start=100):
            table[model] = table[truth]
            table[model, row[1]] /= 10.0
            table[model, row[0]] = table[truth, best] + 0.2 * row[2]
        assert np.array_equal(structure.cells.table, table)


class Counted:
    """Draws small problems, and counts."""

    def __init__(self) -> None:
        self.draws = 0

    def __call__(self, rng: np.random.Generator) -> Problem:
        self.draws += 1
        structure = sb.FiniteStructure(rng.random((2, 2)))
        return Problem(structure, 0, sb.Bernoulli(structure.means(0)))


def test_problems_are_drawn_once_and_the_same() -> None:
    draw = Counted()
    once = DrawnOnce(draw)
    first, second = ([once(np.random.default_rng(seed)) for seed in range(9)] for _ in range(2))
    assert draw.draws == 9
    for seed, (one, other) in enumerate(zip(first, second, strict=True)):
        assert one is other
        assert one.structure == Counted()(np.random.default_rng(seed)).structure
    once(np.random.Generator(np.random.MT19937(3)))
    once(np.random.Generator(np.random.MT19937(3)))
    assert draw.draws == 11  # of other generators nothing is kept


def test_only_the_latest_problems_are_kept() -> None:
    draw = Counted()
    once = DrawnOnce(draw)
    for seed in range(MOST + 5):
        once(np.random.default_rng(seed))
    assert len(once._kept) == MOST
    once(np.random.default_rng(MOST + 4))
    assert draw.draws == MOST + 5
    once(np.random.default_rng(0))
    assert draw.draws == MOST + 6


def test_another_process_gets_no_problems() -> None:
    once = DrawnOnce(draw_random)
    once(np.random.default_rng(0))
    assert len(pickle.dumps(once)) < 1000
    assert pickle.loads(pickle.dumps(once))(np.random.default_rng(1)).structure.n_arms == 50
