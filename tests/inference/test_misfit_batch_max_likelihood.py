"""The likeliest models of many runs: never too low, hardly too high, whatever the cells look like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracles.misfit import Coins, Normal, highest_on_piece
from oracles.structures import exact
from scipy.optimize import minimize_scalar

from structured_bandits.inference.misfit import batch_max_likelihood
from structured_bandits.inference.misfit.max_likelihood import BoxModels
from structured_bandits.inference.misfit.reward_likelihood import (
    Counts,
    RewardScale,
    log_likelihood,
)

UNIT = RewardScale(False, 0.0, 1.0, 0.5, np.empty(0))
WIDE = RewardScale(False, -2.0, 5.0, 2.5, np.empty(0))
GAUSSIAN = RewardScale(True, 0.0, 1.0, 0.5, np.zeros(8))
NOTHING_KNOWN = np.array([-math.inf])


def found_on(scale: Any, start: Any, end: Any, first: Any, second: Any) -> float:
    """The highest log-likelihood on one cell."""
    lines = [(np.array([start], float), np.array([end], float))]
    counts = Counts(np.array([first], float), np.array([second], float))
    return float(
        batch_max_likelihood.max_likelihood_on_lines(scale, lines, counts, NOTHING_KNOWN)[0]
    )


def by_oracle(scale: Any, start: Any, end: Any, first: Any, second: Any) -> float:
    """The same in fractions, scaled to [0, 1]."""
    law: Any = Normal(scale.sigma, [0] * len(start), 1) if scale.gaussian else Coins()
    ends = [
        [(exact(float(mean)) - exact(scale.bottom)) / exact(scale.width) for mean in each]
        for each in (start, end)
    ]
    sums, others = (list(map(exact, map(float, each))) for each in (first, second))
    pulls: Any = others if scale.gaussian else [a + b for a, b in zip(sums, others, strict=True)]
    return float(highest_on_piece(law, *ends, pulls, sums))


def size_of(first: Any, second: Any) -> float:
    return 1.0 + float(np.abs(first).sum() + np.abs(second).sum())


CASES: dict[str, tuple[Any, ...]] = {
    "maximum inside": (UNIT, [0.2, 0.9], [0.8, 0.3], [30, 40], [70, 11]),
    "maximum at the start": (UNIT, [0.5], [0.9], [3], [97]),
    "maximum at the end": (UNIT, [0.1], [0.5], [97], [3]),
    "both ends impossible": (UNIT, [0.0, 0.5], [1.0, 0.5], [10, 2], [30, 2]),
    "start impossible": (UNIT, [0.0], [1.0], [7], [0]),
    "impossible on all of the cell": (UNIT, [0.0, 0.2], [0.0, 0.7], [1, 3], [4, 3]),
    "misses excluded on all of the cell": (UNIT, [1.0, 0.2], [1.0, 0.7], [1, 3], [4, 3]),
    "a mean of 0 that was confirmed": (UNIT, [0.0, 0.2], [0.0, 0.7], [0, 3], [4, 3]),
    "outside on all of the cell": (UNIT, [1.2, 0.2], [1.2, 0.7], [1, 3], [0, 3]),
    "outside, but never pulled": (UNIT, [1.2, 0.2], [1.5, 0.7], [0, 3], [0, 3]),
    "outside on a part of the cell": (UNIT, [-0.3, 0.2], [1.4, 0.7], [50, 3], [4, 3]),
    "possible in one point, which excludes hits": (UNIT, [0.0], [-0.5], [1], [0]),
    "possible in one point": (UNIT, [0.0], [-0.5], [0], [6]),
    "no two means possible together": (UNIT, [0.5, 1.1], [1.5, 0.6], [1, 1], [1, 1]),
    "nothing pulled": (UNIT, [0.5, 1.1], [1.5, 0.6], [0, 0], [0, 0]),
    "maximum next to the start": (UNIT, [0.0], [1.0], [1], [10**9]),
    "maximum next to the end": (UNIT, [0.0], [1.0], [10**9], [1]),
    "two arms that pull hard": (UNIT, [0.001, 0.999], [0.999, 0.001], [10**6, 10**6], [3, 3]),
    "more than a hundred of Newton's steps, if none were halved": (
        UNIT,
        [0.9999999999709975, 0.059004722726722],
        [2.415581607615293e-12, 0.9981143288787011],
        [658149318, 1],
        [7, 72],
    ),
    "nearly flat": (UNIT, [0.5, 0.3], [0.5 + 1e-12, 0.3], [600, 300], [500, 700]),
    "one model": (UNIT, [0.5, 0.3], [0.5, 0.3], [600, 300], [500, 700]),
    "a step as small as numbers get": (UNIT, [0.0], [5e-324], [0], [700]),
    "another range": (WIDE, [-2.0, 1.0], [3.0, -1.5], [30.5, 1.5], [2.5, 60.0]),
    "Gaussian, inside": (GAUSSIAN, [-3.0, 2.0], [5.0, 1.0], [33.0, 18.0], [10, 12]),
    "Gaussian, at an end": (GAUSSIAN, [-3.0, 2.0], [5.0, 1.0], [330.0, 18.0], [10, 12]),
    "Gaussian, no pulls": (GAUSSIAN, [-3.0, 2.0], [5.0, 1.0], [0.0, 0.0], [0, 0]),
}


@pytest.mark.parametrize("case", CASES)
def test_named_cells_have_the_maximum_of_the_oracle(case: str) -> None:
    found, expected = found_on(*CASES[case]), by_oracle(*CASES[case])
    if math.isinf(expected):
        assert found == expected
    else:
        assert abs(found - expected) <= 3e-14 * size_of(*CASES[case][-2:])


def random_cell(rng: np.random.Generator) -> tuple[Any, ...]:
    arms = int(rng.integers(1, 6))
    start, end = rng.random((2, arms)) if rng.random() < 0.5 else rng.integers(0, 5, (2, arms)) / 4
    pulls = rng.integers(0, rng.choice([2, 9, 400, 10**6]), arms)
    first = np.floor(pulls * rng.choice([0.0, 1.0, rng.random()], arms))
    return start, end, first, pulls - first


def log_likelihood_at(position: float, start: Any, end: Any, first: Any, second: Any) -> float:
    means = start + position * (end - start)
    rows = zip(means, first, second, strict=True)
    return sum(log_likelihood(UNIT, *row) for row in rows)


def test_no_model_of_a_cell_is_likelier_and_the_best_is_as_likely() -> None:
    """A thousand positions on each cell, and the best that scipy finds between its neighbours."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(150):
        cell = random_cell(rng)
        found = found_on(UNIT, *cell)
        positions = np.linspace(0.0, 1.0, 1001)
        values = [log_likelihood_at(position, *cell) for position in positions]
        best, slack = int(np.argmax(values)), 1e-14 * size_of(*cell[2:])
        assert found >= values[best] - slack
        if values[best] == -math.inf:
            assert found == -math.inf
            continue
        ends = positions[max(best - 1, 0)], positions[min(best + 1, 1000)]
        search = minimize_scalar(
            lambda x, cell=cell: -log_likelihood_at(x, *cell),
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-12},
        )
        assert found >= -search.fun - slack
        assert found <= max(-search.fun, values[best]) + 1e-9 * size_of(*cell[2:])
        inside += 0 < best < 1000
    assert inside > 30


