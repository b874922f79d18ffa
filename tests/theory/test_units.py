"""Units change nothing: theory of rewards in [0, 10] is that of [0, 1], times ten where it has units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb

WIDTH = 10.0
TABLE = np.array([[0.75, 0.25, 0.5], [0.75, 0.875, 0.5], [0.5, 0.375, 0.8125], [0.75, 0.25, 0.875]])
TRUTH = np.array([0.5, 0.625, 0.375])


def curve(unit: float, said: dict[str, Any]) -> sb.Structure:
    first, last = unit * np.array([0.9, 0.5]), unit * np.array([0.1, 0.5])
    return sb.CurveStructure([sb.Piece(0, 1, first, last, closed="both")], **said)


CASES: dict[str, tuple[Callable[[float, dict[str, Any]], Any], Callable[[float], Any]]] = {
    "table": (lambda unit, said: sb.FiniteStructure(unit * TABLE, **said), lambda unit: 0),
    "curve": (curve, lambda unit: 0.25),
    "lipschitz": (
        lambda unit, said: sb.lipschitz([0, 1, 2], 0.25 * unit, **said),
        lambda unit: unit * TRUTH,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds_scale_with_the_range_that_the_structure_declares(name: str) -> None:
    make, truth = CASES[name]
    one = sb.analyse(make(1.0, {}), truth(1.0))
    ten = sb.analyse(make(WIDTH, {"reward_range": (0, WIDTH)}), truth(WIDTH))
    small, large = one.bounds(1000), ten.bounds(1000)
    assert large["value"].tolist() == pytest.approx((WIDTH * small["value"]).tolist(), nan_ok=True)
    assert large["valid"].tolist() == small["valid"].tolist()
    assert small["valid"].any()
    assert large["bound"].iloc[-1] == "Graves–Lai, Bernoulli 0 or 10"
    for beta in (1.0, 3.0):
        assert ten.elimination(1000, beta) == one.elimination(1000, beta)
        assert ten.classes(1000, beta) == one.classes(1000, beta)
    for family in ("bernoulli", "gaussian"):
        a, b = one.lower_bound(family), ten.lower_bound(family)
        assert b.constant == pytest.approx(WIDTH * a.constant)
        assert b.allocation == pytest.approx(a.allocation, abs=1e-6)


def test_a_range_that_does_not_begin_at_0_changes_nothing_but_names() -> None:
    moved = sb.FiniteStructure(4.0 * TABLE - 1.0, reward_range=(-1, 3))
    one, four = sb.analyse(sb.FiniteStructure(TABLE), 0), sb.analyse(moved, 0)
    assert four.lower_bound().constant == pytest.approx(4.0 * one.lower_bound().constant)
    values = 4.0 * one.bounds(1000)["value"]
    assert four.bounds(1000)["value"].tolist() == pytest.approx(values.tolist(), nan_ok=True)


def test_what_is_said_wins() -> None:
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        silent = sb.analyse(sb.FiniteStructure(WIDTH * TABLE), 0)
    said = sb.analyse(sb.FiniteStructure(WIDTH * TABLE, reward_range=(0, 10)), 0)
    with pytest.raises(sb.ParameterError, match=r"a mean of 7\.5 is outside \[0, 1\]"):
        silent.lower_bound()
    wide = silent.lower_bound(reward_range=(0, 10))
    assert wide.constant == said.lower_bound().constant
    assert silent.elimination(1000, 1.0, 10.0) == said.elimination(1000)
    half = said.lower_bound("gaussian", sigma=0.5)
    assert half.constant == silent.lower_bound("gaussian").constant
    policy = sb.SUCB.paper(silent.structure, reward_range=(0, 10))
    own = sb.SUCB.paper(said.structure)
    assert silent.bounds(1000, policy)["value"].iloc[0] == said.bounds(1000, own)["value"].iloc[0]
    with pytest.raises(sb.ParameterError, match=r"reward_range=\(1, 0\): needs finite low < high"):
        said.lower_bound(reward_range=(1, 0))
