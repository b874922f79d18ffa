"""Sweeps: two workers against one, processes and dask, and what a task and a file cost (`make bench`).

A worker count is timed with its workers already there and everything compiled, and with no others: the
processes of dask have something to do also when they wait. The start of processes is a row of its own.
Files are joined at the end by one process, whatever the number of workers, and that counts; so the runs
are long enough for files to be a small part. The last rows say how long a task must take for 95 % of the
workers' time to go into runs, from what a task costs whoever hands it out, one after the other.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import wait
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rows import Row, seconds, write

import structured_bandits as sb
from structured_bandits.experiments.sweeps.executors import LOCAL, Crew, cluster, processes
from structured_bandits.experiments.sweeps.folder import load_runs, part_path, save_part
from structured_bandits.experiments.sweeps.grid import SweepGrid, read_grid
from structured_bandits.experiments.sweeps.scheduler import SECONDS
from structured_bandits.experiments.sweeps.sweep import Workers, out_at_once, play_grid
from structured_bandits.simulation.workers import core_count, submit_to

TOPIC = "sweep"
MEANS = [[0.8, 0.3, 0.1], [0.8, 0.9, 0.1], [0.1, 0.2, 0.9]]
CONTENT: dict[str, Any] = {
    "structure": {"kind": "finite", "means": MEANS, "models": ["one", "two", "three"]},
    "truth": "one",
    "horizon": 1_000_000,
    "policies": {"UCB": {}, "SAE": {}},
    "sweep": {"policies.*.alpha": [0.5, 1.0, 2.0], "truth": ["one", "two"]},
}
RUNS = 4_000
WARM = 100  # runs with which workers load what they need
ROUNDS = 3  # in which one worker and two take turns
REPETITIONS = 2  # in each
TASKS = 500
FILES = 200
SHARE = 0.95  # of the workers' time that should go into runs
MANY = 1_000  # workers

Start = Callable[[int], AbstractContextManager[Crew]]
STARTS: dict[str, Start] = {"processes": processes, "dask": lambda count: cluster(LOCAL, count)}


class Ready(Workers):
    """Workers that are there already."""

    ready: Crew

    def crew(self) -> AbstractContextManager[Crew]:
        """Return them."""
        return nullcontext(self.ready)


def play(grid: SweepGrid, crew: Crew) -> None:
    """Play a sweep into a fresh folder, without its page."""
    players = Ready()
    object.__setattr__(players, "ready", crew)
    with tempfile.TemporaryDirectory() as folder:
        play_grid(grid, Path(folder) / "out", players, lambda text: None, progress=False)


def efficiency(kind: str, runs: int, rounds: int) -> Row:
    """Two workers against one, as a share of twice its speed."""
    grid = read_grid(CONTENT, runs)
    taken: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for count, times in taken.items():
            with STARTS[kind](count) as crew:
                play(read_grid(CONTENT, WARM), crew)
                times += [seconds(lambda crew=crew: play(grid, crew)) for _ in range(REPETITIONS)]
    one, two = map(statistics.median, taken.values())
    note = f"{one:.2f} s and {two:.2f} s, {core_count()} cores"
    work = (
        f"efficiency of two workers against one, {kind}, {len(grid.points)} points of {runs} runs"
    )
    return Row(TOPIC, work, ">= 0.9", one / two / 2.0, "of 1", note)


def nothing() -> None:
    """The empty task."""


def handed_over(crew: Crew, tasks: int) -> float:
    """Return the seconds that an empty task takes when many are under way, as in a sweep."""
    waiting: set[Any] = set()
    begin = time.perf_counter()
    for _ in range(tasks):
        waiting.add(submit_to(crew.executor, nothing))
        if len(waiting) >= out_at_once(crew.slots()):
            _, waiting = wait(waiting, return_when="FIRST_COMPLETED")
    wait(waiting)
    return (time.perf_counter() - begin) / tasks


def costs(kind: str, tasks: int) -> list[Row]:
    """The start of two workers, an empty task there and back, and one of many."""
    begin = time.perf_counter()
    with STARTS[kind](2) as crew:
        submit_to(crew.executor, nothing).result()
        start = time.perf_counter() - begin
        handed_over(crew, tasks)
        trips = [seconds(lambda: submit_to(crew.executor, nothing).result()) for _ in range(tasks)]
        each = handed_over(crew, tasks)
    trip = statistics.median(trips)
    return [
        Row(TOPIC, f"start of two workers, {kind}", "", start, "s"),
        Row(TOPIC, f"an empty task there and back, {kind}", "", 1e3 * trip, "ms"),
        Row(TOPIC, f"an empty task among many, {kind}", "", 1e3 * each, "ms", "without waiting"),
        _needed(kind, each),
    ]


def _needed(kind: str, each: float) -> Row:
    """How long a task must take: whoever hands them out does one in `each` seconds.

    Workers that are busy for a share of the time ask for `SHARE * MANY / task` tasks a second, of which
    no more than `SHARE / each` should come, for those who wait in line not to be idle: a task must take
    `MANY * each`. A worker's own pause between two tasks asks for far less.
    """
    least = MANY * each
    note = f"from the row above; a task takes {SECONDS:.0f} s: enough for {SECONDS / each:,.0f} workers"
    return Row(TOPIC, f"a task must take for {MANY:,} workers, {kind}", "", least, "s", note)


def files(count: int) -> list[Row]:
    """What writing and reading the file of a part takes."""
    grid = read_grid(CONTENT, 100)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        table = sb.FiniteStructure(MEANS)
        point = grid.points[0]
        world = sb.Bernoulli(table.means(0))
        result = sb.simulate({"UCB": sb.UCB(table)}, world, 1_000, runs=100, checkpoints=20)
        result.info["key"] = point.key
        path = part_path(out, 0, range(100))
        save_part(result, path)
        taken = [seconds(lambda: save_part(result, path)) for _ in range(count)]
        read = [seconds(lambda: load_runs(out, 0, point.key, 100)) for _ in range(count)]
        size = path.stat().st_size
    note = f"100 runs, {size / 1e3:.0f} kB"
    return [
        Row(TOPIC, "writing a part's file", "", 1e3 * statistics.median(taken), "ms", note),
        Row(TOPIC, "reading it again", "", 1e3 * statistics.median(read), "ms", note),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs: to see whether it works")
    part = 20 if parser.parse_args().quick else 1
    rows = [
        *(efficiency(kind, RUNS // part, 1 if part > 1 else ROUNDS) for kind in STARTS),
        *(row for kind in STARTS for row in costs(kind, TASKS // part)),
        *files(FILES // part),
    ]
    write(TOPIC, rows)


if __name__ == "__main__":
    main()
