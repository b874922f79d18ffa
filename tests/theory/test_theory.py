"""Golden values of the specification (ALGORITHMS §1.8, §1.10, §4.1, §4.6) and closed forms."""

from __future__ import annotations

import math
import warnings

import matplotlib
import matplotlib.pyplot as plt
import mpmath
import numpy as np
import pytest
from structured_bandits.theory.information import kl_bernoulli

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right
from structured_bandits.plots.removals import removals
from structured_bandits.theory.elimination import margin_factor
from structured_bandits.theory.lower_bounds import omega

SMALL, LARGE = 10_000, 500_000  # the horizons of the paper's two figures
INF = math.inf


def sae_bound(analysis: sb.Analysis, horizon: int, beta: float, **parameters: float) -> float:
    policy = sb.SAE(analysis.structure, horizon, alpha=beta**2, beta=beta, **parameters)
    table = analysis.bounds(horizon, {"SAE": policy})
    assert table.valid[0], table.why_not[0]
    return float(table.value[0])


def row(table: object, start: str) -> object:
    return table[table.bound.str.startswith(start)].iloc[0]  # type: ignore[index]


# --------------------------------------------------------------------------- Figure 1 right, R


@pytest.fixture(scope="module")
def right() -> sb.Analysis:
    return sb.analyse(figure1_right(), truth=0)


def test_right_gaps_and_model_gaps(right: sb.Analysis) -> None:
    assert right.best_arm == 0
    assert right.inside
    assert right.gaps == pytest.approx([0, 0.1, 0.2, 0.3])
    assert right.model_gaps(1) == pytest.approx([0, 0, 0.24, 0.4])
    assert right.model_gaps(2) == pytest.approx([0, 0.3, 0, 0.38])
    assert right.model_gaps(3) == pytest.approx([0, 0.22, 0, 0])
    assert right.gamma_star == 0.0
    assert right.rival == sb.analyse(figure1_right(), "1").rival
    assert [right.optimistic_models(arm) for arm in range(4)] == [(), (3,), (1,), (2,)]


def test_right_hardest_models(right: sb.Analysis) -> None:
    assert right.hardest(1) == right.hardest("2", optimistic=True)
    assert right.hardest(1).gap == pytest.approx(0.22)
    assert (right.hardest(2).model, right.hardest(2).told_by) == (1, 3)  # arm 4 tells arm 3's model
    assert right.hardest(2, using=[2]).gap == pytest.approx(0.24)
    total = sum(right.gaps[i] / right.hardest(i, [i], optimistic=True).gap ** 2 for i in (1, 2, 3))
    assert total == pytest.approx(7.615900, abs=1e-6)


@pytest.mark.parametrize(
    ("beta", "factor", "last", "helpers", "bound"),
    [
        (1.0, INF, {1: 3, 2: 3, 3: 2}, {1: (0, 1), 2: (0, 2), 3: (0, 3)}, 1607.0),
        (3.0, 2.0048, {1: 3, 2: 3, 3: 2}, {1: (0, 1), 2: (0, 2), 3: (0, 1, 3)}, 6404.1),
        (8.0, 1.2863, {1: 3, 2: 2, 3: 2}, {1: (0, 1), 2: (0, 1, 2, 3), 3: (0, 1, 3)}, 22940.0),
    ],
)
def test_right_elimination_and_bound(
    right: sb.Analysis, beta: float, factor: float, last: dict, helpers: dict, bound: float
) -> None:
    assert margin_factor(LARGE, beta) == pytest.approx(factor, abs=5e-5)
    sets = right.elimination(LARGE, beta)
    assert sets.last_phase == {0: INF, **last}
    assert sets.helpers == helpers
    assert sae_bound(right, LARGE, beta) == pytest.approx(bound, abs=0.05)


def test_right_classes(right: sb.Analysis) -> None:
    for beta in (1.0, 3.0, 8.0):
        classes = right.classes(LARGE, beta)
        assert classes.optimistic
        assert not classes.worst_case
        assert classes.failing["worst_case"] == (2, 3)
        assert not classes.constant_regret
        assert not classes.assumption1
        assert not classes.unconfused
    assert not right.constant_regret_possible
    assert right.confusing_models == (1, 2, 3)
    assert right.self_identifiable


