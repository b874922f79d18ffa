"""What fails is named: conditions of theorems and bad input; and what users may write and draw."""

from __future__ import annotations

import math

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.bounds import row

import structured_bandits as sb
from structured_bandits.display.verdicts import removals
from structured_bandits.experiments.paper.structures import figure1_left

SMALL, LARGE = 10_000, 500_000  # the horizons of the paper's two figures


def why(table: object, start: str) -> str:
    found = row(table, start)
    assert not found.valid  # type: ignore[attr-defined]
    return str(found.why_not)  # type: ignore[attr-defined]


def test_conditions_that_fail_are_named(right: sb.Analysis) -> None:
    structure = right.structure

    def table(policy: object, horizon: int = SMALL) -> object:
        return right.bounds(horizon, {"policy": policy})

    assert "alpha > 1" in why(table(sb.SUCB.paper(structure, alpha=1.0)), "SUCB")
    assert "alpha >= beta²" in why(
        table(sb.SAE.paper(structure, SMALL, alpha=2.0, beta=3.0)), "SAE"
    )
    assert "needs 64" in why(table(sb.SAE.paper(structure, 50), 50), "SAE")
    assert "built for 5000" in why(table(sb.SAE.paper(structure, 5000)), "SAE")
    small_sigma = sb.SAE.paper(structure, SMALL, sigma=0.1)
    assert "half the width" in why(table(small_sigma), "SAE")
    rough = sb.SAE.paper(structure, SMALL, reward_range=None, sigma=0.002)
    assert "too small for phases" in why(table(rough), "SAE")
    anytime = sb.ASAE.paper(structure, alpha=2.0, eta=1.0, reward_range=None, sigma=0.1)
    assert "too small for phases" in why(table(anytime), "ASAE, log")
    rounded = sb.SAE.paper(
        structure, SMALL, alpha=1.21, beta=1.1
    )  # 1.1 squared is a bit above 1.21
    assert row(table(rounded), "SAE").valid
    wide = sb.SAE.paper(structure, SMALL, reward_range=(0.0, 0.1))
    assert "over twice the rewards' range" in why(table(wide), "SAE")
    asae = table(sb.ASAE.paper(structure, alpha=1.0, beta=2.0, eta=0.1, reading="pseudocode"))
    for text in ("eta=0.1", "alpha=1", "beta=2", "'recompute' (I-3)"):
        assert text in why(asae, "ASAE, log"), text
    figures = why(table(sb.ASAE.paper(structure, eta=1.0, reading="figures")), "ASAE, log")
    assert "'length' (I-7)" in figures
    assert "'truncate'" in figures
    assert "the library has no bound" in why(table(sb.UCB(structure)), "none")


def test_a_tie_with_the_truths_best_mean_is_outside_the_proof() -> None:
    # I-15: model 2's value equals the truth's, and its arm comes first
    for order, valid in (([0, 1], False), ([1, 0], True)):
        table = np.array([[0.3, 0.8], [0.8, 0.5]])[:, order]
        bound = row(sb.analyse(sb.FiniteStructure(table), 0).bounds(SMALL), "SUCB")
        assert bound.valid is np.bool_(valid)
    curves = sb.CurveStructure(
        [sb.Piece(0, 1, [0.8, 0.7], [0.2, 0.7]), sb.Piece(1, 2, [0.1, 0.8], [0.1, 0.8])]
    )
    assert "I-15" in why(sb.analyse(curves, 1.5).bounds(SMALL), "SUCB")


def test_units_do_not_matter(right: sb.Analysis) -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        scaled = sb.analyse(sb.FiniteStructure(right.structure.cells.table * 8.0 - 4.0), 0)
    assert (
        scaled.elimination(LARGE, 3.0, largest_gap=8.0).helpers
        == right.elimination(LARGE, 3.0).helpers
    )
    assert scaled.classes(LARGE, 3.0, largest_gap=8.0) == right.classes(LARGE, 3.0)
    policies = [
        {
            "SUCB": sb.SUCB.paper(a.structure, reward_range=span),
            "SAE": sb.SAE.paper(a.structure, LARGE, alpha=9.0, beta=3.0, reward_range=span),
            "ASAE": sb.ASAE.paper(a.structure, alpha=2.0, eta=1.0, reward_range=span),
        }
        for a, span in ((right, (0.0, 1.0)), (scaled, (-4.0, 4.0)))
    ]
    small, large = right.bounds(LARGE, policies[0]), scaled.bounds(LARGE, policies[1])
    for start in ("SUCB", "SAE (", "SAE, gaps", "ASAE, log", "Burnetas", "Graves–Lai, Gaussian"):
        assert row(large, start).value == pytest.approx(8.0 * row(small, start).value), start
        assert row(large, start).valid == row(small, start).valid


