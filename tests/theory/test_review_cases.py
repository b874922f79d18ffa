"""Cases on which a review found theory wrong once: rounding, units, open ends and tolerances."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
from support.bounds import row

import structured_bandits as sb
from structured_bandits.base.families import kl_bernoulli

SMALL = 10_000
INF = math.inf


def test_a_model_better_by_a_bit_is_optimistic_as_for_the_policy() -> None:
    structure = sb.FiniteStructure([[0.3, 0.1], [0.25, 0.1 + 0.2]])  # 0.30000000000000004
    analysis = sb.analyse(structure, 0)
    assert analysis.optimistic_models(1) == (1,)
    bound = row(analysis.bounds(SMALL), "SUCB")
    result = sb.simulate(
        {"SUCB": sb.SUCB.paper(structure)}, sb.Bernoulli(analysis.means), SMALL, runs=20
    )
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
