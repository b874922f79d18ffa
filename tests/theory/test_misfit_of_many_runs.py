"""The e-values of many runs at once are those of one look at each run, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left
from structured_bandits.misfit import many
from structured_bandits.misfit.build import misfit_test
from structured_bandits.misfit.e_value import e_value_of
from structured_bandits.misfit.quick import QuickLook

pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)
SHAPES = ((1, 1), (1, 9), (3, 2), (4, 4), (8, 1), (9, 3), (17, 129), (50, 150))  # arms and models


def by_single_looks(test: Any, pulls: Any, sums: Any) -> list[float]:
    rows = zip(pulls, sums, strict=True)
    return [e_value_of(QuickLook(test).log_e(*row)) for row in rows]


def check(test: Any, pulls: Any, sums: Any) -> None:
    expected = by_single_looks(test, pulls, sums)
    np.testing.assert_array_equal(many.e_values(test, pulls, sums), expected)  # not nearly: exactly


def results(
    rng: np.random.Generator, runs: int, arms: int, most: int, kind: str
) -> tuple[Any, Any]:
    """Return pulls and sums: of coins, of anything in between, of nothing but hits and misses."""
    pulls = rng.integers(0, most, (runs, arms))
    if kind == "coins":
        return pulls, rng.binomial(pulls, rng.random(arms)).astype(float)
    if kind == "between":
        return pulls, pulls * rng.random((runs, arms))
    return pulls, np.where(rng.random((runs, arms)) < 0.5, pulls, 0).astype(float)


@pytest.mark.parametrize(("arms", "models"), SHAPES)
@pytest.mark.parametrize("kind", ["coins", "between", "extremes"])
def test_tables(arms: int, models: int, kind: str) -> None:
    """With means of 0 and 1 and above, which exclude what was seen; with priors; few and many pulls."""
    rng = np.random.default_rng([arms, models, len(kind)])
    for most in (2, 50, 10**6):
        table = rng.random((models, arms)) * 1.2
        coarse = np.round(table * 3.0) / 3.0
        for means, prior in ((table, None), (coarse, rng.random(models) + 0.1)):
            test = misfit_test(sb.FiniteStructure(means, prior=prior), 0.0, 1.0, 0.5)
            check(test, *results(rng, 12, arms, most, kind))


@pytest.mark.parametrize("arms", [1, 4, 9])
def test_gaussian_rewards_and_other_ranges(arms: int) -> None:
    rng = np.random.default_rng(arms)
    structure = sb.FiniteStructure(rng.random((6, arms)))
    pulls = rng.integers(0, 300, (20, arms))
    sums = 0.4 * pulls + rng.standard_normal((20, arms)) * np.sqrt(pulls)
    check(misfit_test(structure, -math.inf, math.inf, 0.7), pulls, sums)
    check(misfit_test(structure, -1.0, 3.0, 2.0), pulls, np.clip(sums, -pulls, 3.0 * pulls))


def test_curves() -> None:
    rng = np.random.default_rng(4)
    check(misfit_test(figure1_left(), 0.0, 1.0, 0.5), *results(rng, 4, 3, 400, "coins"))


def test_many_equal_counts_are_computed_once_and_stay_the_same() -> None:
    """Enough numbers that they are sorted, few enough that most come again and again."""
    rng = np.random.default_rng(5)
    test = misfit_test(sb.FiniteStructure(rng.random((3, 4))), 0.0, 1.0, 0.5)
    pulls, sums = results(rng, many.WORTH_SORTING // 2, 4, 12, "coins")
    check(test, pulls, sums)


def test_keys_that_are_alike_by_chance_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "KEYS", (np.uint64(0), np.uint64(0)))
    rng = np.random.default_rng(6)
    test = misfit_test(sb.FiniteStructure(rng.random((3, 4))), 0.0, 1.0, 0.5)
    check(test, *results(rng, many.WORTH_SORTING // 2, 4, 12, "coins"))


def test_an_e_value_does_not_depend_on_the_runs_beside() -> None:
    """A look that was taken at other runs before differed in the last bits where an arm was not pulled."""
    rng = np.random.default_rng(7)
    test = misfit_test(sb.FiniteStructure(rng.random((5, 6))), 0.0, 1.0, 0.5)
    pulls, sums = results(rng, 400, 6, 3, "coins")
    assert (pulls == 0).any()
    together = many.e_values(test, pulls, sums)
    parts = [many.e_values(test, pulls[part], sums[part]) for part in np.split(np.arange(400), 8)]
    np.testing.assert_array_equal(together, np.concatenate(parts))


def check_each(tests: list[Any], pulls: Any, sums: Any) -> None:
    """Each run has a test of its own."""
    rows = zip(tests, pulls, sums, strict=True)
    expected = [e_value_of(QuickLook(test).log_e(*row)) for test, *row in rows]
    np.testing.assert_array_equal(many.e_values_of_each(tests, pulls, sums), expected)


@pytest.mark.parametrize(("arms", "models"), SHAPES)
def test_tables_of_their_own(arms: int, models: int) -> None:
    """Some exclude what was seen and some do not, so that both ways of summing meet in one look."""
    rng = np.random.default_rng([arms, models])
    for most in (2, 50, 10**6):
        tables = [rng.random((models, arms)) * (1.2 if run % 2 else 0.9) for run in range(7)]
        tests = [misfit_test(sb.FiniteStructure(means), 0.0, 1.0, 0.5) for means in tables]
        tests[3] = misfit_test(
            sb.FiniteStructure(tables[3], prior=rng.random(models) + 0.1), 0.0, 1.0, 0.5
        )
        check_each(tests, *results(rng, 7, arms, most, "coins"))


def test_gaussian_rewards_on_tables_of_their_own() -> None:
    """The centres of the mixtures are the structures' own."""
    rng = np.random.default_rng(8)
    structures = [sb.FiniteStructure(rng.random((6, 4))) for _ in range(5)]
    tests = [misfit_test(structure, -math.inf, math.inf, 0.7) for structure in structures]
    pulls = rng.integers(0, 300, (5, 4))
    check_each(tests, pulls, 0.4 * pulls + rng.standard_normal((5, 4)) * np.sqrt(pulls))


def test_tests_that_differ_in_size_in_range_or_in_kind() -> None:
    rng = np.random.default_rng(9)
    small, large = (sb.FiniteStructure(rng.random((models, 3))) for models in (2, 5))
    curve, other_curve = figure1_left(), figure1_left(informative=False)
    pulls, sums = results(rng, 2, 3, 40, "coins")
    for tests in (
        [misfit_test(small, 0.0, 1.0, 0.5), misfit_test(large, 0.0, 1.0, 0.5)],
        [misfit_test(small, 0.0, 1.0, 0.5), misfit_test(small, -1.0, 3.0, 2.0)],
        [misfit_test(small, 0.0, 1.0, 0.5), misfit_test(curve, 0.0, 1.0, 0.5)],
        [misfit_test(curve, 0.0, 1.0, 0.5), misfit_test(other_curve, 0.0, 1.0, 0.5)],
    ):
        check_each(tests, pulls, sums)
