"""First runs in Python: as many as there is time for, with the numbers that compiled runs have."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.simulation import batches as blocks
from structured_bandits.simulation import run_spec as cases
from structured_bandits.simulation import warmup as opening

R = figure1_right()
WORLD = sb.Bernoulli(R.means(0))
POLICIES = {"UCB": sb.UCB(R), "SUCB": sb.SUCB.paper(R), "SAE": sb.SAE.paper(R, 3000)}
HOW: dict[str, Any] = {"horizon": 3000, "runs": 7, "seed": 4, "workers": 1, "first_run": 2}

FRESH = """
import sys
import structured_bandits as sb
table = sb.FiniteStructure([[0.8, 0.7, 0.1], [0.3, 0.9, 0.2]])
first = sb.simulate(sb.SUCB(table), sb.Bernoulli(table.means(0)), 1000, runs=3)
assert "numba" not in sys.modules
"""


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As if the compiled engine had not been loaded; who plays in Python has an hour for it."""
    monkeypatch.setattr(opening, "COMPILER", "no.such.module")
    monkeypatch.setattr(opening, "_used", 0.0)
    monkeypatch.setenv(opening.VARIABLE, "3600")
    return monkeypatch


def same(one: sb.Result, other: sb.Result) -> bool:
    """Are two results the same to the last bit?"""
    tables = ("regret", "pulls", "plans", "empty", "sums", "e_values", "alarms")
    return all(
        np.array_equal(getattr(one, table)[name], getattr(other, table)[name])
        for table in tables
        for name in POLICIES
    )


def engines_asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that will hold what engines were asked for, block by block."""
    asked: list[str] = []
    usual = blocks.engine_of
    monkeypatch.setattr(
        blocks, "engine_of", lambda engine, *rest: asked.append(engine) or usual(engine, *rest)
    )
    return asked


def test_a_short_simulation_is_not_compiled_and_has_the_same_numbers(
    unloaded: pytest.MonkeyPatch,
) -> None:
    asked = engines_asked(unloaded)
    opened = sb.simulate(POLICIES, WORLD, **HOW)
    assert set(asked) == {"python"}
    assert opened.info["engine"] == "auto"
    assert same(opened, sb.simulate(POLICIES, WORLD, engine="compiled", **HOW))


@pytest.mark.parametrize(("finished", "opened"), [(0, 1), (1, 2), (3, 3)])
def test_runs_that_would_take_too_long_are_played_anew_by_compiled_code(
    unloaded: pytest.MonkeyPatch, finished: int, opened: int
) -> None:
    """Patience ends in the middle of a run after so many that were finished; blocks have 1, 2, 4."""

    class Counted(opening.Patience):
        looks = 0

        def __getitem__(self, place: int) -> int:
            Counted.looks += 1
            self.lost = Counted.looks > most
            return int(self.lost)

    whole = sb.simulate(POLICIES, WORLD, engine="compiled", **HOW)
    most = sum(int(plans[:finished].sum()) for plans in whole.plans.values()) + 2
    unloaded.setattr(opening, "Patience", Counted)
    asked = engines_asked(unloaded)
    assert same(sb.simulate(POLICIES, WORLD, **HOW), whole)
    assert asked.count("python") == opened * len(POLICIES)
    assert asked[-1] == "auto"


def test_there_is_no_second_half_of_a_second(unloaded: pytest.MonkeyPatch) -> None:
    """What one simulation has used up is gone for the next; and nothing is said of odd settings."""
    assert opening.patience_left() == 3600.0
    sb.simulate(POLICIES, WORLD, **HOW)
    assert 0.0 < opening.patience_left() < 3600.0
    unloaded.setenv(opening.VARIABLE, "soon")
    assert opening.patience_left() == opening.USUAL - opening._used
    unloaded.setattr(opening, "COMPILER", "sys")
    assert opening.patience_left() == 0.0


class Elsewhere(NamedTuple):
    """A world that is not the library's."""

    means: Any

    def draw(self, arm: int, pulls: int, count: int, rng: Any) -> Any:
        raise AssertionError("nobody plays here")


def test_only_the_librarys_own_are_opened_and_only_if_they_could_be_compiled(
    unloaded: pytest.MonkeyPatch,
) -> None:
    assert opening.is_ours(sb.UCB(R))
    assert opening.is_ours(WORLD)
    assert not opening.is_ours(Elsewhere(R.means(0)))
    assert not opening.is_ours("UCB")
    setting = cases.Setting(("UCB",), 10, 0, np.array([10]), "auto", False, True, False, None)
    case = cases.Same({"UCB": sb.UCB(R)}, WORLD)
    runs = range(2, 5)
    assert opening.first_runs(setting, case, runs)[1] == range(5, 5)
    strange = cases.Same({"UCB": sb.UCB(R)}, Elsewhere(R.means(0)))
    assert opening.first_runs(setting, strange, runs) == ([], runs)
    unloaded.setattr(opening, "find_spec", lambda name: None)
    assert opening.first_runs(setting, case, runs) == ([], runs)


def test_a_fresh_process_does_not_load_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(opening.VARIABLE, "3600")
    subprocess.run([sys.executable, "-c", FRESH], check=True)