@pytest.mark.parametrize(
    ("family", "sigma", "constant", "allocation"),
    [
        ("gaussian", 0.5, 1.970558, [0, 10.330579, 0, 3.125]),
        ("gaussian", 1.0, 7.882231, [0, 41.322314, 0, 12.5]),
        ("bernoulli", 0.5, 1.074563, [0, 4.872786, 0, 1.957615]),
    ],
)
def test_right_graves_lai(
    right: sb.Analysis, family: str, sigma: float, constant: float, allocation: list[float]
) -> None:
    bound = right.lower_bound(family, sigma)
    assert bound.constant == pytest.approx(constant, abs=1e-6)
    assert bound.allocation == pytest.approx(allocation, abs=1e-6)
    assert bound.binding == (1, 3)  # arm 4's pulls for model 2 refute model 3 as well


# ----------------------------------------------------------------------- Figure 1 left, L and L'


@pytest.mark.parametrize("x", [0.0, 0.25, 0.5, 0.9])
def test_left_hardness(x: float) -> None:
    left = sb.analyse(figure1_left(), truth=0.33 * x)
    assert left.best_arm == 0
    assert left.gamma_star == pytest.approx(0.05 * (1 - x))
    assert left.rival.model == 0.33
    assert left.rival.attained  # the second region owns its left end
    for using in ([2], [0, 2]):
        assert left.hardest(2, using).gap == pytest.approx(0.26 - 0.2 * x)
    assert left.hardest(2, [0, 1, 2]).gap == pytest.approx(0.6)
    assert left.hardest(1, [0, 1]).gap == pytest.approx(0.45 - 0.05 * x)
    assert left.optimistic_models(1) == ()
    assert left.hardest(1, optimistic=True).gap == INF
    assert left.optimistic_models(2) == ((0.33, 0.66),)
    assert left.hardest(2, optimistic=True) == left.hardest(2)
    for family in ("gaussian", "bernoulli"):
        assert left.lower_bound(family).constant == 0.0
    for beta in (1.0, 3.0):
        classes = left.classes(SMALL, beta)
        assert not classes.worst_case
        assert not classes.optimistic
        assert classes.assumption1
    assert left.constant_regret_possible
    assert left.decoys == (1,)  # I-35: arm 2 has its true mean where it is best
    uninformative = sb.analyse(figure1_left(informative=False), truth=0.33 * x)
    assert uninformative.hardest(2, [0, 1, 2]).gap == pytest.approx(0.26 - 0.2 * x)


@pytest.mark.parametrize(
    ("x", "beta", "bound"), [(0, 1, 587.4), (0, 3, 560.9), (0.5, 1, 746.0), (0.5, 3, 292.3)]
)
def test_left_bounds(x: float, beta: float, bound: float) -> None:
    left = sb.analyse(figure1_left(), truth=0.33 * x)
    assert sae_bound(left, SMALL, beta) == pytest.approx(bound, abs=0.05)


def test_an_open_end_is_not_attained() -> None:
    for closed, attained in (("right", False), ("left", True)):
        pieces = [
            sb.Piece(0.0, 0.5, [0.9, 0.1], [0.8, 0.1], closed="left"),
            sb.Piece(0.5, 1.0, [0.7, 0.8], [0.2, 0.8], closed=closed),
        ]
        structure = sb.CurveStructure(pieces)
        rival = sb.analyse(structure, 0.0).rival
        assert rival.gap == pytest.approx(0.2)
        assert rival.attained is attained
        assert rival.model == 0.5


def test_a_border_tie_counts_for_no_arm() -> None:
    # the arms cross at 0.5 with mean 0.5, the truth's mean of arm 1: no model of arm 2 has it
    structure = sb.CurveStructure(
        [sb.Piece(0, 1, [0.2, 0.8], [0.8, 0.2], "both"), sb.Piece(2, 3, [0.5, 0.1], [0.5, 0.1])]
    )
    analysis = sb.analyse(structure, 2.5)
    assert analysis.gamma_star == 0.0
    assert not analysis.rival.attained
    assert analysis.constant_regret_possible  # Gamma_* = 0, yet no confusing model (I-14)
    assert analysis.lower_bound().constant == 0.0
    assert not analysis.classes(SMALL).assumption1


# ---------------------------------------------------------------------------------- the errata


