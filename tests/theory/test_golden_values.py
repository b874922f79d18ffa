"""Golden values on the paper's structures, what the errata say about them, and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.bounds import row

import structured_bandits as sb
from structured_bandits.base.families import kl_bernoulli
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right
from structured_bandits.theory.elimination import margin_factor
from structured_bandits.theory.lower_bounds import omega

SMALL, LARGE = 10_000, 500_000  # the horizons of the paper's two figures
INF = math.inf


def sae_bound(analysis: sb.Analysis, horizon: int, beta: float, **parameters: float) -> float:
    policy = sb.SAE.paper(analysis.structure, horizon, alpha=beta**2, beta=beta, **parameters)
    table = analysis.bounds(horizon, {"SAE": policy})
    assert table.valid[0], table.why_not[0]
    return float(table.value[0])


# --------------------------------------------------------------------------- Figure 1 right, R


def test_right_gaps_and_model_gaps(right: sb.Analysis) -> None:
    assert right.best_arm == 0
    assert right.inside
    assert right.gaps == pytest.approx([0, 0.1, 0.2, 0.3])
    assert right.model_gaps(1) == pytest.approx([0, 0, 0.24, 0.4])
    assert right.model_gaps(2) == pytest.approx([0, 0.3, 0, 0.38])
    assert right.model_gaps(3) == pytest.approx([0, 0.22, 0, 0])
    assert right.gamma_star == 0.0
    assert right.rival == sb.analyse(figure1_right(), "model 1").rival
    assert [right.optimistic_models(arm) for arm in range(4)] == [(), (3,), (1,), (2,)]


def test_right_hardest_models(right: sb.Analysis) -> None:
    assert right.hardest(1) == right.hardest("arm 2", optimistic=True)
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
    policies = {"SUCB": sb.SUCB.paper(structure, reward_range=None, sigma=math.sqrt(0.5))}
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


@pytest.mark.parametrize(
    ("knowledge", "constant"),
    [("none", 8.085379), ("Lipschitz", 6.520768), ("unimodal", 4.651749)],
)
def test_graves_lai_of_the_binding_models(knowledge: str, constant: float) -> None:
    """docs/notes/mathematics.md 5.5 and 5.6, as finite structures of the models that bind: arm k lifted to the best mean.

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
