"""The e-values of many runs at once: as single looks and oracles say, and each from its own run alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from oracles.misfit import log_e_curve, log_e_gaussian, log_e_table
from oracles.structures import MP

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, random_structure
from structured_bandits.inference.misfit import batch
from structured_bandits.inference.misfit.build import GRID, misfit_test, models_on
from structured_bandits.inference.misfit.e_value import fresh_look_memory, look_at

pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)
SHAPES = ((1, 1), (1, 9), (3, 2), (4, 4), (8, 1), (9, 3), (17, 129), (50, 150))  # arms and models
UNIT = (0.0, 1.0, 0.5)
GAUSSIAN = (-math.inf, math.inf, 0.7)


def log_e_of_each(test: Any, pulls: Any, sums: Any) -> Any:
    return batch.log_e_values([test], test.scale, pulls, sums)


def rounding(test: Any, pulls: Any, sums: Any) -> Any:
    """What rounding may do to each run's log e-value: log-likelihoods are of the size of the pulls."""
    sizes = pulls + np.abs(sums) / test.scale.sigma**2
    return 1e-12 + 1e-14 * sizes.sum(axis=1)


def check(test: Any, pulls: Any, sums: Any) -> None:
    """Compare with a look at each run, which goes arm by arm as compiled code does."""
    found = log_e_of_each(test, pulls, sums)
    rows = zip(pulls, sums, strict=True)
    expected = np.array([look_at(test, *row, fresh_look_memory(test)).log_e for row in rows])
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    off = np.abs(found[finite] - expected[finite])
    assert (off <= rounding(test, pulls, sums)[finite]).all()


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
            test = misfit_test(sb.FiniteStructure(means, prior=prior), *UNIT)
            check(test, *results(rng, 12, arms, most, kind))


@pytest.mark.parametrize("arms", [1, 4, 9])
def test_gaussian_rewards_and_other_ranges(arms: int) -> None:
    rng = np.random.default_rng(arms)
    structure = sb.FiniteStructure(rng.random((6, arms)))
    pulls = rng.integers(0, 300, (20, arms))
    sums = 0.4 * pulls + rng.standard_normal((20, arms)) * np.sqrt(pulls)
    check(misfit_test(structure, *GAUSSIAN), pulls, sums)
    check(misfit_test(structure, -1.0, 3.0, 2.0), pulls, np.clip(sums, -pulls, 3.0 * pulls))


@pytest.mark.parametrize("informative", [True, False])
@pytest.mark.parametrize("kind", ["coins", "between", "extremes"])
@pytest.mark.parametrize("scale", [UNIT, GAUSSIAN])
def test_curves(informative: bool, kind: str, scale: Any) -> None:
    rng = np.random.default_rng([4, informative, len(kind)])
    for most in (2, 400, 10**5):
        test = misfit_test(figure1_left(informative), *scale)
        check(test, *results(rng, 6, 3, most, kind))


@pytest.mark.parametrize("scale", [UNIT, GAUSSIAN])
def test_boxes(scale: Any) -> None:
    """Boxes that end at 0, at 1 or outside, and a box that is outside as a whole."""
    rng = np.random.default_rng(10)
    table = np.vstack([rng.random((6, 4)), np.full((1, 4), 1.3), np.full((1, 4), 0.1)])
    structure = sb.around(table, margins=0.1)
    for most in (2, 50, 10**5):
        for kind in ("coins", "between", "extremes"):
            check(misfit_test(structure, *scale), *results(rng, 10, 4, most, kind))


def test_products_and_polytopes() -> None:
    """They take long, and their e-values are computed if somebody asks for them."""
    rng = np.random.default_rng(11)
    curve = sb.CurveStructure([sb.Piece(0.0, 1.0, (0.1, 0.8), (0.9, 0.2))])
    product = sb.product([curve, sb.FiniteStructure([[0.5], [0.3]])])
    check(misfit_test(product, *UNIT), *results(rng, 10, 3, 90, "coins"))
    check(misfit_test(sb.lipschitz([0.0, 0.1, 0.3], 2.0), *UNIT), *results(rng, 4, 3, 90, "coins"))


def hostile(rng: np.random.Generator, runs: int, arms: int) -> tuple[Any, Any]:
    """Pulls and sums of rewards in eighths of [0, 1], often all 0 or all 1."""
    pulls = rng.integers(0, rng.choice([2, 9, 400]), (runs, arms))
    return pulls, pulls * rng.choice([0.0, 0.125, 0.5, 0.875, 1.0], (runs, arms))


def near(found: float, expected: Any) -> bool:
    if math.isinf(found) or MP.isinf(expected):
        return found == float(expected)
    return abs(found - float(expected)) <= 1e-11 * (1.0 + abs(float(expected)))