def test_cells_below_what_is_known_are_left_and_the_others_found() -> None:
    """Ten cells of each run; a run that knows nothing, and runs that know what the maximum nearly is."""
    rng = np.random.default_rng(1)
    lines = [(rng.random((10, 3)), rng.random((10, 3))) for _ in range(40)]
    pulls = rng.integers(1, 3000, (40, 3)).astype(float)
    first = np.floor(pulls * rng.random((40, 3)))
    counts = Counts(first, pulls - first)
    full = batch_max_likelihood.max_likelihood_on_lines(UNIT, lines, counts, np.full(40, -math.inf))
    np.testing.assert_array_equal(
        batch_max_likelihood.max_likelihood_on_lines(UNIT, lines, counts, full), full
    )
    below = batch_max_likelihood.max_likelihood_on_lines(UNIT, lines, counts, full - 0.1)
    np.testing.assert_array_equal(below, full)
    each = [
        max(
            found_on(UNIT, start[cell], end[cell], first[run], pulls[run] - first[run])
            for cell in range(10)
        )
        for run, (start, end) in enumerate(lines)
    ]
    np.testing.assert_array_equal(full, each)


def test_a_search_that_is_cut_short_is_too_high_and_never_too_low(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(2)
    cells = [random_cell(rng) for _ in range(60)]
    full = np.array([found_on(UNIT, *cell) for cell in cells])
    slack = np.array([1e-14 * size_of(*cell[2:]) for cell in cells])
    monkeypatch.setattr(batch_max_likelihood, "STEPS", 2)
    short = np.array([found_on(UNIT, *cell) for cell in cells])
    possible = short > -math.inf  # three looks may all be at models that exclude what was seen
    assert (short >= full - slack)[possible].all()
    assert (short > full + 1e-6)[possible].any()


def test_boxes_outside_the_range_exclude_every_reward() -> None:
    """Also rewards of 1 only, for which a box at the end of the range would be perfect."""
    boxes = BoxModels(np.array([[1.2, 0.2], [0.1, 0.3]]), np.array([[1.4, 0.4], [0.2, 0.6]]))
    for first, second in (([5.0, 2.0], [0.0, 4.0]), ([0.0, 2.0], [0.0, 4.0])):
        counts = Counts(np.array(first), np.array(second))
        expected = boxes.likeliest(UNIT, counts, np.empty(0)).log_likelihood
        assert math.isclose(batch_max_likelihood._highest_in_boxes(UNIT, boxes, counts), expected)


def test_searches_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method needs some ten looks where halving needs sixty; none needs all that are allowed."""
    looks = []
    slopes_at = batch_max_likelihood._slopes_at

    def counted(*arguments: Any) -> Any:
        looks[-1] += 1
        return slopes_at(*arguments)

    monkeypatch.setattr(batch_max_likelihood, "_slopes_at", counted)
    rng = np.random.default_rng(3)
    for cell in [random_cell(rng) for _ in range(300)] + [
        case[1:] for case in CASES.values() if case[0] is UNIT
    ]:
        looks.append(0)
        found_on(UNIT, *cell)
    assert np.mean(looks) < 10
    assert max(looks) < batch_max_likelihood.STEPS // 2
