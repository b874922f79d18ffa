"""Truths inside and just outside a structure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.advice.hard_instances import trials
from structured_bandits.advice.options import Options, checked_options
from structured_bandits.advice.truths import (
    BEST_IS_BAD,
    WORST_IS_BEST,
    best_is_bad,
    distance,
    named_truths,
    outsides,
    posterior_of,
    truths_of,
    worst_is_best,
)
from structured_bandits.experiments.paper.structures import figure1_left
from structured_bandits.protocols import Seen

TABLE = [[0.8, 0.2], [0.2, 0.6], [0.5, 0.4]]
TYPES = sb.FiniteStructure(TABLE, models=["a", "b", "c"])


def asked(structure: Any, **more: Any) -> Options:
    wanted = {"family": "bernoulli", "trust": 0.5, "prior": None, "wrong": (0.05,), "level": 0.05}
    wanted |= {"runs": None, "seconds": 60.0, "seed": 0, **more}
    return checked_options(structure, 100, **wanted)


def seen(pulls: list[int], sums: list[float]) -> Seen:
    return Seen(np.array(pulls), np.array(sums), np.full(len(pulls), np.nan))


def shares(options: Options, data: Seen | None = None, count: int = 4000) -> list[float]:
    """Return how often each model of the table is drawn."""
    truths, rng = truths_of(options, data), np.random.default_rng(5)
    drawn = np.array([truths.draw(rng) for _ in range(count)])
    return [float((drawn == row).all(axis=1).mean()) for row in TABLE]


def test_models_are_drawn_by_their_prior() -> None:
    assert shares(asked(TYPES)) == pytest.approx([1 / 3] * 3, abs=0.03)
    assert shares(asked(TYPES, prior=[1, 2, 5])) == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)


def test_data_make_the_prior_a_posterior() -> None:
    """Two pulls of each arm: one success on the first, none on the second."""
    likelihood = [0.8 * 0.2 * 0.8**2, 0.2 * 0.8 * 0.4**2, 0.5 * 0.5 * 0.6**2]
    expected = np.array(likelihood) * [1, 2, 5] / np.dot(likelihood, [1, 2, 5])
    options, data = asked(TYPES, prior=[1, 2, 5]), seen([2, 2], [1.0, 0.0])
    assert shares(options, data) == pytest.approx(expected.tolist(), abs=0.03)
    weights = posterior_of(options, data)
    assert weights / weights.sum() == pytest.approx(expected)


def test_models_that_no_reward_can_have_are_left_out() -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        partly = sb.FiniteStructure([[0.8, 1.2], [0.2, 0.6]])
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        never = sb.FiniteStructure([[0.8, 1.2]])
    truths, rng = truths_of(asked(partly), None), np.random.default_rng(0)
    assert {tuple(truths.draw(rng)) for _ in range(50)} == {(0.2, 0.6)}
    with pytest.raises(sb.ParameterError, match="no model has all its means in the range"):
        truths_of(asked(never), None)


def test_curves_are_drawn_evenly_in_the_parameter_and_follow_data() -> None:
    left, rng = figure1_left(), np.random.default_rng(6)
    truths = truths_of(asked(left), None)
    drawn = np.array([truths.draw(rng) for _ in range(2000)])
    assert (drawn[:, 1] == 0.2).mean() == pytest.approx(0.33, abs=0.04)  # the middle region
    learned = truths_of(asked(left), seen([0, 40, 0], [0.0, 8.0, 0.0]))
    assert "steps a cell" in learned.approximate
    drawn = np.array([learned.draw(rng) for _ in range(200)])
    assert (np.abs(drawn[:, 1] - 0.2) < 1e-9).all()


def test_a_polytope_is_walked_through_evenly() -> None:
    """Rising means of two arms: the triangle x <= y, whose centre is (1/3, 2/3)."""
    truths, rng = truths_of(asked(sb.monotone(2)), None), np.random.default_rng(7)
    drawn = np.array([truths.draw(rng) for _ in range(1500)])
    assert (drawn[:, 0] <= drawn[:, 1] + 1e-9).all()
    assert drawn.mean(axis=0) == pytest.approx([1 / 3, 2 / 3], abs=0.025)
    assert drawn.var(axis=0) == pytest.approx([1 / 18, 1 / 18], abs=0.008)
    assert "hit-and-run" in truths.approximate


def test_equations_hold_on_a_walk_and_data_pull_it() -> None:
    """A known best mean of 0.7; 400 pulls of the second arm paid 0.4 on average."""
    known, rng = sb.known_best_mean(3, 0.7), np.random.default_rng(8)
    truths = truths_of(asked(known), seen([0, 400, 0], [0.0, 160.0, 0.0]))
    drawn = np.array([truths.walks[0].draw(rng) for _ in range(100)])
    assert drawn[:, 0] == pytest.approx(0.7)
    assert drawn[:, 1].mean() == pytest.approx(0.4, abs=0.02)
    assert drawn[:, 1].std() == pytest.approx(0.0245, abs=0.008)  # sqrt(0.4 · 0.6 / 400)


def test_truths_outside_are_off_by_as_much_and_half_of_it_from_all_models() -> None:
    options = asked(TYPES)
    inside = truths_of(options, None)
    outside, rng = outsides(options, inside)["0.05"], np.random.default_rng(9)
    assert outside.exist(seed=0)
    for _ in range(50):
        far = np.abs(np.array(TABLE) - outside.draw(rng)).max(axis=1).min()
        assert 0.025 <= far <= 0.05 + 1e-12


def test_one_arm_is_off_by_much() -> None:
    options = asked(TYPES)
    outside, rng = outsides(options, truths_of(options, None)), np.random.default_rng(9)
    ends = options.ends
    for name, move in ((WORST_IS_BEST, worst_is_best), (BEST_IS_BAD, best_is_bad)):
        possible = {tuple(move(ends, np.array(row), rng).round(12)) for row in TABLE}
        drawn = {tuple(outside[name].draw(rng).round(12)) for _ in range(40)}
        assert drawn == possible


@pytest.mark.parametrize("row", [[0.2, 0.5], [0.9, 0.1, 0.4], [1.0, 0.0], [0.99, 0.5]], ids=str)
def test_the_worst_arm_is_better_by_a_quarter_than_all_others(row: list[float]) -> None:
    """Also where the best mean is at the end of the range: then the others are lowered."""
    for low, high in ((0.0, 1.0), (-3.0, 5.0)):
        means = low + (high - low) * np.array(row)
        moved = worst_is_best((low, high), means, np.random.default_rng(0))
        worst = means.argmin()
        others = np.delete(moved, worst) - low
        assert moved[worst] - low == pytest.approx(1.25 * others.max())
        assert moved.max() <= high + 1e-12
        bad = best_is_bad((low, high), means, np.random.default_rng(0))
        assert bad[means.argmax()] - low == pytest.approx(0.3 * (means.max() - low))
        assert (np.delete(bad, means.argmax()) == np.delete(means, means.argmax())).all()


def test_without_a_range_one_arm_is_off_within_the_spread_of_the_means() -> None:
    means, ends, rng = np.array([2.0, -1.0, 3.0]), (-math.inf, math.inf), np.random.default_rng(0)
    assert worst_is_best(ends, means, rng).tolist() == [2.0, 4.0, 3.0]
    assert best_is_bad(ends, means, rng) == pytest.approx([2.0, -1.0, 0.2])


def test_distances_of_tables_and_of_polytopes_mean_the_same() -> None:
    assert distance(TYPES, np.array([0.75, 0.3])) == pytest.approx(0.1)
    assert distance(sb.monotone(2), np.array([0.6, 0.4])) == pytest.approx(0.1)
    assert distance(sb.monotone(2), np.array([0.4, 0.6])) == pytest.approx(0.0, abs=1e-8)


def test_nothing_lies_outside_what_is_not_structured() -> None:
    options = asked(sb.unstructured(2))
    outside = outsides(options, truths_of(options, None))
    assert not any(each.exist(seed=0) for each in outside.values())


def test_trials_are_all_models_of_a_small_table_and_the_hardest_of_a_large_one() -> None:
    assert [
        trial.name for trial in trials(asked(TYPES), truths_of(asked(TYPES), None), [], _never)
    ] == [
        "model a",
        "model b",
        "model c",
    ]
    rng = np.random.default_rng(10)
    table = rng.uniform(0.1, 0.9, (30, 4))
    table[17] = [0.5, 0.501, 0.2, 0.1]  # the smallest gap by far
    large = asked(sb.FiniteStructure(table))
    names = [trial.name for trial in trials(large, truths_of(large, None), [], _never)]
    assert "model 18" in names
    assert 2 <= len(names) <= 10


def test_truths_of_the_user_have_names() -> None:
    named = named_truths(TYPES, ["b", 2, [0.1, 0.9]])
    assert [each.name for each in named] == ["b", "model c", "means 0.1, 0.9"]
    assert named[0].means.tolist() == [0.2, 0.6]
    with pytest.raises(sb.ParameterError, match="truths='b': expected a list"):
        named_truths(TYPES, "b")
    with pytest.raises(sb.ParameterError, match="none given"):
        named_truths(TYPES, [])


def _never() -> bool:
    return False
