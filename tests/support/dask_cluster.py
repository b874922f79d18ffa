"""A cluster of dask made of real processes, a scheduler and workers, which tests may kill."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from support.slow_sweep import PATIENCE


class DaskCluster:
    """A scheduler at an address of its own and its workers, with one thread each."""

    def __init__(self, folder: Path, environment: Mapping[str, str], workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.said = folder / "dask.txt"
        self._folder, self._environment = folder, dict(environment)
        self.scheduler = self._start("dask_scheduler", "--host", "127.0.0.1", "--port", self._port)
        self.workers: list[subprocess.Popen[bytes]] = []
        self.add_workers(workers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in (*self.workers, self.scheduler):
            _kill(process)

    def _start(self, module: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *options, "--no-dashboard"]
        with self.said.open("a") as said:
            return subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=said, stderr=said
            )

    def add_workers(self, count: int) -> None:
        """Start some more workers."""
        options = (self.address, "--nthreads", "1", "--no-nanny")
        self.workers += [self._start("dask_worker", *options) for _ in range(count)]

    def kill_worker(self) -> None:
        """End the worker that came first."""
        _kill(self.workers.pop(0))

    def kill_scheduler(self) -> None:
        """End the scheduler, and start another one at the same address; its workers end with it."""
        _kill(self.scheduler)
        for worker in self.workers:
            worker.wait(PATIENCE)
        options = ("--host", "127.0.0.1", "--port", self._port)
        self.scheduler = self._start("dask_scheduler", *options)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PATIENCE)
