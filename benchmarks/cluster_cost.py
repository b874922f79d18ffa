"""What a task of a sweep costs besides its runs, and what follows for a thousand workers.

A sweep hands tasks to workers, who play runs and write them into files. This script measures what comes
on top: processor time of the process that hands out the tasks (the client) and of dask's scheduler, by
the number of workers; the time to write a file; and the time to gather and publish a point at the end.
From these it computes how long a task must take so that workers spend 95 % of their time on runs.

The workers of this measurement share one process and do tasks whose runs are there already, so that
there can be hundreds of them on a small machine: they answer at once, as tasks of no length would.

python benchmarks/cluster_cost.py
"""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import NamedTuple

import psutil
from distributed import Client, Worker

import structured_bandits as sb
from structured_bandits.experiments.sweeps.folder import (
    gather,
    load_runs,
    part_path,
    rows_of,
    save_part,
)
from structured_bandits.experiments.sweeps.grid import SweepGrid, read_grid
from structured_bandits.experiments.sweeps.sweep import out_at_once, publish
from structured_bandits.experiments.sweeps.tasks import Task, play_task

WORKERS = (2, 20, 100)
TASKS = 2_000
FILES = 200
RUNS = 100  # in a file of this measurement
MANY = 1_000  # the workers on paper
KEPT = 0.95  # of their time, for runs
LENGTHS = (0.5, 1.0, 2.0, 5.0, 10.0)  # seconds of a task
POINTS = 300  # of a sweep on paper

SWEEP = {
    "title": "Cost",
    "structure": {"kind": "finite", "means": [[0.9, 0.5, 0.1], [0.2, 0.8, 0.3], [0.1, 0.2, 0.7]]},
    "truth": "0",
    "horizon": 1_000,
    "runs": RUNS,
    "policies": {"SAE": {}},
    "sweep": {"policies.*.alpha": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]},
}


class Cost(NamedTuple):
    """Seconds for each task, by who spends them; `wall` is by the clock."""

    client: float
    scheduler: float
    wall: float


async def serve(address: str, count: int) -> None:
    """Be `count` workers until somebody ends this process."""
    options = {"nthreads": 1, "dashboard": False, "memory_limit": 0, "heartbeat_interval": "5s"}
    await asyncio.gather(*(Worker(address, **options) for _ in range(count)))
    print("ready", flush=True)
    await asyncio.Event().wait()