def test_the_oracle_of_tables_says_the_same() -> None:
    """Means in eighths exclude hits, misses or both, of no arm, of one or of several."""
    rng = np.random.default_rng(12)
    for _ in range(60):
        models, arms = rng.integers(1, 5, 2)
        table = rng.integers(-1, 10, (models, arms)) / 8
        prior = rng.integers(1, 4, models) if rng.random() < 0.5 else None
        pulls, sums = hostile(rng, 3, arms)
        test = misfit_test(sb.FiniteStructure(table, prior=prior), *UNIT)
        for run, found in enumerate(log_e_of_each(test, pulls, sums)):
            row = table.tolist(), pulls[run].tolist(), sums[run].tolist()
            assert near(found, log_e_table(*row, prior=None if prior is None else prior.tolist()))


def test_the_oracle_of_gaussian_tables_says_the_same() -> None:
    rng = np.random.default_rng(13)
    for _ in range(10):
        table = np.round(rng.normal(0.0, 2.0, (3, 2)), 3)
        pulls = rng.integers(0, 60, (3, 2))
        sums = np.round(pulls * rng.normal(0.0, 2.0, (3, 2)), 3)
        test = misfit_test(sb.FiniteStructure(table), -math.inf, math.inf, 0.75)
        for run, found in enumerate(log_e_of_each(test, pulls, sums)):
            row = table.tolist(), pulls[run].tolist(), sums[run].tolist()
            assert near(found, log_e_gaussian(*row, 0.75, test.scale.centres.tolist(), 1))


def test_the_oracle_of_curves_says_the_same() -> None:
    rng = np.random.default_rng(14)
    for _ in range(8):
        ends = rng.integers(-1, 10, (2, 2, 3)) / 8
        pieces = [sb.Piece(float(k), k + 1.0, *map(tuple, ends[k].tolist())) for k in range(2)]
        structure = sb.CurveStructure(pieces)
        pulls, sums = hostile(rng, 2, 3)
        test = misfit_test(structure, *UNIT)
        grid = models_on(structure.model_lines[0], GRID).tolist()
        for run, found in enumerate(log_e_of_each(test, pulls, sums)):
            row = pulls[run].tolist(), sums[run].tolist()
            assert near(found, log_e_curve([(a, b) for a, b in ends.tolist()], grid, *row))


KINDS = (
    "table",
    "table of one model",
    "table of many arms and one model",
    "Gaussian table",
    "large table",
    "curve",
    "curve of many arms",
    "Gaussian curve",
    "boxes",
)


def some_test(kind: str) -> Any:
    rng = np.random.default_rng(15)
    table, (large, _) = rng.random((5, 6)) * 1.1, random_structure(rng)
    ends = (tuple(row) for row in rng.random((2, 19)).tolist())
    structures: dict[str, Any] = {
        "table": sb.FiniteStructure(table),
        "table of one model": sb.FiniteStructure(table[:1]),
        "table of many arms and one model": sb.FiniteStructure(rng.random((1, 33))),
        "large table": large,
        "curve": figure1_left(),
        "curve of many arms": sb.CurveStructure([sb.Piece(0.0, 1.0, *ends)]),
        "boxes": sb.around(table, margins=0.05),
    }
    if kind.startswith("Gaussian"):
        return misfit_test(structures[kind.removeprefix("Gaussian ")], *GAUSSIAN)
    return misfit_test(structures[kind], *UNIT)