def test_i10_asae_is_not_sub_sucb_where_sae_is() -> None:
    structure = sb.FiniteStructure(
        [[0.8, 0.5, 0.7], [0.8, 0.5, 0.85], [0.8, 0.9, 0.7], [0.64, 0.66, 0.1]]
    )
    analysis = sb.analyse(structure, 0)
    assert analysis.elimination(1000, 3.0).helpers[1] == (0, 1, 2)
    assert analysis.classes(1000, 3.0).optimistic
    assert not analysis.classes(1000, 3.0, arms="pair").optimistic
    assert analysis.hardest(1, [0, 1]).gap ** 2 == pytest.approx(0.0256)
    assert analysis.hardest(1, [1], optimistic=True).gap ** 2 == pytest.approx(0.16)
    delta = 1e-4  # the ratio has no limit
    narrow = sb.FiniteStructure(
        [
            [0.8, 0.8 - delta, 0.78],
            [0.8, 0.8 - delta, 0.82],
            [0.8, 1, 0.78],
            [0.8 - 0.501 * delta, 0.8 - 0.499 * delta, 0.1],
        ]
    )
    analysis = sb.analyse(narrow, 0)
    assert analysis.classes(1000, 3.0).optimistic
    ratio = analysis.hardest(1, [1], optimistic=True).gap / analysis.hardest(1, [0, 1]).gap
    assert ratio == pytest.approx((0.2 + delta) / (0.501 * delta))


@pytest.mark.parametrize(
    ("x", "y"), [(0.5, 1), (math.e, 1), (3, 5), (10, 36), (100, 648), (1e4, 116672)]
)
def test_omega(x: float, y: int) -> None:
    assert omega(x) == y
    z = np.arange(y, y + 1000, 0.5)
    assert (z >= x * np.log(z)).all()
    if y > 1:
        assert y - 1 < x * math.log(y - 1)


def test_i1_the_printed_constant_does_not_cover_the_proofs_own_pull_count() -> None:
    # a model gap just below 1 survives phase 0, so the proof counts the pulls of phase 1
    structure = sb.FiniteStructure([[0.5, 0.0], [0.5, 0.98]])
    analysis = sb.analyse(structure, 0)
    sets = analysis.elimination(SMALL, 1.0)
    assert sets.last_phase[1] == 1
    pulls = math.ceil(4 * 1.0 * 4 * math.log(SMALL))  # (1 + 1/beta)^2 alpha log n 4^h
    gap = analysis.hardest(1, sets.helpers[1]).gap
    printed, corrected = (c * math.log(SMALL) / gap**2 for c in (4 * (1 + 1**2), 4 * (1 + 1) ** 2))
    assert math.ceil(printed) < pulls <= math.ceil(corrected)


# ------------------------------------------------------------------------------- closed forms


def test_two_arms_in_closed_form() -> None:
    # arm 1 is known to be a half, arm 2 anything: the classical one-unknown-arm problem
    structure = sb.CurveStructure([sb.Piece(0.0, 1.0, [0.5, 0.0], [0.5, 1.0], closed="both")])
    analysis = sb.analyse(structure, 0.2)
    assert analysis.gaps == pytest.approx([0.0, 0.3])
    nearest = analysis.hardest(1)
    assert nearest.gap == pytest.approx(0.3)
    assert not nearest.attained  # at 0.5 both arms are best
    assert analysis.optimistic_models(1) == ((0.5, 1.0),)
    kl = 0.2 * math.log(0.2 / 0.5) + 0.8 * math.log(0.8 / 0.5)
    for family, information in (("bernoulli", kl), ("gaussian", 0.3**2 / (2 * 0.25))):
        bound = analysis.lower_bound(family)
        assert bound.constant == pytest.approx(0.3 / information)
        assert bound.allocation == pytest.approx([0.0, 1 / information])
    classes = analysis.classes(SMALL)
    assert classes.worst_case
    assert classes.optimistic
    lower = row(analysis.bounds(SMALL), "Burnetas")
    assert lower.valid
    assert lower.value == pytest.approx(2 * 0.25 * 0.3 / 0.09 * math.log(SMALL))
    assert lower.printed == pytest.approx(2 * lower.value)  # sigma^2 = 1/2 instead of 1/4


