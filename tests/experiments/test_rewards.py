"""Experiment files and the command: rewards follow the range that the structure declares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.experiments.settings import read_experiment

FILE = """\
structure = {file = "models.csv", reward_range = [0, 10]}
truth = "one"
horizon = 30
runs = 2
rewards = "bounded"
spread = 0.5
[policies.SUCB]
[policies.UCB]
reward_range = [-5, 15]
[policies.ModelTS]
reward_range = "structure"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "models.csv").write_text("model,a,b\none,6,4\ntwo,4,6\n")
    (tmp_path / "experiment.toml").write_text(FILE)
    return tmp_path / "experiment.toml"


@pytest.mark.parametrize(
    ("rewards", "world"),
    [
        ('"bounded"\nspread = 0.5', sb.Bounded([6, 4], (0, 10), 0.5)),
        ('"bounded"', sb.Bounded([6, 4], (0, 10))),
        ('"bernoulli"', sb.Bernoulli([6, 4], (0, 10))),
        ('"gaussian"\nsigma = 2', sb.Gaussian([6, 4], 2.0)),
    ],
)
def test_worlds_follow_the_structure(rewards: str, world: object, path: Path) -> None:
    path.write_text(FILE.replace('"bounded"\nspread = 0.5', rewards))
    experiment = read_experiment(path)
    assert experiment.fixed is not None
    assert experiment.fixed.world == world
    found = {
        name: policy.reward_range  # type: ignore[attr-defined]
        for name, policy in experiment.policies(experiment.fixed).items()
    }
    own = {"UCB": (-5.0, 15.0), "ModelTS": (0.0, 10.0)}
    usual = None if "gaussian" in rewards else (0.0, 10.0)
    assert found == {"SUCB": usual, **own}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"bounded"', '"beta"', "rewards='beta': accepted are 'bernoulli', 'bounded' and 'gaussian'"),
        ('"bounded"', '"bernoulli"', "spread=0.5: it is for rewards = 'bounded', not for 'bernoulli'"),
        ("spread = 0.5", "spread = 2", "spread=2: expected 1e-12 to 1"),
        ("spread = 0.5", 'spread = "x"', "spread='x': expected a whole number or a number"),
        ("[0, 10]", "[0, 5]", "expected means in [0, 5], where the rewards lie"),
        ("[0, 10]", '"unbounded"', "reward_range='unbounded': expected a pair (low, high)"),
        ('"structure"', '"table"', "policies.ModelTS: reward_range='table': expected a pair"),
    ],
)  # fmt: skip
def test_files_that_are_refused(old: str, new: str, message: str, path: Path) -> None:
    path.write_text(FILE.replace(old, new))
    result = CliRunner().invoke(main, ["compare", str(path)])
    assert result.exit_code == 2
    assert message in result.output


def test_the_command_analyses_in_the_units_of_the_structure(tmp_path: Path) -> None:
    table = "kind = 'finite'\nmeans = [[{}, {}], [{}, {}]]\nmodels = ['one', 'two']\n"
    (tmp_path / "unit.toml").write_text(table.format(0.5, 0.25, 0.5, 0.75))
    ten = tmp_path / "ten.toml"
    ten.write_text(table.format(5, 2.5, 5, 7.5) + "reward_range = [0, 10]\n")

    def analysed(name: str, *options: str) -> dict[str, object]:
        asked = ["analyse", str(tmp_path / name), "--truth", "one", "--json", *options]
        found: dict[str, object] = json.loads(CliRunner().invoke(main, asked).stdout)
        return found

    one, many = analysed("unit.toml"), analysed("ten.toml")
    assert (one["reward_range"], many["reward_range"]) == ([0.0, 1.0], [0.0, 10.0])
    constants = [each["lower_bound"]["constant"] for each in (one, many)]  # type: ignore[index]
    assert constants[1] == pytest.approx(10 * constants[0])
    values = [[row["value"] for row in each["bounds"]] for each in (one, many)]  # type: ignore[attr-defined]
    known = [(a, b) for a, b in zip(*values, strict=True) if isinstance(a, float)]
    assert len(known) > 5
    assert [b for _, b in known] == pytest.approx([10 * a for a, _ in known])
    assert analysed("ten.toml", "--rewards", "0", "20")["reward_range"] == [0.0, 20.0]
