"""A sweep whose runs take as long as a test likes and are counted, and the command that plays it.

The slow policy is one of the user's own, in Python: it sleeps once a run, then writes a line into the
file that `COUNTED` names. So a test can see how many runs were played, by whomever. A test that ends
processes also says how many may be played at most: then no sweep ends before it, on the busiest machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Self

import psutil

import structured_bandits as sb
from structured_bandits.experiments.sweeps.grid import SweepGrid, read_grid
from structured_bandits.experiments.sweeps.sweep import count_runs, missing_of

SOURCES = str(Path(sb.__file__).parents[1])
PATIENCE = 300.0  # seconds in which something must happen; usually a few are enough
COUNTED = "SLOW_SWEEP_COUNTED"
MOST = "SLOW_SWEEP_MOST"

POLICY = """
import os
import time
from typing import NamedTuple

import numpy as np


def read(path):
    with open(path) as file:
        return file.read()


class Slow(NamedTuple):
    n_arms: int
    horizon: int
    start: int = 0
    pause: float = 0.0
    compiles = False

    def init(self):
        return (np.zeros(1, np.int64),)

    def plan(self, state, now, quota, rng):
        if now.t == self.horizon - 1 > 0:  # the last pull; who tries a policy plans the first one only
            time.sleep(self.pause)
            if "SLOW_SWEEP_COUNTED" in os.environ:
                counted, most = os.environ["SLOW_SWEEP_COUNTED"], os.environ["SLOW_SWEEP_MOST"]
                while len(read(counted).split()) >= int(read(most) or 0):  # empty: being written
                    time.sleep(0.02)
                with open(counted, "a") as file:
                    file.write("run\\n")
        quota[:] = 0
        quota[(self.start + int(rng.integers(self.n_arms))) % self.n_arms] = 1
        return 0

    def observe(self, state, seen):
        pass
"""
EXPERIMENT = """
title = "A slow sweep"
truth = "one"
horizon = 20
runs = {runs}
[structure]
kind = "finite"
means = [[0.8, 0.3, 0.1], [0.8, 0.9, 0.1], [0.1, 0.2, 0.9]]
models = ["one", "two", "three"]
[policies.Slow]
policy = "slow_policy:Slow"
pause = {pause}
[policies.UCB]
[sweep]
horizon = [20, 30]
"policies.Slow.start" = [0, 1]
"""
SLOW_POINTS = 4  # and two of UCB


class SlowSweep:
    """An experiment in a folder of its own; `out` is where the command plays it."""

    def __init__(self, folder: Path, runs: int, pause: float) -> None:
        self.folder, self.runs = folder, runs
        self.file, self.out = folder / "slow.toml", folder / "out"
        self.counted = folder / "counted.txt"
        self.counted.touch()
        self._most = folder / "most.txt"
        self.release()
        self.file.write_text(EXPERIMENT.format(runs=runs, pause=pause))
        (folder / "slow_policy.py").write_text(POLICY)
        self.said = folder / "said.txt"

    @property
    def environment(self) -> dict[str, str]:
        """What processes that play it need to know."""
        path = os.pathsep.join((SOURCES, str(self.folder)))
        files = {COUNTED: str(self.counted), MOST: str(self._most)}
        return {**os.environ, "PYTHONPATH": path, **files}

    def hold(self, runs: int) -> None:
        """Let runs of the slow policy wait once so many are counted, give or take one of each worker."""
        self._most.write_text(str(runs))

    def release(self) -> None:
        """Let all runs go on."""
        self.hold(1_000_000)

    def undisturbed(self) -> str:
        """Play it by threads of this process; return the digest."""
        with ThreadPoolExecutor(4) as threads:
            return sb.sweep(self.file, self.out, executor=threads, allow_code=True).digest

    @cached_property
    def grid(self) -> SweepGrid:
        """Its points."""
        return read_grid(self.file, allow_code=True)

    def missing(self) -> int:
        """Return how many runs have no file yet."""
        if not self.out.is_dir():
            return 6 * self.runs
        return count_runs(missing_of(self.grid, self.out))

    def missing_slow(self) -> int:
        """Return how many runs of the slow policy have no file yet."""
        missing = missing_of(self.grid, self.out)
        return count_runs({point: missing.get(point, []) for point in range(SLOW_POINTS)})

    def count(self) -> int:
        """Return how many runs of the slow policy were played."""
        return len(self.counted.read_text().splitlines())

    def files(self) -> dict[str, tuple[int, int]]:
        """Return the complete files, with what changes when one is written again."""
        found = {}
        for path in (self.out / "data").glob("point=*/*.parquet"):
            try:
                about = path.stat()
            except FileNotFoundError:  # gathered meanwhile
                continue
            found[f"{path.parent.name}/{path.name}"] = (about.st_ino, about.st_mtime_ns)
        return found

    def process(self, *options: str, terminal: int | None = None) -> SweepProcess:
        """Return the command, started; its standard error may be a terminal."""
        return SweepProcess(self, options, terminal)


class SweepProcess:
    """The command `structured-bandits sweep` as a process of its own, with all that it has started."""

    def __init__(self, slow: SlowSweep, options: Sequence[str], terminal: int | None) -> None:
        self.slow = slow
        self._known: list[psutil.Process] = []
        command = [sys.executable, "-m", "structured_bandits", "sweep", str(slow.file)]
        command += ["--out", str(slow.out), "--allow-code", *options]
        with slow.said.open("a") as said:
            self._process = subprocess.Popen(
                command,
                cwd=slow.folder,
                env=slow.environment,
                stdout=said,
                stderr=said if terminal is None else terminal,
                start_new_session=True,
                preexec_fn=_hear_interruptions,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def workers(self) -> list[psutil.Process]:
        """Return the processes that it has started and that play."""
        found = psutil.Process(self.pid).children(recursive=True)
        self._known += [each for each in found if each not in self._known]
        return [each for each in found if "resource_tracker" not in " ".join(each.cmdline())]

    def until(self, done: Callable[[], bool]) -> None:
        """Wait until something is so; the command must not end before."""
        until(done, lambda: self._process.poll() is None, self.slow.said)

    def kill(self) -> None:
        """End it as a loss of power would, and wait until all that it has started have ended too."""
        self.workers()
        self._process.kill()
        self._process.wait(PATIENCE)
        self.check_alone()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let its main process stand still meanwhile."""
        os.kill(self.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def interrupt(self) -> int:
        """Send what Ctrl-C sends, to its whole group as a terminal does; return the exit code.

        It ends once the runs at hand are written, for which those that are held have to go on. They do so
        a few at a time, so that the sweep is not over before it has heard of the interruption.
        """
        self.workers()
        os.killpg(self.pid, signal.SIGINT)
        end = time.monotonic() + PATIENCE
        while self._process.poll() is None and time.monotonic() < end:
            self.slow.hold(self.slow.count() + 2)
            time.sleep(0.2)
        self.slow.release()
        return self.wait()

    def wait(self) -> int:
        """Wait for its end; return the exit code."""
        code = self._process.wait(PATIENCE)
        self.check_alone()
        return code

    def check_alone(self) -> None:
        """Raise unless all processes that it has started have ended."""
        _, alive = psutil.wait_procs(self._known, timeout=PATIENCE)
        assert alive == []


def _hear_interruptions() -> None:
    """Undo that shells let what they start in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def until(done: Callable[[], bool], may_wait: Callable[[], bool], said: Path) -> None:
    """Wait until something is so."""
    end = time.monotonic() + PATIENCE
    while not done():
        assert may_wait(), said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.05)