def test_graves_lai_weighs_an_interval_of_models() -> None:
    # where arm 3 is best, arms 1 and 2 trade their distance from the truth: two pulls instead of one
    structure = sb.CurveStructure(
        [
            sb.Piece(0.0, 1.0, [0.6, 0.5, 0.1, 0.7], [0.6, 0.1, 0.5, 0.7], closed="both"),
            sb.Piece(2.0, 3.0, [0.6, 0.5, 0.5, 0.2], [0.6, 0.5, 0.5, 0.2], closed="both"),
        ]
    )
    analysis = sb.analyse(structure, 2.0)
    bound = analysis.lower_bound("gaussian", sigma=0.5)
    # min_x of eta (2 (.4x)^2 + 2 (.4(1-x))^2) + 2 zeta .25: at x = 1/2 it is .16 eta + .5 zeta >= 1
    best = min(2 * 0.1 / 0.16, 0.4 / 0.5)
    assert bound.constant == pytest.approx(best, rel=1e-6)


def test_bernoulli_divergence_at_the_ends() -> None:
    p = np.array([0.0, 0.0, 1.0, 0.5, 0.5])
    q = np.array([0.0, 0.5, 1.0, 0.0, 1.0])
    assert kl_bernoulli(p, q).tolist() == [0.0, math.log(2), 0.0, INF, INF]
    # a model that excludes what happens half of the time is refuted for nothing
    structure = sb.FiniteStructure([[0.8, 0.5], [0.8, 1.0]])
    assert sb.analyse(structure, 0).lower_bound("bernoulli").constant == 0.0
    assert sb.analyse(structure, 0).lower_bound("gaussian").constant > 0.0


def test_theorem_six_holds_on_its_class() -> None:
    # Gamma_* = .01 on the best arm, nothing else differs but the arm that becomes best
    structure = sb.FiniteStructure([[0.8, 0.3, 0.3], [0.79, 0.95, 0.3], [0.79, 0.3, 0.95]])
    analysis = sb.analyse(structure, 0)
    assert analysis.classes(SMALL).constant_regret
    policies = {"SUCB": sb.SUCB(structure, reward_range=None, sigma=math.sqrt(0.5))}
    bound = row(analysis.bounds(LARGE, policies, convergence=0.05), "constant regret")
    assert bound.valid, bound.why_not
    expected = sum(0.5 / (2 * 0.65**2) for _ in range(2)) * math.log(
        0.16**2 / (4 * math.e**2 * 0.05 * 1e-4 * math.log(1e4))
    )
    assert bound.value == pytest.approx(expected)
    assert bound.printed == pytest.approx(expected)
    few = row(analysis.bounds(9_000, policies, convergence=0.05), "constant regret")
    assert not few.valid
    assert "horizon=9000" in few.why_not
    slow = row(analysis.bounds(LARGE, policies, convergence=500.0), "constant regret")
    assert "omega" in slow.why_not
    assert "says nothing" in slow.why_not


# ------------------------------------------------------------- found by a review, each a case


def test_a_model_better_by_a_bit_is_optimistic_as_for_the_policy() -> None:
    structure = sb.FiniteStructure([[0.3, 0.1], [0.25, 0.1 + 0.2]])  # 0.30000000000000004
    analysis = sb.analyse(structure, 0)
    assert analysis.optimistic_models(1) == (1,)
    bound = row(analysis.bounds(SMALL), "SUCB")
    result = sb.simulate({"SUCB": sb.SUCB(structure)}, sb.Bernoulli(analysis.means), SMALL, runs=20)
    assert bound.valid
    assert result.regret["SUCB"][:, -1].mean() < bound.value


def test_gaps_just_above_the_tolerance_end_the_elimination() -> None:
    sets = sb.analyse(
        sb.FiniteStructure([[0.5, 0.44], [0.46, 0.48]]), 0, tolerance=0.05
    ).elimination(1000)
    assert sets.last_phase == {0: INF, 1: 5}