def cost_of_tasks(task: Task, port: int, workers: int) -> Cost:
    """Send a task whose runs are there again and again, as a sweep does."""
    address = f"tcp://127.0.0.1:{port}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    scheduler = subprocess.Popen([*dask, "--host", address], stderr=subprocess.DEVNULL)
    ours = [sys.executable, __file__, address, str(workers)]
    played = subprocess.Popen(ours, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert played.stdout is not None
        assert played.stdout.readline() == "ready\n"
        with Client(address, timeout=60) as client:
            executor = client.get_executor(pure=False, retries=5)
            _send(executor, task, 200, workers)  # once, so that everything is imported
            before = _used(scheduler.pid), time.process_time(), time.perf_counter()
            _send(executor, task, TASKS, workers)
            after = _used(scheduler.pid), time.process_time(), time.perf_counter()
    finally:
        for process in (played, scheduler):
            process.kill()
            process.wait()
    spent = [(late - early) / TASKS for early, late in zip(before, after, strict=True)]
    return Cost(client=spent[1], scheduler=spent[0], wall=spent[2])


def _used(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def _send(executor: object, task: Task, count: int, slots: int) -> None:
    """Keep as many tasks waiting as a sweep does."""
    waiting: set[Future[object]] = set()
    while count or waiting:
        while count and len(waiting) < out_at_once(slots):
            waiting.add(executor.submit(play_task, task))  # type: ignore[attr-defined]
            count -= 1
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            future.result()


def cost_of_files(grid: SweepGrid, folder: Path) -> float:
    """Return the seconds to write the file of a task."""
    point = grid.points[0]
    result = load_runs(folder, point.number, point.key, grid.runs)
    began = time.perf_counter()
    for number in range(FILES):
        save_part(result, folder / "more" / f"{number}.parquet")
    return (time.perf_counter() - began) / FILES


def cost_of_points(grid: SweepGrid, folder: Path) -> float:
    """Return the seconds for each point to make one file of ten, and then the tables and the page."""
    size = grid.runs // 10
    for point in grid.points:
        whole = load_runs(folder, point.number, point.key, grid.runs)
        part_path(folder, point.number, range(grid.runs)).unlink()
        for first in range(0, grid.runs, size):
            path = part_path(folder, point.number, range(first, first + size))
            save_part(rows_of(whole, slice(first, first + size)), path)
    began = time.perf_counter()
    for point in grid.points:
        gather(folder, point.number, point.key, grid.runs)
    publish(sb.load_sweep(folder), 0.0, 0)
    return (time.perf_counter() - began) / len(grid.points)


def cost_of_looking(waiting: int) -> float:
    """Return the seconds of one look at so many tasks that are out."""
    futures: list[Future[object]] = [Future() for _ in range(waiting)]
    futures[0].set_result(None)
    began = time.perf_counter()
    for _ in range(20):
        wait(futures, return_when=FIRST_COMPLETED)
    return (time.perf_counter() - began) / 20


def kept(task: float, file: float, seconds: float) -> float:
    """Return the share of their time that many workers spend on runs, if a task has so many seconds.

    A worker spends `seconds` on runs and `file` on writing. All tasks pass one process, which spends
    `task` on each; if more come than it can pass on, workers wait.
    """
    return min(1.0, seconds / (MANY * task)) * seconds / (seconds + file)


def on_paper(task: float, file: float, point: float) -> None:
    """Print how long tasks must be for many workers, and how long a sweep."""
    print(f"on paper, {MANY:,} workers:")
    for seconds in LENGTHS:
        busy = min(1.0, MANY * task / seconds)
        share = kept(task, file, seconds)
        print(
            f"  tasks of {seconds:>4} s: {share:.1%} of their time for runs, scheduler {busy:.0%} busy"
        )
    needed = next(n / 100 for n in range(1, 10_000) if kept(task, file, n / 100) >= KEPT)
    print(f"  {KEPT:.0%} need tasks of {needed:.2f} s, {MANY / needed:,.0f} files a second")
    end = POINTS * point
    least = end * KEPT / (1.0 - KEPT)
    print(
        f"  {POINTS} points end with {end:.0f} s in one process: {KEPT:.0%} if they play {least:.0f} s"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "sweep"
        sb.sweep(SWEEP, folder, workers=1, progress=False)
        grid = read_grid(SWEEP)
        task = Task(folder, ((grid.points[0], range(grid.runs)),))
        print(f"a task is a message of {len(pickle.dumps(task)):,} bytes")
        dearest = 0.0
        for number, workers in enumerate(WORKERS):
            cost = cost_of_tasks(task, 18_786 + number, workers)
            dearest = max(dearest, cost.client, cost.scheduler)
            print(
                f"{workers:>4} workers, each task: client {1e3 * cost.client:.2f} ms, scheduler "
                f"{1e3 * cost.scheduler:.2f} ms of processor time; {1e3 * cost.wall:.2f} ms passed"
            )
        file = cost_of_files(grid, folder)
        print(f"a file of {RUNS} runs: {1e3 * file:.2f} ms")
        look = cost_of_looking(out_at_once(MANY))
        print(f"a look at {out_at_once(MANY):,} tasks that are out: {1e3 * look:.1f} ms")
        point = cost_of_points(grid, folder)
        print(f"the end, each point: {1e3 * point:.0f} ms")
        on_paper(dearest, file, point)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
    else:
        main()
