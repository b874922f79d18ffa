"""The points of a `[sweep]`: which policies are played with which values, and what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.experiments.sweeps.grid import SweepGrid, read_grid

MEANS = [[0.8, 0.3, 0.1], [0.8, 0.9, 0.1], [0.1, 0.2, 0.9]]
BASE: dict[str, Any] = {
    "structure": {"kind": "finite", "means": MEANS, "models": ["one", "two", "three"]},
    "truth": "one",
    "horizon": 100,
    "runs": 7,
    "policies": {"SAE": {}, "UCB": {}, "patient": {"kind": "SAE", "beta": 2.0}},
}


def grid(axes: dict[str, Any], **changes: Any) -> SweepGrid:
    return read_grid({**BASE, **changes, "sweep": axes})


def values(found: SweepGrid, policy: str) -> list[dict[str, Any]]:
    return [point.values for point in found.points if point.policy == policy]


# ------------------------------------------------------------------------------------- what is played


def test_an_axis_of_the_whole_experiment_concerns_every_policy() -> None:
    found = grid({"horizon": [10, 20]})
    assert [(each.policy, each.experiment.horizon) for each in found.points] == [
        (policy, horizon) for policy in BASE["policies"] for horizon in (10, 20)
    ]
    assert [each.number for each in found.points] == list(range(6))
    assert found.runs == 7
    assert all(set(each.experiment.specs) == {each.policy} for each in found.points)
    assert all(each.experiment.checkpoints == 20 for each in found.points)


def test_an_axis_of_one_policy_concerns_no_other() -> None:
    found = grid({"policies.SAE.alpha": [0.5, 1.0, 2.0], "seed": [3, 4]})
    assert Counter(each.policy for each in found.points) == {"SAE": 6, "UCB": 2, "patient": 2}
    assert values(found, "UCB") == [{"seed": 3}, {"seed": 4}]
    played = {
        (each.experiment.specs["SAE"]["alpha"], each.seed)
        for each in found.points
        if each.policy == "SAE"
    }
    assert played == {(alpha, seed) for alpha in (0.5, 1.0, 2.0) for seed in (3, 4)}


def test_a_star_concerns_the_policies_that_have_the_parameter() -> None:
    found = grid({"policies.*.beta": [1.0, 2.0, 3.0]})
    assert Counter(each.policy for each in found.points) == {"SAE": 3, "UCB": 1, "patient": 3}
    assert {each.experiment.specs[each.policy].get("beta") for each in found.points} == {
        None,
        1.0,
        2.0,
        3.0,
    }
    assert values(found, "UCB") == [{}]


def test_a_star_reaches_into_the_guards_of_those_that_have_one() -> None:
    policies = {"SAE": {"guard": {}}, "UCB": {}}
    found = grid({"policies.*.guard.level": [0.01, 0.1]}, policies=policies)
    assert Counter(each.policy for each in found.points) == {"SAE": 2, "UCB": 1}
    assert [each.experiment.specs["SAE"]["guard"] for each in found.points[:2]] == [
        {"level": 0.01},
        {"level": 0.1},
    ]


def test_a_policy_may_be_of_another_kind_at_each_point() -> None:
    found = grid({"policies.mine.kind": ["UCB", "SAE"]}, policies={"mine": {"kind": "UCB"}})
    assert [each.experiment.specs["mine"]["kind"] for each in found.points] == ["UCB", "SAE"]


def test_cases_change_several_keys_at_once() -> None:
    cases = [
        {"name": "early", "horizon": 50, "delay": 0},
        {"name": "late", "delay": 10, "truth": "two", "seed": 9},
        {"delay": 3},
    ]
    found = grid({"cases": cases}, policies={"UCB": {}})
    early, late, unnamed = found.points
    assert [each.values["cases"] for each in found.points] == ["early", "late", '{"delay": 3}']
    assert (early.experiment.horizon, late.experiment.horizon) == (50, 100)
    assert (early.seed, late.seed) == (0, 9)
    assert [each.experiment.plain["delay"] for each in (early, late, unnamed)] == [0, 10, 3]
    assert [each.experiment.plain["truth"] for each in found.points] == ["one", "two", "one"]


def test_keys_inside_of_tables() -> None:
    """The steepness of a structure, and values that are lists."""
    structure = {"kind": "lipschitz", "positions": [0.0, 0.5, 1.0]}
    axes = {"structure.constant": [0.5, 1.0], "truth": [[0.5, 0.4, 0.3], [0.3, 0.4, 0.5]]}
    found = grid(axes, structure=structure, policies={"UCB": {}})
    assert [tuple(each.values.values()) for each in found.points] == [
        (constant, truth)
        for constant in (0.5, 1.0)
        for truth in ("[0.5, 0.4, 0.3]", "[0.3, 0.4, 0.5]")
    ]
    problems = [each.experiment.fixed for each in found.points]
    assert len({each.structure.fingerprint for each in problems}) == 2  # type: ignore[union-attr]
    assert [each.world.means[0] for each in problems] == [0.5, 0.3, 0.5, 0.3]  # type: ignore[union-attr]
    assert structure == {"kind": "lipschitz", "positions": [0.0, 0.5, 1.0]}  # is left as it was


def test_files_beside_the_experiment(tmp_path: Path) -> None:
    (tmp_path / "types").mkdir()
    for number, name in enumerate(("b", "a")):
        text = f"model,x,y\none,0.6,0.4\ntwo,0.{number + 1},0.6\n"
        (tmp_path / "types" / f"{name}.csv").write_text(text)
    (tmp_path / "types" / "c.csv").mkdir()  # no file
    (tmp_path / "own.toml").write_text(
        'truth = "one"\nhorizon = 30\n[policies.UCB]\n[sweep]\nstructure = {files = "types/*.csv"}\n'
    )
    found = read_grid(tmp_path / "own.toml", runs=3, seed=5)
    assert [each.values["structure"] for each in found.points] == ["types/a.csv", "types/b.csv"]
    means = [each.experiment.fixed.structure.means(1)[0] for each in found.points]  # type: ignore[union-attr]
    assert means == [0.2, 0.1]
    assert (found.runs, found.title) == (3, "own")
    assert [each.seed for each in found.points] == [5, 5]


def test_nothing_is_played_twice() -> None:
    axes = {
        "horizon": [10, 20],
        "policies.*.alpha": [0.5, 1],
        "policies.patient.beta": [1.0, 1.5],
        "seed": [0, 1],
    }
    found = grid(axes)
    assert Counter(each.policy for each in found.points) == {"SAE": 8, "UCB": 8, "patient": 16}
    keys = [each.key for each in found.points]
    assert len(set(keys)) == len(keys)
    assert keys == [each.key for each in grid(axes).points]  # and again the same


def test_points_on_the_same_problem_share_it() -> None:
    found = grid({"policies.SAE.alpha": [0.5, 1.0], "horizon": [10, 20]})
    assert len({id(each.experiment.problem) for each in found.points}) == 1


def test_tuples_do_in_python() -> None:
    assert len(grid({"horizon": (10, 20)}).points) == 6


# ---------------------------------------------------------------------------------- what is refused

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": (
        {"horison": [1]},
        "sweep.horison: accepted are delay, .*truth, cases, seed, keys",
    ),
    "title": ({"title": ["a", "b"]}, "sweep.title: accepted are"),
    "runs": ({"runs": [1, 2]}, "sweep.runs: accepted are"),
    "a whole policy": ({"policies.SAE": [{}]}, "sweep.policies.SAE: accepted are"),
    "inside of the seed": ({"seed.x": [1]}, r"sweep.seed.x: accepted are"),
    "empty": ({"horizon": []}, r"sweep.horizon=\[\]: expected a list of values"),
    "no list": ({"horizon": 10}, "sweep.horizon=10: expected a list of values, or {files = "),
    "a table": ({"horizon": {"a": 1}}, "expected a list of values"),
    "twice": ({"horizon": [10, 20, 10]}, "sweep.horizon: 10 is there twice"),
    "twice, as another number": ({"policies.SAE.alpha": [1, 1.0]}, "1 is there twice"),
    "twice, lists": ({"truth": [[1, 0, 0], [1, 0, 0]]}, "is there twice"),
    "twice, names": ({"cases": [{"name": "a"}, {"name": "a", "delay": 1}]}, "'a' is there twice"),
    "no such policy": ({"policies.SEA.alpha": [1]}, "there is no policy 'SEA'"),
    "no such parameter": (
        {"policies.SAE.alhpa": [1.0]},
        "policies.SAE, 'alhpa': unknown; accepted",
    ),
    "nobody has it": ({"policies.*.alhpa": [1.0]}, r"sweep.policies.\*.alhpa: no policy has this"),
    "a wrong value": ({"policies.SAE.alpha": [1.0, -1.0]}, "alpha=-1.0"),
    "a wrong horizon": ({"horizon": [10, 0]}, "horizon=0"),
    "a text for a number": ({"horizon": ["10"]}, "horizon='10': expected a whole number"),
    "a wrong seed": ({"seed": [-1]}, "seed=-1"),
    "no table": ({"horizon.x": [1]}, "sweep.horizon.x: horizon is 100, expected a table"),
    "deeper": ({"structure.means.x": [1]}, r"means is \[\[.*expected a table"),
    "cases that are none": ({"cases": [1]}, "sweep.cases: expected tables"),
    "cases of policies": (
        {"cases": [{"policies": {"UCB": {}}}]},
        "sweep.cases, 'policies': unknown",
    ),
    "cases of runs": (
        {"cases": [{"name": "a", "runs": 3}]},
        "'runs': unknown; accepted are name, d",
    ),
    "files that are none": ({"structure": {"files": "*.nowhere"}}, "there is no such file in"),
    "files anywhere": ({"structure": {"files": "/etc/*.csv"}}, "there is no such file in"),
    "files without a name": ({"structure": {"files": ""}}, "there is no such file in"),
    "files by number": ({"structure": {"files": 3}}, "files=3: expected a text"),
    "two axes, one key": (
        {"policies.*.alpha": [0.5, 1], "policies.SAE.alpha": [2, 3]},
        r"sweep.policies.\*.alpha and sweep.policies.SAE.alpha vary the same key of SAE",
    ),
    "one axis inside the other": (
        {"structure.margin": [0.1, 0.2], "cases": [{"structure": "a.csv"}]},
        "sweep.structure.margin and sweep.cases vary the same key",
    ),
    "cases that are the same": (
        {"cases": [{"name": "a", "delay": 5}, {"name": "b", "delay": 5}]},
        "SAE would play the same for {'cases': 'a'} and {'cases': 'b'}",
    ),
}


@pytest.mark.parametrize(("axes", "message"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_named(axes: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError, match=message):
        grid(axes)


CHANGED: dict[str, tuple[dict[str, Any], str]] = {
    "no policies": ({"policies": {}}, "expected a table for each policy, found none"),
    "policies that are none": ({"policies": 3}, "expected a table for each policy, found none"),
    "a policy that is none": ({"policies": {"SAE": 3}}, "policies.SAE=3: expected a table"),
    "an unknown kind": ({"policies": {"X": {}}}, "kind='X' is unknown"),
    "a seed": ({"seed": 3}, r"seed: unknown; it is an option, or a list in \[sweep\]"),
    "an unknown key": ({"horison": 3}, "'horison': unknown; accepted are"),
    "wrong runs": ({"runs": 0}, "runs=0"),
}


@pytest.mark.parametrize(("changes", "message"), CHANGED.values(), ids=list(CHANGED))
def test_what_is_wrong_around_it_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.StructuredBanditsError, match=message):
        grid({"horizon": [10, 20]}, **changes)


@pytest.mark.parametrize("table", [None, {}, 3, ["horizon"]], ids=str)
def test_without_a_sweep_there_is_nothing_to_vary(table: Any) -> None:
    with pytest.raises(sb.FileFormatError, match=r"there is no \[sweep\] with the keys to vary"):
        read_grid({**BASE, "sweep": table})
    with pytest.raises(sb.FileFormatError, match=r"there is no \[sweep\]"):
        read_grid(BASE)


def test_compare_says_who_plays_sweeps(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('structure = "R"\nhorizon = 9\n[policies.UCB]\n[sweep]\nhorizon = [1, 2]\n')
    said = CliRunner().invoke(main, ["compare", str(path)])
    assert said.exit_code == 2
    assert f"has a [sweep]: structured-bandits sweep {path} plays all its points" in said.output
    assert list(tmp_path.iterdir()) == [path]
