"""The wheel, installed into fresh environments as a user would: alone, and with all extras.

Both tests install from the package index that pip is set to use, so they need it to be reachable. Nothing
is borrowed from the environment that runs the tests but its hatchling and its versions: with `make test` those
of requirements.lock, with `make test-newest` the newest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import structured_bandits as sb

PROJECT = Path(__file__).parents[1]
PIP = (sys.executable, "-m", "pip")


def run(
    *command: str | Path, cwd: Path, expected: int = 0, timeout: float = 1800.0
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without paths of ours; return what it said."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == expected, done.stdout + done.stderr
    return done


class Environment:
    """A fresh environment of the running Python, with the wheel and what it asks for.

    Our pip fills it, from outside and without byte code: that takes a third of the time.
    """

    def __init__(self, folder: Path, wheel: Path, extras: str) -> None:
        self.folder = folder
        self.bin = folder / "env" / "bin"
        run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
        versions = folder / "versions.txt"
        versions.write_text(run(*PIP, "freeze", "--exclude-editable", cwd=folder).stdout)
        self.pip("install", "-q", "--no-compile", "-c", versions, f"{wheel}{extras}")

    def pip(self, *arguments: str | Path) -> str:
        """Run pip on it; return what it said."""
        return run(*PIP, "--python", self.bin / "python", *arguments, cwd=self.folder).stdout

    def python(self, *arguments: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
        """Run its Python, in a folder that is not ours."""
        return run(self.bin / "python", *arguments, cwd=self.folder, expected=expected)

    def command(self, *arguments: str, expected: int = 0) -> subprocess.CompletedProcess[str]:
        """Run the command that it has installed."""
        command = self.bin / "structured-bandits"
        return run(command, *arguments, cwd=self.folder, expected=expected)

    def packages(self) -> set[str]:
        """Names of what is installed."""
        return {package["name"] for package in json.loads(self.pip("list", "--format=json"))}


AGENTS = """
    import json
    import structured_bandits as sb

    table = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"])
    curve = sb.CurveStructure([sb.Piece(0.0, 1.0, [0.1, 0.9], [0.8, 0.2])])
    pulls = []
    for structure, truth in ((table, 1), (curve, 0.9)):
        agent = sb.Agent(sb.SUCB(structure))
        means = structure.means(truth)
        for t in range(400):  # of a hundred rewards in a row, as many are 1 as the mean says
            decision = agent.ask()
            agent.tell(decision.id, float((t * 37) % 100 < 100 * means[decision.arm]))
        restored = sb.Agent.from_json(agent.to_json(), agent.policy)
        pulls.append(restored.pulls.tolist())
    world = sb.Bernoulli(table.means(0))
    played = sb.simulate(sb.SUCB(table), world, 500, runs=2, engine="python")
    sb.RemoteAgent("http://127.0.0.1:9", "drinks")
    print(json.dumps([sb.__file__, *pulls, played.pulls["SUCB"].sum(axis=1).tolist()]))
"""

HINTS = """
    import structured_bandits as sb

    table = sb.FiniteStructure([[0.8, 0.3], [0.8, 0.9]])
    analysis = sb.analyse(table, 0)
    calls = {
        "simulate": lambda: sb.simulate(sb.SUCB(table), sb.Bernoulli(table.means(0)), 10, runs=1),
        "bounds": lambda: analysis.bounds(1000),
        "plot": lambda: analysis.plot(1000),
        "lower_bound": lambda: analysis.lower_bound(),
        "linear": lambda: sb.linear([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]]),
        "load_result": lambda: sb.load_result("result.parquet"),
    }
    for name, call in calls.items():
        try:
            call()
        except sb.MissingExtraError as error:
            print(f"{name}: {error}")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    how = ("-q", "--no-deps", "--no-build-isolation")
    run(*PIP, "wheel", *how, "-w", folder, PROJECT, cwd=folder)
    (built,) = folder.iterdir()
    return built


def test_the_wheel_alone_brings_numpy_and_msgspec_and_plays_agents(
    tmp_path: Path, wheel: Path
) -> None:
    environment = Environment(tmp_path, wheel, "")
    assert environment.packages() == {"msgspec", "numpy", "structured-bandits"}

    said = environment.python("-W", "error", "-c", textwrap.dedent(AGENTS)).stdout
    file, table, curve, simulated = json.loads(said)
    assert Path(file).is_relative_to(tmp_path)
    assert sum(table) == sum(curve) == 400
    assert table[1] > 300  # coffee
    assert curve[0] > 300
    assert simulated == [500, 500]

    said = environment.python("-c", textwrap.dedent(HINTS)).stdout
    hints = dict(line.split(": ", 1) for line in said.splitlines())
    extras = {
        "simulate": ("numba", "simulate"),
        "bounds": ("pandas", "polyhedral,report"),
        "plot": ("matplotlib", "report"),
        "lower_bound": ("daqp", "polyhedral"),
        "linear": ("daqp", "polyhedral"),
        "load_result": ("pyarrow", "simulate"),
    }
    assert hints.keys() == extras.keys()
    for name, (package, extra) in extras.items():
        assert f"needs {package}, which is not installed" in hints[name]
        assert f"pip install {package} (part of the extra [{extra}])" in hints[name]

    for complaint in (
        environment.command("--version", expected=2),
        environment.python("-m", "structured_bandits", "--version", expected=2),
    ):
        assert "pip install click (part of the extra [cli])" in complaint.stderr
        assert "Traceback" not in complaint.stderr


@pytest.mark.usefixtures("own_cache")
def test_with_all_extras_the_command_runs_from_another_folder(tmp_path: Path, wheel: Path) -> None:
    environment = Environment(tmp_path, wheel, "[all]")
    assert sb.__version__ in environment.command("--version").stdout
    environment.command("init", "shop")
    experiment = tmp_path / "shop" / "experiment.toml"
    first, *others = experiment.read_text(encoding="utf-8").split("\n[policies.")
    assert len(others) == 4
    experiment.write_text(
        f"{first}\n[policies.{others[1]}", encoding="utf-8"
    )  # compile one is enough
    said = environment.command("compare", "shop/experiment.toml", "--runs", "2")
    page = tmp_path / "shop" / "results" / "experiment" / "report.html"
    assert f"page: {page.relative_to(tmp_path)}" in said.stdout
    assert "<svg" in page.read_text(encoding="utf-8")
    analysed = environment.command("analyse", "shop/models.csv", "--truth", "families", "--json")
    assert json.loads(analysed.stdout)["best_arm"] == "free delivery"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code and Matplotlib's fonts go where they are removed with the rest."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
