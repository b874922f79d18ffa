"""No regret exceeds horizon × largest gap: a bound above that is called vacuous."""

from __future__ import annotations

import math

import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left


def test_the_proven_value_stays_and_is_capped_beside_it(right: sb.Analysis) -> None:
    table = right.bounds(100).set_index(["bound", "policy"])
    most = 100 * 0.3
    theorem_3 = table.loc[("SAE (Theorem 3)", "SAE alpha=1 beta=1")]
    hard = 0.1 / 0.22**2 + 0.2 / 0.24**2 + 0.3 / 0.38**2
    proven = 16 * math.log(100) * hard + 2 * 4  # 4 (1 + beta)² log n, and 2 for each arm
    assert theorem_3.value == pytest.approx(proven)
    assert (theorem_3.capped, theorem_3.vacuous) == (pytest.approx(most), True)
    constant = table.loc[("ASAE, constant (Theorem 5)", "ASAE alpha=2 eta=1")]
    assert (constant.value, constant.capped, constant.vacuous) == (
        math.inf,
        pytest.approx(most),
        True,
    )
    lower = table.loc[("Graves–Lai, Bernoulli", "any consistent")]
    assert (lower.capped, lower.vacuous) == (lower.value, False)
    assert lower.value == pytest.approx(1.07456 * math.log(100), rel=1e-5)


def test_bounds_that_say_something_are_left_alone(right: sb.Analysis) -> None:
    table = right.bounds(500_000)
    known = table[table.bound.isin(["SUCB (Theorem 1)", "SAE (Theorem 3)"])]
    assert not known.vacuous.any()
    assert (known.capped == known.value).all()
    assert table.capped.max() == pytest.approx(500_000 * 0.3)  # of the infinite ones


def test_where_no_bound_is_known_nothing_is_vacuous(right: sb.Analysis) -> None:
    row = right.bounds(100, sb.UCB(right.structure)).iloc[0]
    assert math.isnan(row.value)
    assert math.isnan(row.capped)
    assert not row.vacuous


def test_a_lower_bound_can_be_vacuous() -> None:
    """C log n speaks of large n: here ten pulls cannot lose as much as it says."""
    near = sb.FiniteStructure([[0.5, 0.49], [0.5, 0.51]])
    row = sb.analyse(near, 0).bounds(10).set_index("bound").loc["Graves–Lai, Bernoulli"]
    assert row.value > 20
    assert (row.capped, row.vacuous, row.valid) == (pytest.approx(0.1), True, True)


def test_with_one_arm_nothing_can_be_lost() -> None:
    table = sb.analyse(sb.FiniteStructure([[0.5]]), 0).bounds(100)
    upper = table[table.side == "upper"]
    assert (upper.capped == 0.0).all()
    assert upper.vacuous.tolist() == (upper.value > 0.0).tolist()
    assert upper.vacuous.any()


def test_the_cap_follows_horizon_and_truth() -> None:
    left = figure1_left()
    for parameter, largest in ((0.165, 0.125), (0.495, 0.66)):
        for horizon in (100, 1_000):
            table = sb.analyse(left, parameter).bounds(horizon)
            assert table.capped[table.vacuous].tolist() == pytest.approx(
                [horizon * largest] * int(table.vacuous.sum())
            )
            assert table.vacuous.any()
