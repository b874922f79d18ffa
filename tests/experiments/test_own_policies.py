"""Policies of one's own in experiment files: `policy = "module:Class"`.

They run in Python here (`compiles = False`); docs/add-a-policy.md has a compiled one.
"""

from __future__ import annotations

import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import structured_bandits as sb
from structured_bandits.cli.commands import main
from structured_bandits.experiments import compile_ahead
from structured_bandits.experiments.saved_runs import RunOptions, result_path, run_policy
from structured_bandits.experiments.settings import Experiment, read_experiment
from structured_bandits.simulation.compiled import engine_for, foreign_runs

MODULE = '''
from typing import NamedTuple
import numpy as np
from own_helper import first_arm

class State(NamedTuple):
    pulls: np.ndarray

class Cycle(NamedTuple):
    """Play all arms in turn, beginning with one of them."""
    n_arms: int
    start: int = 0
    compiles = False

    def init(self):
        return State(np.zeros(self.n_arms, np.int64))

    def plan(self, state, now, quota, rng):
        quota[:] = 0
        quota[first_arm(self.start + now.t, self.n_arms)] = 1
        return 0

    def observe(self, state, seen):
        state.pulls[:] += seen.pulls

class Compiled(Cycle):
    compiles = True

class Lazy(Cycle):
    def plan(self, state, now, quota, rng):
        quota[:] = 0
        return 0

class Failing(Cycle):
    def plan(self, state, now, quota, rng):
        return state.no_such_field

GIVEN = {}

def noting(structure, n_arms, horizon, sigma=None, reward_range=(0.0, 1.0), **others):
    GIVEN.update(locals())
    return Cycle(n_arms)

def wrong():
    return [1, 2]

def dividing(n_arms):
    return n_arms / 0
'''
HELPER = "def first_arm(number, n_arms):\n    return number % n_arms\n"
EXPERIMENT = """
structure = {kind = "finite", means = [[0.8, 0.3, 0.1], [0.2, 0.7, 0.1]]}
truth = [0.8, 0.3, 0.1]
horizon = 50
runs = 4
[policies.mine]
policy = "own_module:Cycle"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_module.py").write_text(MODULE)
    (tmp_path / "own_helper.py").write_text(HELPER)
    (tmp_path / "own.toml").write_text(EXPERIMENT)
    return tmp_path


def read(folder: Path, **changes: str) -> Experiment:
    text = EXPERIMENT
    for old, new in changes.items():
        text = re.sub(rf"^{old} = .*$", new, text, flags=re.MULTILINE)
    (folder / "own.toml").write_text(text)
    return read_experiment(folder / "own.toml", allow_code=True)


def played(experiment: Experiment, folder: Path, workers: int = 1) -> sb.Result:
    return run_policy(experiment, "mine", RunOptions(folder / "out", workers=workers))


def test_code_runs_only_with_leave(folder: Path) -> None:
    trace = folder / "it-ran"
    run = f"from pathlib import Path\nPath({str(trace)!r}).touch()\n"
    (folder / "own_module.py").write_text(run + MODULE)
    result = CliRunner().invoke(main, ["compare", str(folder / "own.toml")])
    assert result.exit_code == 2
    assert "own.toml, policies.mine, policy='own_module:Cycle': this would run" in result.output
    assert "say --allow-code" in result.output
    assert not trace.exists()
    read_experiment(folder / "own.toml", allow_code=True)
    assert trace.exists()


def test_other_processes_find_the_module(folder: Path) -> None:
    result = played(
        read(folder, policy='policy = "own_module:Cycle"\nstart = 2'), folder, workers=2
    )
    assert result.pulls["mine"].tolist() == [[17, 16, 17]] * 4
    assert result.regret["mine"][:, -1] == pytest.approx(16 * 0.5 + 17 * 0.7)


def test_an_edited_policy_is_played_again(folder: Path) -> None:
    """Also if the edit is in a file that its module imports."""
    before = read(folder)
    options = RunOptions(folder / "out")
    path = result_path(before, "mine", options)
    assert played(before, folder).pulls["mine"][0].tolist() == [17, 17, 16]
    assert result_path(read(folder), "mine", options) == path
    assert path.is_file()
    (folder / "own_helper.py").write_text(HELPER.replace("number % n_arms", "n_arms - 1"))
    edited = read(folder)
    assert result_path(edited, "mine", options) != path
    assert played(edited, folder).pulls["mine"][0].tolist() == [0, 0, 50]


def test_names_are_filled_in_where_the_signature_has_them(folder: Path) -> None:
    experiment = read(
        folder,
        policy='policy = "own_module:noting"\nscale = 3',
        runs='rewards = "gaussian"\nsigma = 0.25',
    )
    given: dict[str, Any] = sys.modules["own_module"].GIVEN
    problem = experiment.fixed
    assert problem is not None
    assert given == {
        "structure": problem.structure,
        "n_arms": 3,
        "horizon": 50,
        "sigma": 0.25,
        "reward_range": None,
        "others": {"scale": 3},
    }
    read(folder, policy='policy = "own_module:noting"\nhorizon = 7')
    assert (given["horizon"], given["sigma"], given["reward_range"]) == (7, None, (0.0, 1.0))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('policy = "own_module"', "policies.mine, policy='own_module': expected \"module:Class\""),
        ("policy = 3", "policies.mine, policy=3: expected \"module:Class\""),
        ('policy = "no_such:A"', "policies.mine: there is no module 'no_such': neither a file"),
        ('policy = "own_module:No"', "has no class or function 'No'; it defines State, Cycle, Com"),
        ('policy = "own_module:GIVEN"', "has no class or function 'GIVEN'"),
        (
            'policy = "own_module:Cycle"\nbegin = 1',
            "got an unexpected keyword argument 'begin'. Its parameters are (n_arms: int, start: int "
            "= 0); the table may give start",
        ),
        ('policy = "own_module:State"', "missing a required argument: 'pulls'"),
        ('policy = "own_module:wrong"', "policies.mine: policy: expected one policy, got list"),
        ('policy = "own_module:dividing"', "calling own_module:dividing failed: ZeroDivisionError"),
        ('policy = "own_module:Lazy"', "policies.mine: policy: the policy planned no pull"),
        ('policy = "own_module:Failing"', "the first plan failed: AttributeError"),
        ('policy = "own_module:Cycle"\nn_arms = 4', "the policy has 4 arms, the world 3"),
        ('policy = "own_broken:A"', "importing own_broken failed: SyntaxError"),
        ('policy = "own_module:Cycle"\nkind = "UCB"', "exclude each other"),
        ('policy = "builtins:max"', "there is no module 'builtins'"),
        ('policy = "own_module:Cycle"\nguard = {}', "expected a policy with a structure"),
        (
            'kind = "SUCB"\nguard = {fallback = {policy = "own_module:Cycle"}}',
            "expected a policy of the library, such as sb.UCB(structure), or one that is built",
        ),
        (
            'kind = "SAE"\nguard = {fallback = {policy = "own_module:No"}}',
            "has no class or function 'No'",
        ),
    ],
)  # fmt: skip
def test_errors_name_file_and_table(folder: Path, table: str, message: str) -> None:
    (folder / "own_broken.py").write_text("def plan(:\n")
    with pytest.raises(sb.FileFormatError) as caught:
        read(folder, policy=table)
    assert str(caught.value).startswith(f"{folder / 'own.toml'}, policies.mine")
    assert message in str(caught.value)


def test_a_module_may_be_anywhere_on_the_path(folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "own_distant.py").write_text(MODULE)
    sys.path.append(str(elsewhere))
    experiment = read(folder, policy='policy = "own_distant:Cycle"')
    assert played(experiment, folder).pulls["mine"][0].tolist() == [17, 17, 16]


def test_errors_in_the_code_name_its_line(folder: Path) -> None:
    line = MODULE.splitlines().index("    return n_arms / 0") + 1
    with pytest.raises(sb.FileFormatError, match=rf"own_module.py, line {line}\)"):
        read(folder, policy='policy = "own_module:dividing"')


def test_a_file_cannot_take_the_name_of_another_module(folder: Path) -> None:
    (folder / "textwrap.py").write_text(MODULE)
    with pytest.raises(sb.FileFormatError, match="cannot be imported as 'textwrap', which is the"):
        read(folder, policy='policy = "textwrap:Cycle"')


def test_compiled_code_of_ones_own_is_never_kept_on_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes through the engine without a cache, and nobody compiles it ahead for others."""
    experiment = read(folder, policy='policy = "own_module:Compiled"')
    problem = experiment.fixed
    assert problem is not None
    assert engine_for(experiment.policy("mine", problem), problem.world) is foreign_runs
    started: list[Any] = []
    monkeypatch.setattr(compile_ahead, "_start", started.append)
    with compile_ahead.compiling_ahead([(experiment, "mine")] * 3):
        pass
    assert not started


def test_an_experiment_can_be_sent_to_another_process(folder: Path) -> None:
    experiment = pickle.loads(pickle.dumps(read(folder)))
    assert np.array_equal(experiment.fixed.world.means, [0.8, 0.3, 0.1])
    assert type(experiment.policy("mine", experiment.fixed)).__name__ == "Cycle"
