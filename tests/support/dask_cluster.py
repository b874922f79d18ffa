"""A cluster of dask made of real processes, a scheduler and workers, which tests may kill."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

from support.slow_sweep import PATIENCE, until


class DaskCluster:
    """A scheduler at an address of its own and its workers, with one thread each."""

    def __init__(self, folder: Path, environment: Mapping[str, str], workers: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.address = f"tcp://127.0.0.1:{self._port}"
        self.said = folder / "dask.txt"
        self._folder, self._environment = folder, dict(environment)
        self.scheduler = self._start_scheduler()
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

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        """Start a scheduler and wait until it listens: dask's own patience is short on a busy machine."""
        options = ("--host", "127.0.0.1", "--port", self._port)
        process = self._start("dask_scheduler", *options)
        until(self._listens, lambda: process.poll() is None, self.said)
        return process

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", int(self._port)), PATIENCE):
            return True
        return False

    def add_workers(self, count: int) -> None:
        """Start some more workers."""
        options = (self.address, "--nthreads", "1", "--no-nanny")
        self.workers += [self._start("dask_worker", *options) for _ in range(count)]

    def kill_worker(self) -> None:
        """End the worker that came first."""
        _kill(self.workers.pop(0))

    def kill_scheduler(self) -> None:
        """End the scheduler."""
        _kill(self.scheduler)

    def replace_scheduler(self) -> None:
        """Wait until the workers have ended with their scheduler, and start one at the same address."""
        for worker in self.workers:
            worker.wait(PATIENCE)
        self.scheduler = self._start_scheduler()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(PATIENCE)
