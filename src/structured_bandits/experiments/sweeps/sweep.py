"""`sb.sweep`: an experiment at every point of a grid, from its file to its page.

What is missing in the folder goes to the workers, until every run has its file.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structured_bandits.base.checks import checked_count
from structured_bandits.base.extras import needs
from structured_bandits.base.progress import progress_bar, with_bar
from structured_bandits.base.writing import check_files, make_folder, sweep_unfinished, write_whole
from structured_bandits.display.page import check_page
from structured_bandits.display.sweep_page import write_sweep_page
from structured_bandits.errors import OutputError, ParameterError
from structured_bandits.experiments.settings import NOTHING_NAMED
from structured_bandits.experiments.sweeps.executors import Crew, cluster, is_loss, processes
from structured_bandits.experiments.sweeps.folder import (
    MANIFEST,
    check_same,
    gather,
    manifest_of,
    missing_runs,
    read_manifest,
)
from structured_bandits.experiments.sweeps.grid import SweepGrid, read_grid
from structured_bandits.experiments.sweeps.loaded import Sweep, load_sweep
from structured_bandits.experiments.sweeps.scheduler import Schedule
from structured_bandits.experiments.sweeps.tasks import PointRuns, Task, TimedRuns, play_task
from structured_bandits.experiments.worlds import NamedStructures
from structured_bandits.simulation.simulate import versions_of
from structured_bandits.simulation.workers import check_executor, slots_of, submit_to

LOSSES = 5  # of all workers in a row, with nothing played, until the sweep gives up
PAUSE = 2.0  # seconds before another try
RECOUNT = 5.0  # seconds after which workers are counted again

Say = Callable[[str], None]


@dataclass(frozen=True)
class Workers:
    """The workers of a sweep: processes of this machine unless there is an executor or a cluster."""

    workers: int | None = None
    cluster: str | None = None
    executor: Any = None

    def __post_init__(self) -> None:
        """Check what can be checked before anything is written."""
        if self.workers is not None:
            checked_count("workers", self.workers)
        if self.executor is not None:
            check_executor(self.executor)
            if self.cluster is not None:
                raise ParameterError("cluster and executor: expected one of the two")

    def crew(self) -> AbstractContextManager[Crew]:
        """Return them, ready to work."""
        if self.executor is not None:
            slots = self.workers or slots_of(self.executor)
            return nullcontext(Crew(self.executor, lambda: slots))
        if self.cluster is not None:
            return cluster(self.cluster, self.workers)
        return processes(self.workers)


def play_grid(
    grid: SweepGrid, out: Path, players: Workers, say: Say, progress: bool | None = None
) -> None:
    """Play all runs of a grid that have no file in `out`, then make one file for each point."""
    prepare(grid, out)
    missing = missing_of(grid, out)
    left = count_runs(missing)
    total = grid.runs * len(grid.points)
    if left < total:
        say(f"{total - left:,} of {total:,} runs are there already, in {out}/data")
    if left:
        with progress_bar(
            "sb.sweep", progress, total=total, initial=total - left, unit="run"
        ) as bar:
            _play_until_done(grid, out, players, say, bar)
    for point in with_bar(grid.points, "gathering", unit="point"):
        gather(out, point.number, point.key, grid.runs)
    sweep_unfinished((out / "data").rglob("*.part"))  # of workers that were killed meanwhile


def prepare(grid: SweepGrid, out: Path) -> None:
    """Write what the sweep is; raises if the folder belongs to another one, or has no room."""
    path = out / MANIFEST
    make_folder(out)
    sweep_unfinished(out.iterdir())
    known = read_manifest(out)
    ours = manifest_of(grid)
    if known is not None:
        check_same(known, ours, out)
    elif any(out.iterdir()):
        raise OutputError(f"{out} is not empty, and no sweep is there; use another folder")
    sweep_unfinished((out / "data").rglob("*.part"))
    arms = [each.experiment.fixed.structure.n_arms for each in grid.points if each.experiment.fixed]
    columns = max(len(each.experiment.specs) for each in grid.points) + 4
    numbers = grid.points[0].experiment.checkpoints + 2 * max(arms, default=50) + columns
    size = 8 * grid.runs * len(grid.points) * numbers
    check_files([path], size if known is None else 0)
    write_whole(path, json.dumps(ours, indent=1))


def missing_of(grid: SweepGrid, out: Path) -> dict[int, list[range]]:
    """Return the runs of each point that have no file yet."""
    found = {each.number: list(missing_runs(out, each.number, grid.runs)) for each in grid.points}
    return {point: runs for point, runs in found.items() if runs}


def _play_until_done(grid: SweepGrid, out: Path, players: Workers, say: Say, bar: Any) -> None:
    """Play what is missing; if workers are lost, with new ones."""
    losses = 0  # in a row
    while missing := missing_of(grid, out):
        try:
            with players.crew() as crew:
                _Shift(grid, out, crew, say, bar).play(missing)
        except Exception as error:
            if not is_loss(error) or players.executor is not None:  # who made it can make another
                raise
            say(f"workers were lost ({type(error).__name__}); going on with what is missing")
            time.sleep(PAUSE)
        before, left = count_runs(missing), count_runs(missing_of(grid, out))
        losses = 0 if left < before else losses + 1
        if losses > LOSSES:
            raise OutputError(
                f"{out}: {losses} times in a row all workers ended before they had played anything; "
                "what they wrote on standard error may say why"
            )
        bar.n = grid.runs * len(grid.points) - left
        bar.refresh()


def count_runs(missing: Mapping[int, Sequence[range]]) -> int:
    """Return how many runs are missing."""
    return sum(len(runs) for several in missing.values() for runs in several)


class _Shift:
    """One crew at work."""

    def __init__(self, grid: SweepGrid, out: Path, crew: Crew, say: Say, bar: Any) -> None:
        self._points = {each.number: each for each in grid.points}
        self._out = out.resolve()
        self._crew, self._say, self._bar = crew, say, bar
        self._counted = -RECOUNT  # when the workers were counted
        self._waiting: dict[Future[list[TimedRuns]], Sequence[PointRuns]] = {}

    def play(self, missing: Mapping[int, Sequence[range]]) -> None:
        """Play what is missing, a few tasks for each worker at a time."""
        schedule = Schedule(list(self._points.values()), missing, slots=1)
        try:
            while schedule.runs_left or self._waiting:
                self._hand_out(schedule)
                done, _ = wait(self._waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    pieces = self._waiting.pop(future)
                    schedule.learn(future.result())
                    self._bar.update(sum(len(piece.runs) for piece in pieces))
                self._tell(schedule, bool(done))
        except BaseException:
            for future in self._waiting:
                future.cancel()
            raise

    def _count(self, schedule: Schedule) -> None:
        """See now and then how many workers there are: on a cluster they come one after another."""
        if time.monotonic() - self._counted < RECOUNT:
            return
        slots = self._crew.slots()
        if not slots and self._counted < 0.0:
            self._say("the cluster has no workers yet; waiting for them")
        schedule.slots = max(1, slots)
        self._counted = time.monotonic()

    def _hand_out(self, schedule: Schedule) -> None:
        self._count(schedule)
        while schedule.runs_left and len(self._waiting) < out_at_once(schedule.slots):
            pieces = schedule.take()
            work = tuple((self._points[piece.point], piece.runs) for piece in pieces)
            future = submit_to(self._crew.executor, play_task, Task(self._out, work))
            self._waiting[future] = pieces

    def _tell(self, schedule: Schedule, moved: bool) -> None:
        seconds = schedule.seconds_left()
        words = "compiling" if seconds is None else f"about {_duration(seconds)} left"
        self._bar.set_description(words, refresh=not moved)


def out_at_once(slots: int) -> int:
    """Return how many tasks are handed out at the same time: a few more than are being done.

    Schedulers of clusters give a task to a worker at once and seldom take it back, so at the end one
    worker may have a queue while others have nothing to do. A task takes seconds, the way to a worker
    and back some milliseconds: little is lost by those that wait for the next one.
    """
    return slots + -(-slots // 4)


def _duration(seconds: float) -> str:
    """Return a length of time in a few words.

    >>> _duration(3.2), _duration(150), _duration(9000)
    ('3 s', '2.5 min', '2.5 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"


PAGE = "report.html"


def sweep(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    executor: Any = None,
    progress: bool | None = None,
    allow_code: bool = False,
    say: Callable[[str], None] = lambda text: None,
    named: NamedStructures = NOTHING_NAMED,
) -> Sweep:
    """Play an experiment at every point of its `[sweep]`; return what came out.

    `experiment` is a TOML file, or a dictionary of the same form. Everything is written into the folder
    `out`: the runs (`data/`, Parquet files that pandas and DuckDB read as one table), a table of the
    points, a summary and a page. Files are the state: what is there is not played again, so a sweep that
    was stopped goes on, and with more `runs` only those that are missing are played.

    - `runs`: of each point; by default as the experiment says. `seed`: unless the sweep varies it.
    - `workers`: processes on this machine, by default one for each core.
    - `cluster`: "local" for a cluster of dask on this machine, or the address of its scheduler, such as
      "tcp://10.0.0.1:8786"; all machines must see the folder `out` under the same path.
    - `executor`: anything else with `submit` as in `concurrent.futures`.
    - `progress`: a bar with the time that is left; None shows one if standard error is a terminal.
    - `allow_code`: the experiment may name policies of your own, in Python.
    - `say`: called with what is worth telling, such as workers that were lost.
    - `named`: structures of your own that the experiment may call by a name.

    The results are the same to the last bit whoever plays them (`Sweep.digest`).
    """
    source = experiment if isinstance(experiment, Mapping) else Path(experiment)
    folder = Path(out)
    check_page(folder / PAGE)
    players = Workers(workers, cluster, executor)
    grid = read_grid(source, runs, seed, named, allow_code)
    say(f"{len(grid.points):,} points, {grid.runs:,} runs of each")
    began = time.perf_counter()
    play_grid(grid, folder, players, say, progress)
    played = load_sweep(folder)
    publish(played, time.perf_counter() - began, seed)
    return played


def publish(played: Sweep, seconds: float, seed: int) -> None:
    """Write the tables and the page of a sweep."""
    with needs("sb.sweep", extra="simulate"):
        import pyarrow
        import pyarrow.parquet

    summary = played.summary()
    points = played.points.reset_index()
    for axis in (*played.settings, *played.parameters):
        if points[axis].dtype == object:  # numbers and texts do not go into one column
            points[axis] = points[axis].map(str, na_action="ignore")
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(points, preserve_index=False), buffer)
    write_whole(played.out / "points.parquet", buffer.getvalue().to_pybytes())
    write_whole(played.out / "summary.csv", summary.to_csv())
    best = played.best()
    write_whole(played.out / "best.csv", best.to_csv(index=False))
    facts = {
        "seed": str(seed),
        "time": f"{seconds:.0f} s in this call, without what was there before",
        "SHA-256 of all runs": played.digest,
        "machine": f"{platform.system()} {platform.machine()}",
        **versions_of("compiled"),
    }
    axes = (played.parameters, played.settings)
    write_sweep_page(played.out / PAGE, played.title, summary, best, axes, played.runs, facts)
