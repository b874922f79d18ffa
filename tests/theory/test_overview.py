"""One row for each model: `sb.analyse(structure)` and `sb.overview`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right
from structured_bandits.theory.overview import MOST_MODELS

N = 10_000
#: In model a, arm 1 must be refuted against 0.9; in model b pulls of the best arm alone refute a.
PAIR = sb.FiniteStructure([[0.8, 0.5], [0.8, 0.9]], models=["a", "b"])
LINEAR = sb.linear([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], bounds=(0.0, 1.0))


def rows(overview: sb.Overview) -> dict[str, Any]:
    return {row.name: row for row in overview.table}


def test_a_pair_of_models_by_hand() -> None:
    a, b = sb.analyse(PAIR).table
    divergence = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1)
    assert (a.model, a.name, a.best_arm, a.mistaken_for) == (0, "a", "0", "b")
    assert a.constant == pytest.approx(0.3 / divergence, rel=1e-7)
    assert a.forced == pytest.approx(0.3 / divergence * math.log(N), rel=1e-7)
    assert a.rough_cost == pytest.approx(0.3 * math.log(N) / 0.4**2)
    assert (a.smallest_gap, a.largest_gap, a.difference) == pytest.approx((0.3, 0.3, 0.4))
    assert (a.constant_regret_possible, a.gamma_star, a.decoys) == (False, 0.0, ())
    assert (b.model, b.name, b.best_arm, b.mistaken_for) == (1, "b", "1", "a")
    assert (b.constant, b.forced, b.vacuous, b.constant_regret_possible) == (0.0, 0.0, False, True)
    assert b.gamma_star == pytest.approx(0.4)
    assert b.decoys == ("0",)  # the best arm of a has the same mean here


def test_the_paper_s_table_golden() -> None:
    first = sb.analyse(figure1_right()).table[0]
    assert first.name == "model 1"
    assert first.constant == pytest.approx(1.07456, abs=5e-6)
    refuting = 0.1 / 0.22**2 + 0.2 / 0.4**2 + 0.3 / 0.38**2  # arm 4 tells the model of arm 3 best
    assert first.rough_cost == pytest.approx(math.log(N) * refuting)


CASES: dict[str, tuple[sb.FiniteStructure | Any, list[Any]]] = {
    "right": (figure1_right(), [0, 1, 2, 3]),
    "left": (figure1_left(), [0.165, 0.495, 0.83]),
    "random": (sb.FiniteStructure(np.random.default_rng(5).integers(1, 9, (12, 4)) / 10), [*range(12)]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_each_row_has_the_numbers_of_its_analysis(case: str, family: str) -> None:
    structure, models = CASES[case]
    overview = sb.overview(structure, family=family, sigma=0.7)
    assert sorted(row.model for row in overview.table) == pytest.approx(models)
    for row in overview.table:
        analysis = sb.analyse(structure, row.model)
        names = structure.arm_names
        nearest = [analysis.hardest(arm) for arm in analysis.other_arms]
        closest = min(nearest, key=lambda near: near.gap)
        assert row.name == structure.model_name(row.model)
        assert row.best_arm == names[analysis.best_arm]
        assert row.smallest_gap == np.sort(analysis.gaps)[1]
        assert row.largest_gap == analysis.gaps.max()
        assert row.gamma_star == analysis.gamma_star
        assert row.constant_regret_possible == analysis.constant_regret_possible
        assert row.constant == analysis.lower_bound(family, 0.7).constant
        assert row.decoys == tuple(names[arm] for arm in analysis.decoys)
        assert row.mistaken_for == structure.model_name(closest.model)
        assert row.difference == closest.gap


def test_the_worst_comes_first() -> None:
    table = sb.analyse(CASES["random"][0]).table
    keys = [(round(row.forced, 5), round(row.rough_cost, 5)) for row in table]
    assert keys == sorted(keys, reverse=True)
    assert len({forced for forced, _ in keys}) > 2
    assert len({forced for forced, _ in keys}) < len(keys)  # so that the rough cost decides, too
    assert sb.analyse(CASES["random"][0]).hardest == table[0].model


def test_equal_models_stay_in_their_order() -> None:
    mirrored = sb.FiniteStructure([[0.8, 0.3, 0.3], [0.3, 0.8, 0.3], [0.3, 0.3, 0.8]])
    assert [row.model for row in sb.analyse(mirrored).table] == [0, 1, 2]


def test_no_more_is_forced_than_can_be_lost() -> None:
    near = sb.FiniteStructure([[0.5, 0.49], [0.5, 0.51]])
    row = rows(sb.overview(near, horizon=10))["0"]
    assert row.constant * math.log(10) > 20
    assert (row.vacuous, row.forced) == (True, pytest.approx(10 * 0.01))
    assert row.rough_cost == pytest.approx(10 * 0.01)
    assert not rows(sb.overview(near, horizon=10**7))["0"].vacuous
    assert "vacuous" in str(sb.overview(near, horizon=10))
    assert "vacuous" not in str(sb.overview(near, horizon=10**7))


def test_curves_are_listed_by_the_middles_of_their_cells() -> None:
    overview = sb.analyse(figure1_left())
    assert sorted(row.model for row in overview.table) == pytest.approx([0.165, 0.495, 0.83])
    assert "the middle of each interval" in overview.choice
    assert "Listed: the middle of each interval" in str(overview)
    point = sb.CurveStructure([sb.Piece(2.0, 2.0, [0.3, 0.6], [0.3, 0.6])])
    assert sb.analyse(point).hardest == 2.0


def test_models_of_one_s_choice() -> None:
    overview = sb.overview(LINEAR, models=[LINEAR.at([0.3, 0.6]), [0.7, 0.5, 0.3]])
    assert overview.choice == "the models given"
    named = rows(overview)
    assert named["(0.3, 0.6)"].best_arm == "2"
    assert named["means 2"].best_arm == "0"
    assert named["means 2"].constant == sb.analyse(LINEAR, [0.7, 0.5, 0.3]).lower_bound().constant
    by_name = sb.overview(figure1_right(), models=["model 3"])
    assert [(row.model, row.name) for row in by_name.table] == [("model 3", "model 3")]
    grid = sb.overview(figure1_left(), models=np.linspace(0.0, 1.0, 5))
    assert len(grid.table) == 5
    outside = sb.overview(PAIR, models=[[0.8, 0.9 - 1e-200]])  # a difference whose square is 0
    assert math.isfinite(outside.table[0].rough_cost)


@pytest.mark.parametrize(
    "means",
    [[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1]], [[0.9]], [[0.9], [0.4]]],
    ids=["one best arm", "one model", "one arm, one model", "one arm"],
)
def test_nothing_to_learn(means: list[list[float]]) -> None:
    overview = sb.analyse(sb.FiniteStructure(means))
    assert len(overview.table) == len(means)
    for row, mean in zip(overview.table, means, strict=True):
        assert (row.best_arm, row.constant, row.rough_cost, row.decoys) == ("0", 0.0, 0.0, ())
        assert (row.mistaken_for, row.difference, row.gamma_star) == (None, math.inf, math.inf)
        assert row.constant_regret_possible
        lead = mean[0] - mean[1] if len(mean) > 1 else math.nan
        assert row.smallest_gap == pytest.approx(lead, nan_ok=True)
    text = str(overview)
    several = "This knowledge cannot help you choose: arm 0 is best in every row"
    one = "There is only one arm, so there is nothing to choose."
    for shown in (text, overview._repr_html_()):
        assert (several if len(means[0]) > 1 else one) in shown
    assert ("no other arm" in text) == (len(means[0]) == 1)


def test_a_tied_model() -> None:
    row = rows(sb.analyse(sb.FiniteStructure([[0.5, 0.5], [0.2, 0.9]])))["0"]
    assert (row.best_arm, row.smallest_gap, row.rough_cost) == ("0", 0.0, 0.0)


def test_it_can_be_read_and_taken_into_a_frame() -> None:
    odd = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["<b>", "x"], models=["1 < 2", "y"])
    overview = sb.analyse(odd)
    assert repr(overview) == (
        "Overview(2 models of FiniteStructure(2 models × 2 arms, 2 arms best in some model), "
        f"hardest {overview.table[0].name!r})"
    )
    page = overview._repr_html_()
    assert "<td>1 &lt; 2</td>" in page
    assert "<td>&lt;b&gt;</td>" in page
    assert page.count("<tr>") == 3
    frame = overview.frame()
    assert frame.index.tolist() == [row.name for row in overview.table]
    assert frame.loc["y", "best_arm"] == "x"
    assert frame.constant.tolist() == [0.0, 0.0]
    assert max(map(len, str(overview).splitlines())) < 120


def test_a_long_table_is_cut_in_the_text_only() -> None:
    many = sb.analyse(sb.FiniteStructure(np.random.default_rng(1).random((45, 3))))
    assert "… and 15 more models, which are less hard" in str(many)
    assert len(many.frame()) == 45


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sb.analyse(LINEAR), "infinitely many models, too many to list. Say which one is true"),
        (lambda: sb.analyse(LINEAR), r"--truth parameter:a,b,… or --truth a,b,…\), or which to list"),
        (lambda: sb.analyse([[0.1]]), "expected a structure"),
        (lambda: sb.analyse(PAIR, tolerance=-1.0), "tolerance=-1.0"),
        (lambda: sb.overview(PAIR, models="a"), "models='a': expected a list of models"),
        (lambda: sb.overview(PAIR, models=3), "models=3: expected a list of models"),
        (lambda: sb.overview(PAIR, models=[]), "models: none given"),
        (lambda: sb.overview(PAIR, models=["c"]), "model='c' is unknown"),
        (lambda: sb.overview(PAIR, horizon=1), "horizon=1: expected a whole number >= 2"),
        (lambda: sb.overview(PAIR, sigma=0.0), "sigma=0.0"),
        (lambda: sb.overview(PAIR, family="poisson"), "poisson"),
        (lambda: sb.analyse(many_models()), f"3,000 models to list; unasked .* up to {MOST_MODELS:,}"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError, match=message):
        call()


def many_models() -> sb.FiniteStructure:
    return sb.FiniteStructure(np.random.default_rng(0).random((3_000, 2)))


def test_of_many_models_some_may_be_listed() -> None:
    assert len(sb.overview(many_models(), models=range(0, 3_000, 1_000)).table) == 3


def test_means_that_are_no_probabilities_need_another_family() -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        money = sb.FiniteStructure([[50.0, 20.0], [50.0, 70.0]], models=["Smith", "Jones"])
    message = r"model 'Smith': .* a mean of 50 is outside \[0, 1\], .* use family='gaussian', as in sb.overview"
    with pytest.raises(sb.ParameterError, match=message):
        sb.analyse(money)
    row = rows(sb.overview(money, family="gaussian", sigma=50.0))["Smith"]
    assert row.constant == pytest.approx(2 * 50.0**2 * 30.0 / 50.0**2)