@pytest.mark.parametrize("scale", [1e6, 1e-7])
def test_graves_lai_in_other_units(right: sb.Analysis, scale: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
        scaled = sb.analyse(
            sb.FiniteStructure(right.structure.cells.table * scale), 0, tolerance=1e-9 * scale
        )
    for sigma in (0.5, 0.5 * scale):
        expected = right.lower_bound("gaussian", sigma / scale).constant * scale
        assert scaled.lower_bound("gaussian", sigma).constant == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("g", [1e-3, 1e-5, 1e-7, 2e-9])
def test_bernoulli_divergence_of_close_means(g: float) -> None:
    p, q = 0.5 - g, 0.5 + g
    with mpmath.workdps(60):
        x, y = mpmath.mpf(p), mpmath.mpf(q)
        exact = float(x * mpmath.log(x / y) + (1 - x) * mpmath.log((1 - x) / (1 - y)))
    assert kl_bernoulli(np.array([p]), np.array([q]))[0] == pytest.approx(exact, rel=1e-12)
    bound = sb.analyse(sb.FiniteStructure([[0.5, p], [0.5, q]]), 0, tolerance=1e-12).lower_bound()
    assert bound.constant == pytest.approx(g / exact, rel=1e-6)


def test_a_crossing_near_an_open_end_is_found_at_every_tolerance() -> None:
    structure = sb.CurveStructure(
        [
            sb.Piece(0, 0, [0.8, 0.5], [0.8, 0.5]),
            sb.Piece(1, 2, [0.805, 0.95], [0.3, 0.95], "neither"),
        ]
    )
    for tolerance in (1e-9, 0.01):
        analysis = sb.analyse(structure, 0.0, tolerance)
        assert not analysis.constant_regret_possible
        assert analysis.lower_bound().constant == pytest.approx(0.361, abs=1e-3)


def test_a_limit_is_not_attained_by_a_model_nearly_as_near() -> None:
    pieces = [
        sb.Piece(0, 1, [0.9, 0.1], [0.8, 0.1], "both"),
        sb.Piece(2, 3, [0.3, 0.5], [0.3, 0.4], "left"),
        sb.Piece(4, 4, [0.3, 0.405], [0.3, 0.405]),
    ]
    nearest = sb.analyse(sb.CurveStructure(pieces), 0.0, tolerance=0.01).hardest(1, [1])
    assert not nearest.attained
    assert nearest.gap == pytest.approx(0.3)


def test_a_parameter_is_always_inside_and_an_open_end_never() -> None:
    curve = sb.CurveStructure([sb.Piece(0, 1, [0.9, 0.5], [0.1, 0.55], "both")])
    assert all(sb.analyse(curve, x, tolerance=0.0).inside for x in np.linspace(0, 1, 41))
    half_open = sb.CurveStructure(
        [sb.Piece(0, 1, [0.9, 0.5], [0.6, 0.5]), sb.Piece(2, 3, [0.2, 0.7], [0.2, 0.6])]
    )
    assert not sb.analyse(half_open, [0.6, 0.5]).inside
    assert sb.analyse(half_open, [0.75, 0.5]).inside


def test_an_outcome_that_the_truth_excludes_adds_nothing() -> None:
    structure = sb.CurveStructure(
        [
            sb.Piece(0, 0, [0.5, 0.0, 0.3], [0.5, 0.0, 0.3]),
            sb.Piece(1, 2, [0.5, 0.0, 0.9], [0.5, 0.5, 0.51], "both"),
        ]
    )
    assert 0.0 < sb.analyse(structure, 0.0).lower_bound().constant < 10.0


# ---------------------------------------------------------------------- conditions and bad input


def why(table: object, start: str) -> str:
    found = row(table, start)
    assert not found.valid  # type: ignore[attr-defined]
    return str(found.why_not)  # type: ignore[attr-defined]


def test_conditions_that_fail_are_named(right: sb.Analysis) -> None:
    structure = right.structure

    def table(policy: object, horizon: int = SMALL) -> object:
        return right.bounds(horizon, {"policy": policy})

    assert "alpha > 1" in why(table(sb.SUCB(structure, alpha=1.0)), "SUCB")
    assert "alpha >= beta²" in why(table(sb.SAE(structure, SMALL, alpha=2.0, beta=3.0)), "SAE")
    assert "needs 64" in why(table(sb.SAE(structure, 50), 50), "SAE")
    assert "built for 5000" in why(table(sb.SAE(structure, 5000)), "SAE")
    small_sigma = sb.SAE(structure, SMALL, sigma=0.1)
    assert "half the width" in why(table(small_sigma), "SAE")
    rough = sb.SAE(structure, SMALL, reward_range=None, sigma=0.002)
    assert "too small for phases" in why(table(rough), "SAE")
    anytime = sb.ASAE(structure, alpha=2.0, eta=1.0, reward_range=None, sigma=0.1)
    assert "too small for phases" in why(table(anytime), "ASAE, log")
    rounded = sb.SAE(structure, SMALL, alpha=1.21, beta=1.1)  # 1.1 squared is a bit above 1.21
    assert row(table(rounded), "SAE").valid
    wide = sb.SAE(structure, SMALL, reward_range=(0.0, 0.1))
    assert "over twice the rewards' range" in why(table(wide), "SAE")
    asae = table(sb.ASAE(structure, alpha=1.0, beta=2.0, eta=0.1, reading="pseudocode"))
    for text in ("eta=0.1", "alpha=1", "beta=2", "'recompute' (I-3)"):
        assert text in why(asae, "ASAE, log"), text
    figures = why(table(sb.ASAE(structure, eta=1.0, reading="figures")), "ASAE, log")
    assert "'length' (I-7)" in figures
    assert "'truncate'" in figures
    assert "no bound is known" in why(table(sb.UCB(structure)), "none")


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
            "SUCB": sb.SUCB(a.structure, reward_range=span),
            "SAE": sb.SAE(a.structure, LARGE, alpha=9.0, beta=3.0, reward_range=span),
            "ASAE": sb.ASAE(a.structure, alpha=2.0, eta=1.0, reward_range=span),
        }
        for a, span in ((right, (0.0, 1.0)), (scaled, (-4.0, 4.0)))
    ]
    small, large = right.bounds(LARGE, policies[0]), scaled.bounds(LARGE, policies[1])
    for start in ("SUCB", "SAE (", "SAE, gaps", "ASAE, log", "Burnetas", "Graves–Lai, Gaussian"):
        assert row(large, start).value == pytest.approx(8.0 * row(small, start).value), start
        assert row(large, start).valid == row(small, start).valid


