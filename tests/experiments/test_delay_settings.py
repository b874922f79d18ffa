"""Delays in experiment files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import STRUCTURES
from structured_bandits.experiments.settings import read_experiment

PLAIN = """
structure = { kind = "finite", means = [[0.75, 0.25], [0.25, 0.5]], models = ["a", "b"] }
truth = "a"
horizon = 50
[policies.SUCB]
"""


def read(folder: Path, lines: str, plain: str = PLAIN) -> Any:
    path = folder / "own.toml"
    path.write_text(f"{lines}\n{plain}")
    return read_experiment(path, named=STRUCTURES)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("delay = 100", "100"),
        ("delay = inf", "inf"),
        ("delay = [1, 2, inf]", "[1, 2, inf]"),
        ("delay = { geometric = 40 }", "GeometricDelay(40)"),
        ("delay_failures = 30", "0, failures=30"),
        ("delay = 2\ndelay_failures = { geometric = 7.5 }", "2, failures=GeometricDelay(7.5)"),
    ],
)
def test_delays_of_an_experiment(tmp_path: Path, lines: str, expected: str) -> None:
    experiment = read(tmp_path, lines)
    world = experiment.problem.world
    assert repr(experiment.problem.played) == f"Delayed({world!r}, {expected})"
    assert isinstance(world, sb.Bernoulli)
    plain = read(tmp_path, "").plain
    assert json.dumps(experiment.plain) != json.dumps(plain)  # results are saved under another key


def test_rewards_come_at_once_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    problem = read(tmp_path, "").problem
    assert problem.played is problem.world


def test_gaussian_rewards_may_come_late(tmp_path: Path) -> None:
    experiment = read(tmp_path, 'rewards = "gaussian"\ndelay = 3')
    assert experiment.policy("SUCB", experiment.problem).reward_range is None
    assert isinstance(experiment.problem.played, sb.Delayed)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("delay = -1", r"own.toml, delay=-1: expected a whole number of pulls from 0"),
        ("delay = 'soon'", r"own.toml, delay='soon': expected a whole number"),
        ("delay = true", r"own.toml, delay=True: expected a whole number"),
        ("delay_failures = 0.5", r"own.toml, delay_failures=0.5: expected a whole number of pulls"),
        ("delay = { mean = 3 }", r"own.toml, delay, 'mean'"),
        ("delay = { geometric = -3 }", r"own.toml, delay: mean=-3: expected a finite number >= 0"),
        (
            "rewards = 'gaussian'\ndelay_failures = 3",
            "delay_failures: Gaussian rewards have no lowest",
        ),
    ],
)
def test_mistakes_name_file_and_key(tmp_path: Path, lines: str, said: str) -> None:
    with pytest.raises(sb.FileFormatError, match=said):
        read(tmp_path, lines)


def test_structures_that_each_run_draws_pay_at_once(tmp_path: Path) -> None:
    with pytest.raises(
        sb.FileFormatError, match="structure='paper:random': its rewards come at once"
    ):
        read(tmp_path, "delay = 3", 'structure = "paper:random"\nhorizon = 50\n[policies.SUCB]\n')