def test_policies_with_and_without_names(right: sb.Analysis) -> None:
    sae, sucb = sb.SAE.paper(right.structure, SMALL), sb.SUCB.paper(right.structure)
    for policies, names in (
        (sae, {"SAE"}),
        ([sae, sucb], {"SAE", "SUCB"}),
        ((sucb, sucb), {"SUCB", "SUCB 2"}),
        ({"mine": sucb}, {"mine"}),
    ):
        table = right.bounds(SMALL, policies)
        assert set(table[table.side == "upper"].policy) == names


def test_a_truth_outside_the_structure() -> None:
    structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    analysis = sb.analyse(structure, [0.75, 0.35])
    assert not analysis.inside
    assert analysis.best_arm == 0
    assert analysis.hardest(1).gap == pytest.approx(0.55)
    with pytest.raises(sb.ParameterError, match="no model of the structure has these means"):
        analysis.elimination(SMALL)
    table = analysis.bounds(SMALL)
    assert not table.valid.any()
    assert "not a model of the structure" in why(table, "SUCB")


def test_tolerance_decides_what_is_equal() -> None:
    structure = sb.FiniteStructure([[0.8, 0.3], [0.8 + 1e-12, 0.9]])
    assert not sb.analyse(structure, 0).constant_regret_possible
    assert sb.analyse(structure, 0, tolerance=0.0).constant_regret_possible


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a: sb.analyse(3, 0), "structure=3"),
        (lambda a: sb.analyse(a.structure, 9), "model=9"),
        (lambda a: sb.analyse(a.structure, [0.1]), "4 finite means"),
        (lambda a: sb.analyse(a.structure, ["a", 1, 2, 3]), "4 finite means"),
        (lambda a: sb.analyse(a.structure, [math.nan] * 4), "4 finite means"),
        (lambda a: sb.analyse(a.structure, 0, tolerance=-1), "tolerance=-1"),
        (lambda a: a.hardest("x"), "arm='x'"),
        (lambda a: a.hardest(0, using="12"), "using='12': expected a list of arms"),
        (lambda a: a.hardest(0, using=[7]), "arm=7"),
        (lambda a: a.elimination(1), "horizon=1"),
        (lambda a: a.elimination(10, 0.5), "beta=0.5"),
        (lambda a: a.classes(10, arms="all"), "arms='all': accepted are 'helpers' and 'pair'"),
        (lambda a: a.classes(10, factor=0.5), "factor=0.5"),
        (lambda a: a.lower_bound("poisson"), "family='poisson': accepted are"),
        (lambda a: a.lower_bound("gaussian", sigma=0), "sigma=0"),
        (lambda a: a.bounds(10, convergence=0), "convergence=0"),
        (
            lambda a: a.bounds(10, {"x": sb.SUCB.paper(figure1_left())}),
            "policies['x']: it was built for another",
        ),
    ],
)
def test_bad_input(right: sb.Analysis, call: object, message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError) as error:
        call(right)  # type: ignore[operator]
    assert message in str(error.value)


def test_bernoulli_needs_probabilities() -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        structure = sb.FiniteStructure([[0.8, 0.3], [0.8, 1.2]])
    analysis = sb.analyse(structure, 0)
    with pytest.raises(sb.ParameterError, match=r"a mean of 1\.2 is outside \[0, 1\]"):
        analysis.lower_bound("bernoulli")
    table = analysis.bounds(SMALL)
    assert "is outside [0, 1]" in why(table, "Graves–Lai, Bernoulli")
    assert row(table, "Graves–Lai, Gaussian").valid


def test_named_arms_and_the_representation() -> None:
    structure = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"])
    analysis = sb.analyse(structure, 0)
    assert analysis.hardest("coffee", using=["tea"]).told_by == 0
    assert repr(analysis).endswith("best arm 'tea', gamma_star=0.6)")


def test_plots_as_data_and_picture(right: sb.Analysis) -> None:
    matplotlib.use("Agg")
    found = {
        gap.arm: (gap.model, gap.told_by, round(gap.gap, 3)) for gap in removals(right, LARGE, 8.0)
    }
    assert found == {1: (3, 1, 0.22), 2: (1, 3, 0.4), 3: (2, 3, 0.38)}
    words = [text.get_text() for text in right.plot(LARGE, beta=8.0).texts]
    assert "0.1\n0.4 off, drops arm 3" in words
    left = sb.analyse(figure1_left(), 0.1).plot(SMALL, beta=3.0)
    labels = [text.get_text() for text in left.texts]
    assert "0.6 off, drops arm 3" in labels
    assert {"arm 1", "arm 2", "arm 3"} <= set(labels)  # at the ends of their lines
    rng = np.random.default_rng(0)
    large = sb.analyse(sb.FiniteStructure(rng.random((200, 60))), 199).plot(SMALL)
    assert "160 models and 20 arms not shown" in large.get_xlabel()
    assert "model 199" in [
        text.get_text() for text in large.get_yticklabels()
    ]  # the truth is shown
    plt.close("all")