def test_policies_with_and_without_names(right: sb.Analysis) -> None:
    sae, sucb = sb.SAE(right.structure, SMALL), sb.SUCB(right.structure)
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
            lambda a: a.bounds(10, {"x": sb.SUCB(figure1_left())}),
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
    with pytest.raises(sb.ParameterError, match=r"a mean of 1\.2 is no probability"):
        analysis.lower_bound("bernoulli")
    table = analysis.bounds(SMALL)
    assert "no probability" in why(table, "Graves–Lai, Bernoulli")
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
    assert "0.1\ngap 0.4 for 3" in words
    left = sb.analyse(figure1_left(), 0.1).plot(SMALL, beta=3.0)
    labels = [text.get_text() for text in left.texts]
    assert "0.6 removes 3" in labels
    assert len(left.get_legend().get_texts()) == 4  # three arms and the true model
    rng = np.random.default_rng(0)
    large = sb.analyse(sb.FiniteStructure(rng.random((200, 60))), 199).plot(SMALL)
    assert "160 models and 20 arms not shown" in large.get_xlabel()
    assert "200" in [text.get_text() for text in large.get_yticklabels()]  # the truth is shown
    plt.close("all")


@pytest.mark.parametrize(
    ("knowledge", "constant"),
    [("none", 8.085379), ("Lipschitz", 6.520768), ("unimodal", 4.651749)],
)
def test_graves_lai_of_the_binding_models(knowledge: str, constant: float) -> None:
    """§4.4 and §4.5, as finite structures of the models that bind: arm k lifted to the best mean.

    A lift of 1e-9 above it makes arm k best.
    """
    x = np.linspace(0, 1, 6)
    truth = 0.8 - 0.8 * np.abs(x - 0.4)
    models = [truth]
    for k in (0, 1, 3, 4, 5):
        if knowledge == "unimodal" and abs(k - 2) > 1:
            continue  # only neighbours of the best arm can be better without another peak
        reach = (
            0.8 * np.abs(x - x[k]) if knowledge == "Lipschitz" else np.where(x == x[k], 0.0, 9.0)
        )
        model = np.maximum(truth, truth[2] - reach)
        model[k] += 1e-9
        models.append(model)
    bound = sb.analyse(sb.FiniteStructure(np.array(models)), 0).lower_bound("bernoulli")
    assert bound.constant == pytest.approx(constant, abs=1e-6)
