"""Whole processes: what is imported, what is compiled, what the disk cache answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import structured_bandits

HEAVY = ("numba", "scipy", "pandas", "matplotlib", "pyarrow", "tqdm")


def run(code: str, package: Path | None = None, script: Path | None = None) -> Any:
    """Run code in a fresh process; return the JSON that it prints on its last line."""
    environment = dict(os.environ)
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    command = [sys.executable, "-c", textwrap.dedent(code)]
    if script is not None:
        script.write_text(textwrap.dedent(code))
        command = [sys.executable, str(script)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, with a cache of its own."""
    source = Path(structured_bandits.__file__).parent
    target = tmp_path / "src" / source.name
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target.parent


def cache_files(package: Path) -> dict[str, int]:
    """Names and times of the files of the compiled code."""
    return {path.name: path.stat().st_mtime_ns for path in package.rglob("*.nb[ic]")}


PLAY = """
    import json
    import structured_bandits as sb
    from structured_bandits.base import progress
    said = []
    note = progress.note_compilation
    progress.note_compilation = lambda begins: (note(begins), said.append(progress.doing("")))
    result = sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.6]), 1000, runs=2)
    from structured_bandits.simulation.compiled import cached_runs
    stats = cached_runs.stats
    print(json.dumps({
        "file": sb.__file__,
        "pulls": result.pulls["UCB"].tolist(),
        "hits": sum(stats.cache_hits.values()),
        "misses": sum(stats.cache_misses.values()),
        "said": said,
    }))
"""


def test_importing_the_package_is_light() -> None:
    loaded = run(f"""
        import json, sys
        import structured_bandits
        print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
    """)
    assert loaded == []


def test_the_live_agent_is_light_too() -> None:
    loaded = run(f"""
        import json, sys
        import structured_bandits as sb
        agent = sb.Agent(sb.SUCB(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])))
        for _ in range(50):
            agent.tell(agent.ask().id, 1.0)
        sb.Agent.from_json(agent.to_json(), agent.policy).describe()
        print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
    """)
    assert loaded == []


def test_a_second_process_compiles_nothing_and_an_edit_is_never_answered_from_the_cache(
    package: Path,
) -> None:
    first = run(PLAY, package)
    assert first["file"].startswith(str(package))
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (first["said"][0], first["said"][-1]) == ("compiling, once", "")
    files = cache_files(package)
    assert len(files) == 2  # an index and the code

    second = run(PLAY, package)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert second["said"] == []  # what is read from the disk is not compiled
    assert second["pulls"] == first["pulls"]
    assert cache_files(package) == files

    # An edit in a module that the cached function does not live in: UCB becomes pessimistic.
    policy = package / "structured_bandits" / "lookahead" / "shortlist.py"
    text = policy.read_text()
    edited = text.replace("indices.means[arm] + root", "indices.means[arm] - root")
    assert edited != text
    policy.write_text(edited)
    third = run(PLAY, package)
    assert (third["hits"], third["misses"]) == (0, 1)
    assert third["pulls"] != first["pulls"]
    assert len(cache_files(package)) == 2  # nothing piles up

    policy.write_text(text)
    fourth = run(PLAY, package)
    assert fourth["pulls"] == first["pulls"]
    assert len(cache_files(package)) == 2


EDIT_AFTER_IMPORT = """
    import json
    import structured_bandits as sb
    from pathlib import Path
    file = Path(sb.__file__).parent / "lookahead" / "shortlist.py"
    file.write_text(file.read_text().replace("indices.means[arm] + root", "indices.means[arm] - root"))
    result = sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.6]), 1000, runs=2)
    print(json.dumps(result.pulls["UCB"].tolist()))
"""


def test_an_edit_between_import_and_first_simulation_does_not_poison_the_cache(
    package: Path,
) -> None:
    """Found in review: the old code, loaded before the edit, was cached as the new."""
    old = run(EDIT_AFTER_IMPORT, package)
    new = run(PLAY, package)
    assert (new["hits"], new["misses"]) == (0, 1)
    assert new["pulls"] != old


OWN_POLICY = """
    import json
    from typing import NamedTuple
    import numpy as np
    import structured_bandits as sb

    class State(NamedTuple):
        pulls: np.ndarray

    class Stubborn(NamedTuple):
        arm: int

        def init(self):
            return State(np.zeros(2, np.int64))

        def plan(self, state, now, quota, rng):
            wanted = np.zeros(2, np.int64)  # its own memory, as a user would
            wanted[ARM] = 3
            quota[:] = wanted
            return 0

        def observe(self, state, seen):
            state.pulls[:] += seen.pulls

    if __name__ == "__main__":
        results = [
            sb.simulate(Stubborn(0), sb.Bernoulli([0.5, 0.6]), 100, runs=2, engine=engine)
            for engine in ("compiled", "python")
        ]
        print(json.dumps([result.pulls["Stubborn"].tolist() for result in results]))
"""


def test_a_users_own_policy_simulates_and_leaves_the_shared_cache_alone(
    package: Path, tmp_path: Path
) -> None:
    run(PLAY, package)
    before = cache_files(package)
    script = tmp_path / "own.py"
    for arm, pulls in ((0, [100, 0]), (1, [0, 100])):  # the second is an edit of the first
        compiled, plain = run(OWN_POLICY.replace("ARM", str(arm)), package, script)
        assert compiled == plain == [pulls, pulls]
        assert cache_files(package) == before
    assert run(PLAY, package)["hits"] == 1
