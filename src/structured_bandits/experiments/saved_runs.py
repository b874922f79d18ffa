"""The runs of experiments: each policy's runs are saved as they finish, and never played twice.

A file's name holds a key, the hash of all that decides its numbers: settings, structure, runs, seed,
sources and versions. So a killed run continues where it was, another setting gets files of its own,
and a file that is not what its name says is named and left alone.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from structured_bandits.base.sources import SOURCES_HASH
from structured_bandits.base.writing import make_folder, safe_name, spelled
from structured_bandits.errors import FileFormatError, MeansOutsideUnitIntervalWarning
from structured_bandits.experiments.settings import Experiment
from structured_bandits.experiments.worlds import Problem, RandomProblems
from structured_bandits.simulation.result import Result, load_result
from structured_bandits.simulation.simulate import simulate, simulate_random, version_of
from structured_bandits.simulation.workers import core_count


@dataclass(frozen=True)
class RunOptions:
    """The options with which experiments are run."""

    out: Path
    runs: int | None = None  # None: as each experiment says
    seed: int = 0
    workers: int | None = None
    first: int = 0  # the first run
    brief: bool = (
        False  # keep only what claims need: regret at a tenth, half and the end; no e-values
    )
    progress: bool | None = None  # None: a bar if standard error is a terminal

    def runs_of(self, experiment: Experiment) -> int:
        """Return the number of runs of an experiment."""
        return self.runs or experiment.runs


def run_policy(experiment: Experiment, name: str, options: RunOptions) -> Result:
    """Return the runs of one policy, from its file if it has been played."""
    path = result_path(experiment, name, options)
    if path.exists():
        return _load(path, path.stem)
    result = play_policy(experiment, name, options)
    result.info["key"] = path.stem
    make_folder(path.parent)
    result.save(path)
    return result


def gather(experiment: Experiment, options: RunOptions) -> Result:
    """Return the result of all policies of an experiment."""
    return together({name: run_policy(experiment, name, options) for name in experiment.specs})


def together(parts: Mapping[str, Result]) -> Result:
    """Return the results of single policies, by their names, as one."""
    first = next(iter(parts.values()))
    tables = {
        key: {name: getattr(part, key)[name] for name, part in parts.items()}
        for key in ("regret", "pulls", "plans", "empty", "sums", "e_values", "alarms", "out")
        if getattr(first, key)
    }
    about = {name: part.info["policies"][name] for name, part in parts.items()}
    return Result(checkpoints=first.checkpoints, **tables, info={**first.info, "policies": about})


def result_path(experiment: Experiment, name: str, options: RunOptions) -> Path:
    """Return the file of a policy's runs."""
    folder = options.out / "data" / safe_name(experiment.data)
    return folder / f"{spelled(name)}-{key(experiment, name, options)}.parquet"


def key(experiment: Experiment, name: str, options: RunOptions) -> str:
    """Return a hash of all that decides the numbers."""
    problem = experiment.fixed
    about = {
        **experiment.plain,
        "fingerprint": problem.structure.fingerprint if problem else None,
        "means": problem.world.means.tolist() if problem else None,
        "horizon": experiment.horizon,
        "checkpoints": experiment.checkpoints,
        "policy": [name, experiment.specs[name], *experiment.code.get(name, ())],
        "runs": options.runs_of(experiment),
        "first": options.first,
        "brief": options.brief,
        "seed": options.seed,
        "sources": SOURCES_HASH,
        "versions": [np.__version__, version_of("numba")],
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True, default=str).encode()).hexdigest()[:16]


def strangers(options: RunOptions) -> list[Path]:
    """Return the files among the data that this library did not name; nothing touches them."""
    folder = options.out / "data"
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not _ours(path)]


def _ours(path: Path) -> bool:
    tail = path.name.rpartition("-")[2]
    return (tail.endswith(".parquet") and len(tail) == 24) or path.name.endswith(".part")


def _load(path: Path, name: str) -> Result:
    try:
        result = load_result(path)
    except (FileFormatError, OSError) as error:
        raise FileFormatError(
            f"{path} cannot be read ({error}); it is left alone: move it away, or use another --out"
        ) from None
    if result.info.get("key") != name:
        raise FileFormatError(
            f"{path} was not written under this name; it is left alone: move it away, or use another "
            "--out"
        )
    return result


def compile_for(experiment: Experiment, name: str, progress: bool | None = None) -> None:
    """Compile what a policy of an experiment needs, by playing a single pull."""
    options = RunOptions(Path(), runs=1, workers=1, progress=progress)
    play_policy(replace(experiment, horizon=1), name, options, engine="compiled")


def play_policy(
    experiment: Experiment, name: str, options: RunOptions, engine: str = "auto"
) -> Result:
    """Play the runs of one policy of an experiment."""
    how: dict[str, Any] = {
        "engine": engine,
        "runs": options.runs_of(experiment),
        "first_run": options.first,
        "seed": options.seed,
        "checkpoints": experiment.checkpoints,
        "workers": options.workers or core_count(),
        "progress": options.progress,
    }
    if options.brief:
        end = experiment.horizon
        how |= {"checkpoints": sorted({max(1, end // 10), max(1, end // 2), end}), "misfit": False}
    problem = experiment.problem
    with warnings.catch_warnings():  # random structures leave [0, 1] on purpose
        warnings.simplefilter("ignore", MeansOutsideUnitIntervalWarning)
        if isinstance(problem, Problem):
            chosen = {name: experiment.policy(name, problem)}
            return simulate(chosen, problem.played, experiment.horizon, **how)
        return simulate_random(_Draw(experiment, name, problem), experiment.horizon, **how)


@dataclass(frozen=True)
class _Draw:
    """Draws a problem and, on it, one policy of an experiment; every policy meets the same ones."""

    ahead: ClassVar[bool] = True  # nothing that was drawn changes when more is drawn
    experiment: Experiment
    name: str
    problems: RandomProblems

    def __call__(self, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
        problem = self.problems.draw(rng)
        return {self.name: self.experiment.policy(self.name, problem)}, problem.world
