"""The unit of work of a sweep: some runs of some points, played and written by a worker.

A worker writes its files itself, so what was played is there even if nobody is left to hear of it. It
looks first: of a task that comes a second time, because an answer was lost, nothing is played again.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from structured_bandits.base.sources import SOURCES_HASH
from structured_bandits.errors import MissingExtraError, OutputError, StructuredBanditsError
from structured_bandits.experiments.policies import load_code, own_code
from structured_bandits.experiments.saved_runs import RunOptions, compile_for, play_policy
from structured_bandits.experiments.settings import Experiment
from structured_bandits.experiments.sweeps.folder import MANIFEST, part_path, save_part
from structured_bandits.experiments.sweeps.grid import Point

_compiled: set[tuple[str, ...]] = set()  # what this process has compiled


class PointRuns(NamedTuple):
    """Some runs of a point."""

    point: int
    runs: range


@dataclass(frozen=True)
class Task:
    """The runs that a worker is sent."""

    out: Path
    pieces: tuple[tuple[Point, range], ...]
    sources: str = SOURCES_HASH  # of who sends it


class TimedRuns(NamedTuple):
    """Runs that a worker has played, and how long they took: 0 if they were there already."""

    piece: PointRuns
    seconds: float


def play_task(task: Task) -> list[TimedRuns]:
    """Play and write what is missing of a task.

    Dask cannot send errors that belong to two families, such as ValueError and OSError, nor an error
    that was raised while another such one was handled: all that arrives is a plain Exception.
    """
    try:
        return _play_task(task)
    except (OutputError, MissingExtraError) as error:
        words = str(error)
    raise StructuredBanditsError(words)


def _play_task(task: Task) -> list[TimedRuns]:
    if task.sources != SOURCES_HASH:
        raise OutputError(
            "this worker has another version of structured-bandits than the process that sends it work; "
            "install the same on all machines"
        )
    if not (task.out / MANIFEST).is_file():
        raise OutputError(
            f"{task.out}: this worker does not see the folder of the sweep; all machines must share it "
            "under the same path"
        )
    for point in {point.policy: point for point, _ in task.pieces}.values():
        _load_code(point.experiment, point.policy)
    return [
        TimedRuns(PointRuns(point.number, runs), _play(task.out, point, runs))
        for point, runs in task.pieces
    ]


def _load_code(experiment: Experiment, policy: str) -> None:
    """Import policies of the user's own: a worker that lives on may know them as they were before."""
    names = own_code(experiment.specs[policy])
    found = [load_code(name, experiment.path.parent) for name in names]
    if found != experiment.code.get(policy, []):
        raise OutputError(
            f"this worker finds other code for {', '.join(names)} than the process that sends it work; "
            "it must be the same on all machines, and stay as it is while a sweep is played"
        )


def _play(out: Path, point: Point, runs: range) -> float:
    path = part_path(out, point.number, runs)
    if path.exists():
        return 0.0
    _compile_once(point.experiment, point.policy)
    began = time.perf_counter()
    options = RunOptions(out, len(runs), point.seed, 1, first=runs.start, progress=False)
    result = play_policy(point.experiment, point.policy, options)
    result.info["key"] = point.key
    save_part(result, path)
    return time.perf_counter() - began


def _compile_once(experiment: Experiment, policy: str) -> None:
    """Compile for a kind of policy and problem, on each machine in one process at a time.

    The others find the code in the cache then. Compiling at the same time into one cache would take as
    long for each of them, and has crashed (numba issues 4807 and 10128).
    """
    spec, problem = experiment.specs[policy], experiment.problem
    words = sorted(
        f"{name} {each if isinstance(each, str) else type(each)}" for name, each in spec.items()
    )
    structure = getattr(getattr(problem, "structure", None), "kind", "drawn")
    said = (name for name, each in experiment.plain.items() if each is not None)  # such as a delay
    kind = (*words, structure, str(experiment.plain.get("rewards")), *said)
    if kind in _compiled:
        return
    with _turn():
        compile_for(experiment, policy, progress=False)
    _compiled.add(kind)


@contextmanager
def _turn() -> Iterator[None]:
    """Wait for one's turn among the processes of this user on this machine.

    The file lies where others may write too: a link there is not followed, and where it cannot be
    opened, each compiles for itself.
    """
    lock = None
    with suppress(ImportError, OSError):  # Windows has no fcntl
        import fcntl

        place = Path(tempfile.gettempdir()) / f"structured-bandits-{os.getuid()}.lock"
        lock = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)  # this lets the next one in
