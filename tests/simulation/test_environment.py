"""Simulations where Numba, its cache or NumPy are not as we know them: they play on, and say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.simulation import batches as blocks
from structured_bandits.simulation import generator

R = figure1_right()
WORLD = sb.Bernoulli(R.means(0))

PLAY = """
    import json, sys, warnings
    import structured_bandits as sb
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.6]), 200, runs=3, workers=2)
    print(json.dumps({
        "pulls": result.pulls["UCB"].tolist(),
        "said": [str(each.message) for each in caught],
        "kinds": sorted({each.category.__name__ for each in caught}),
    }))
"""


def run(code: str, **environment: str) -> Any:
    """Run code in a fresh process; return the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def usual() -> Any:
    return run(PLAY)


def test_without_a_compiler_it_plays_in_python_and_says_so(usual: Any) -> None:
    found = run(PLAY, NUMBA_DISABLE_JIT="1")
    assert found["pulls"] == usual["pulls"]
    assert found["kinds"] == ["SlowSimulationWarning"]
    assert "NUMBA_DISABLE_JIT is set" in found["said"][0]


NO_FOLDER = """
    import numba.core.caching as caching
    def nowhere(self):
        raise OSError(30, "Read-only file system")
    for locator in caching._CacheImpl._locator_classes if hasattr(caching, "_CacheImpl") else ():
        locator.ensure_cache_path = nowhere
    for name in dir(caching):
        each = getattr(caching, name)
        if isinstance(each, type) and hasattr(each, "ensure_cache_path"):
            each.ensure_cache_path = nowhere
"""


def test_without_a_folder_to_write_to_it_compiles_anew_and_names_the_variable(usual: Any) -> None:
    """A crash of 0.1.0 under service users, whose home and library are not writable."""
    found = run(textwrap.dedent(NO_FOLDER) + textwrap.dedent(PLAY))
    assert found["pulls"] == usual["pulls"]
    assert found["kinds"] == ["SlowSimulationWarning"]
    assert len(found["said"]) == 1
    assert "NUMBA_CACHE_DIR" in found["said"][0]


FULL_DISK = """
    import numba.core.caching as caching
    def full(self, *arguments, **options):
        raise OSError(28, "No space left on device")
    caching.Cache.save_overload = full
"""


def test_with_a_full_disk_it_plays_uncached(usual: Any, tmp_path: Path) -> None:
    code = textwrap.dedent(FULL_DISK) + textwrap.dedent(PLAY)
    found = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["pulls"] == usual["pulls"]
    assert "NUMBA_CACHE_DIR" in " ".join(found["said"])


UNKNOWN_OPTION = """
    from numba.core.cpu import CPUTargetOptions
    for kind in CPUTargetOptions.__mro__:
        if "_nrt" in vars(kind):
            delattr(kind, "_nrt")
"""


def test_a_numba_that_counts_references_always_plays_the_same(usual: Any, tmp_path: Path) -> None:
    """`_nrt` is no documented option; one that does not know it must not stop anybody."""
    code = textwrap.dedent(UNKNOWN_OPTION) + textwrap.dedent(PLAY)
    found = run(code, NUMBA_CACHE_DIR=str(tmp_path))
    assert found["pulls"] == usual["pulls"]
    assert found["said"] == []


DRAWS = """
    import json
    import structured_bandits as sb
    from structured_bandits.base.draws import addresses
    from structured_bandits.simulation import compiled, generator
    policies = {"TS": sb.ThompsonSampling(2)}
    result = sb.simulate(policies, sb.Bernoulli([0.5, 0.6]), 300, runs=3, engine="compiled")
    layout = generator.known_layout(generator.fresh_generator())
    used = [bool(addresses()), compiled.WAITING is not None, not compiled.COUNTS, layout is not None]
    print(json.dumps({"used": used, "pulls": {name: result.pulls[name].tolist() for name in policies}}))
"""


def test_with_documented_ways_alone_it_plays_the_same(tmp_path: Path) -> None:
    """STRUCTURED_BANDITS_PUBLIC_ONLY switches off what NumPy and Numba do not document, all of it."""
    found = run(DRAWS, STRUCTURED_BANDITS_PUBLIC_ONLY="1", NUMBA_CACHE_DIR=str(tmp_path))
    usual = run(DRAWS)
    assert (usual["used"], found["used"]) == ([True] * 4, [False] * 4)
    assert found["pulls"] == usual["pulls"]


@pytest.mark.parametrize("engine", ["compiled", "python"])
def test_an_unknown_layout_is_never_read(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    """Generators are then set in the public way: the same runs, no pointer followed."""

    def forbidden(rng: np.random.Generator) -> Any:
        raise AssertionError("a pointer was read")

    policies = {"SUCB": sb.SUCB.paper(R), "SAE": sb.SAE.paper(R, 2000), "UCB": sb.UCB(R)}
    usual = sb.simulate(policies, WORLD, 500, runs=6, engine=engine)
    monkeypatch.setattr(generator, "KNOWN_NUMPY", 99)
    monkeypatch.setattr(generator, "state_memory", forbidden)
    assert blocks.known_layout(generator.fresh_generator()) is None
    other = sb.simulate(policies, WORLD, 500, runs=6, engine=engine)
    for name in policies:
        assert np.array_equal(usual.pulls[name], other.pulls[name])
        assert np.array_equal(usual.regret[name], other.regret[name])


def test_a_layout_that_does_not_fit_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = generator.Memory(np.zeros(4, np.uint64), np.zeros(2, np.uint32))
    monkeypatch.setattr(generator, "state_memory", lambda rng: elsewhere)
    assert generator.known_layout(generator.fresh_generator()) is None
