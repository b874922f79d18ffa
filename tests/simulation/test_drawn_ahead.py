"""Structures of several runs are drawn before these are played, if the draw says that they may be."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.inference.misfit.batch import e_values
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.simulation import run_spec as cases
from structured_bandits.simulation.run_spec import Draw, Drawn, Setting, draw_rng, drawn_together

SETTING = Setting(("UCB",), 40, 0, np.array([40]), "python", True, True, False, None)


class RandomTables:
    """Draws tables of random means; it may be told to take its time, or to draw ahead."""

    def __init__(self, ahead: bool, seconds: float = 0.0) -> None:
        self.ahead = ahead
        self.seconds = seconds

    def __call__(self, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
        time.sleep(self.seconds)
        structure = sb.FiniteStructure(rng.random((int(rng.integers(2, 4)), 3)))
        return {"UCB": sb.UCB(structure)}, sb.Bernoulli(structure.means(0))


def groups(draw: RandomTables, runs: int) -> list[list[Drawn]]:
    return list(drawn_together(SETTING, Draw(draw, 3), range(5, 5 + runs)))


def test_draws_that_do_not_say_so_are_played_one_by_one() -> None:
    """One of a user's own may write into the same arrays again and again."""
    assert [len(group) for group in groups(RandomTables(ahead=False), 4)] == [1, 1, 1, 1]


def test_draws_that_take_long_are_played_one_by_one() -> None:
    slow = RandomTables(ahead=True, seconds=cases.DRAWING)
    assert [len(group) for group in groups(slow, 3)] == [1, 1, 1]


def test_draws_ahead_come_in_order_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "DRAWING", 1000.0)
    (group,) = groups(RandomTables(ahead=True), 6)
    assert [list(drawn.runs) for drawn in group] == [[run] for run in range(5, 11)]
    for drawn in group:
        alone = RandomTables(ahead=False)(draw_rng(0, drawn.runs.start))[1]
        np.testing.assert_array_equal(drawn.world.means, alone.means)


@pytest.mark.parametrize("patience", [0.0, 1000.0])
def test_results_do_not_depend_on_how_many_are_drawn_ahead(
    monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """Tables of two sizes, so that e-values are computed together and apart."""
    monkeypatch.setattr(cases, "DRAWING", patience)
    how: Any = {"horizon": 40, "runs": 9, "engine": "python", "workers": 1, "seed": 3}
    ahead = sb.simulate_random(RandomTables(ahead=True), **how)
    alone = sb.simulate_random(RandomTables(ahead=False), **how)
    for key in ("regret", "pulls", "sums", "e_values"):
        np.testing.assert_array_equal(getattr(ahead, key)["UCB"], getattr(alone, key)["UCB"])
    for run in range(9):
        structure = RandomTables(ahead=False)(draw_rng(3, run))[0]["UCB"].structure
        test, row = misfit_test(structure, 0.0, 1.0, 0.5), slice(run, run + 1)
        (expected,) = e_values(test, ahead.pulls["UCB"][row], ahead.sums["UCB"][row])
        assert ahead.e_values["UCB"][run] == expected