@pytest.mark.parametrize("kind", KINDS)
def test_an_e_value_does_not_depend_on_the_runs_beside(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the last bit, however runs are ordered, split, and looked at together.

    A look that was taken at other runs before differed in the last bits where an arm was not pulled.
    """
    test, rng = some_test(kind), np.random.default_rng(7)
    for most in (3, 1000):
        pulls, sums = results(rng, 64, len(test.grid.per_hit), most, "coins")
        together = log_e_of_each(test, pulls, sums)
        assert len(np.unique(together)) > 5
        order = rng.permutation(64)
        parts = np.split(order, np.sort(rng.integers(0, 65, 12)))
        apart = np.empty(64)
        for part in parts:
            apart[part] = log_e_of_each(test, pulls[part], sums[part])
        np.testing.assert_array_equal(apart, together)
        of_each = batch.log_e_values([test] * 64, test.scale, pulls, sums)
        np.testing.assert_array_equal(of_each, together)
        with monkeypatch.context() as small_blocks:
            small_blocks.setattr(batch, "AT_ONCE", 3 * test.grid.per_hit.size)
            np.testing.assert_array_equal(log_e_of_each(test, pulls, sums), together)


@pytest.mark.parametrize(
    "structure", [figure1_left(), sb.FiniteStructure([[0.4, 0.9, 0.6], [0.7, 0.2, 1.0]])]
)
def test_workers_do_not_change_e_values(structure: Any) -> None:
    def played(workers: int) -> Any:
        how: Any = {"horizon": 60, "runs": 13, "engine": "python", "workers": workers, "seed": 4}
        return sb.simulate(sb.UCB(structure), sb.Bernoulli([0.5, 0.6, 0.7]), **how).e_values["UCB"]

    np.testing.assert_array_equal(played(1), played(2))


@pytest.mark.parametrize("drop", [0.0, 0.5, 3.0])  # from model to model
def test_terms_that_are_left_out_do_not_matter(drop: float) -> None:
    """Terms of all sizes from the peak down to far below what is left out, against sums of 60 digits."""
    weighted = np.tile(-1e4 - drop * np.arange(50.0), (2, 1))
    freed = -(np.linspace(0.0, 60.0, 500).reshape(2, 5, 50) ** np.array([[[1.0]], [[1.3]]]))
    others = np.array([-9990.0, -1e4, -math.inf])
    runs = np.array([0, 0, 1])
    found = batch._log_sums(weighted, freed, runs, others)
    for run in range(2):
        terms = weighted[run].astype(object) + np.vectorize(MP.mpf)(freed[run])
        values = [*terms.ravel(), *others[runs == run]]
        expected = MP.log(MP.fsum(MP.exp(value + 10_000) for value in values)) - 10_000
        assert abs(found[run] - expected) < 4e-12  # numbers about 10,000 are 2e-12 apart


def test_runs_without_terms() -> None:
    """One has nothing at all, two have another term only, before and after a run that has terms."""
    none = [-math.inf, -math.inf]
    weighted = np.array([none, none, [-4.0, -math.inf], none])
    freed = np.tile([[1.0, 2.0], [-math.inf, 5.0]], (4, 1, 1))
    found = batch._log_sums(weighted, freed, np.array([1, 3]), np.array([-9.0, -7.0]))
    np.testing.assert_array_equal(found, [-math.inf, -9.0, -3.0, -7.0])


def test_a_prior_that_excludes_models() -> None:
    """The weight 0 of a model is that in the mixture: the likeliest model may still be this one."""
    table = [[0.25, 0.5], [0.75, 0.5]]
    test = misfit_test(sb.FiniteStructure(table), *UNIT)
    with np.errstate(divide="ignore"):
        grid = test.grid._replace(prior=np.log([1.0, 0.0]))
    pulls, sums = np.array([[8, 4]]), np.array([[6.0, 2.0]])
    (found,) = log_e_of_each(test._replace(grid=grid), pulls, sums)
    assert near(found, log_e_table(table, [8, 4], [6.0, 2.0], prior=[1, 0]))


def check_each(tests: list[Any], pulls: Any, sums: Any) -> None:
    """Each run has a test of its own, and has the e-value that it has alone, to the last bit."""
    rows = zip(tests, pulls[:, np.newaxis], sums[:, np.newaxis], strict=True)
    expected = np.concatenate([batch.e_values(*row) for row in rows])
    np.testing.assert_array_equal(batch.e_values_of_each(tests, pulls, sums), expected)


@pytest.mark.parametrize(("arms", "models"), SHAPES)
def test_tables_of_their_own(arms: int, models: int) -> None:
    """Some exclude what was seen and some do not, so that both ways of summing meet in one look."""
    rng = np.random.default_rng([arms, models])
    for most in (2, 50, 10**6):
        tables = [rng.random((models, arms)) * (1.2 if run % 2 else 0.9) for run in range(7)]
        tests = [misfit_test(sb.FiniteStructure(means), *UNIT) for means in tables]
        tests[3] = misfit_test(
            sb.FiniteStructure(tables[3], prior=rng.random(models) + 0.1), 0.0, 1.0, 0.5
        )
        check_each(tests, *results(rng, 7, arms, most, "coins"))


def test_gaussian_rewards_on_tables_of_their_own() -> None:
    """The centres of the mixtures are the structures' own."""
    rng = np.random.default_rng(8)
    structures = [sb.FiniteStructure(rng.random((6, 4))) for _ in range(5)]
    tests = [misfit_test(structure, *GAUSSIAN) for structure in structures]
    pulls = rng.integers(0, 300, (5, 4))
    check_each(tests, pulls, 0.4 * pulls + rng.standard_normal((5, 4)) * np.sqrt(pulls))


def test_tests_that_differ_in_size_in_range_or_in_kind() -> None:
    rng = np.random.default_rng(9)
    small, large = (sb.FiniteStructure(rng.random((models, 3))) for models in (2, 5))
    curve, other_curve = figure1_left(), figure1_left(informative=False)
    pulls, sums = results(rng, 2, 3, 40, "coins")
    for tests in (
        [misfit_test(small, *UNIT), misfit_test(large, *UNIT)],
        [misfit_test(small, *UNIT), misfit_test(small, -1.0, 3.0, 2.0)],
        [misfit_test(small, *UNIT), misfit_test(curve, *UNIT)],
        [misfit_test(curve, *UNIT), misfit_test(other_curve, *UNIT)],
    ):
        check_each(tests, pulls, sums)
