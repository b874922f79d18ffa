"""The decision service under load: durable requests a second, latency, restarts and memory.

Clients in a process of their own (service_load.py) ask and tell in turn over connections that are kept.
Every answer waits for the disk (SQLite, synchronous = FULL). How many requests a core answers is the
requests over the seconds of the processor that the server took, kernel and writing thread included, so
it depends little on what else the machine does; times do. The disk's own time for an fdatasync is
measured in between, and a FastAPI endpoint that only commits a row for each request stands beside.
Where the disk is as quick as the processor, the aim for latency in times of an fdatasync cannot be met;
so the same is measured with an fdatasync that sleeps, as one over a network would.

PYTHONPATH=tests python benchmarks/service.py [--quick]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from contestants import HERE, ContestantError, last_line, python_of
from rows import Row, number, write
from service_logs import memory
from support.faulty_disk import SLEEP, SYNC, FaultyDisk, can_make_disks

TOPIC = "service"
CLIENTS = (1, 64, 256)
MOST_CLIENTS = 256  # connections of those that do not wait for their answers
RESTARTS = 3
SLOW = 0.005  # seconds, for an fdatasync over a network
TICKS = os.sysconf("SC_CLK_TCK")  # a second, of processor times


class Size(NamedTuple):
    """How much is measured."""

    seconds: float  # of each load
    events: int
    pending: int


FULL = Size(10.0, 10**7, 10**6)
QUICK = Size(2.0, 10**5, 10**4)


class Case(NamedTuple):
    """An experiment, and the true means of its arms."""

    name: str
    words: str
    spec: str
    means: list[float]


SMALL = [[0.8, 0.3, 0.5], [0.2, 0.7, 0.5], [0.4, 0.4, 0.6]]
SAE = Case(
    "sae",
    "SAE, 3 models × 3 arms",
    f'horizon = 100_000_000\nstructure = {{kind = "finite", means = {SMALL}}}\n'
    'policy = {kind = "SAE"}\n',
    SMALL[0],
)
UCB = Case(
    "ucb",
    "UCB, 50 arms",
    'horizon = 100_000_000\nstructure = {kind = "unstructured", n_arms = 50}\n'
    'policy = {kind = "UCB"}\n',
    [random.Random(arm).random() for arm in range(50)],
)


class Server:
    """A server in a process of its own, which has said where it listens."""

    def __init__(
        self, command: Sequence[str | Path], errors: Path, environment: dict[str, str] | None = None
    ) -> None:
        self._process = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=errors.open("w"),
            text=True,
            env={**os.environ, **(environment or {})},
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("serving on "):
                self.url = line.split()[-1]
                return
        raise ContestantError(last_line(errors.read_text()))

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def cpu_seconds(self) -> float:
        """Return the seconds of the processor that all its threads have had."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> dict[str, int]:
        """Return its memory now and at most, in bytes."""
        return memory(self._process.pid)

    def stop(self, kill: bool = False) -> None:
        """Let it end in order, or as a loss of power would end it."""
        (self._process.kill if kill else self._process.terminate)()
        self._process.wait()


@contextmanager
def serving(
    command: Sequence[str | Path], folder: Path, environment: dict[str, str] | None = None
) -> Iterator[Server]:
    """Run a server; how it ends does not matter."""
    server = Server(command, folder / "errors.log", environment)
    try:
        yield server
    finally:
        server.stop(kill=True)


def serve(case: Case, folder: Path) -> list[str | Path]:
    """Return the command that serves an experiment."""
    spec = folder / f"{case.name}.toml"
    spec.write_text(case.spec)
    options = ["--store", folder / f"{case.name}.db", "--port", "0"]
    return [sys.executable, "-m", "structured_bandits", "serve", spec, *options]


class Measured(NamedTuple):
    """What a load has shown."""

    rate: float  # requests a second
    per_core: float  # requests a second of the server's processor time
    p50: float  # seconds
    p99: float
    client_cpu: float  # seconds of the clients' processor time for a request

    @property
    def words(self) -> str:
        """Its numbers, for a note."""
        return (
            f"{number(self.rate)} a second; p50 {number(1e3 * self.p50)} ms, "
            f"p99 {number(1e3 * self.p99)} ms"
        )


def loaded(server: Server, seconds: float, clients: int, **more: Any) -> Measured:
    """Let clients use a server for some seconds."""
    work = {"port": server.port, "clients": clients, "seconds": seconds, **more}
    before = server.cpu_seconds()
    command = [sys.executable, str(HERE / "service_load.py"), json.dumps(work)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    used = server.cpu_seconds() - before
    found = json.loads(done.stdout)
    if found["refused"]:
        raise RuntimeError(f"{found['refused']} requests were refused")
    counted = found["requests"]
    return Measured(
        counted / found["seconds"],
        found["answered"] / used,
        found["p50"],
        found["p99"],
        found["client_cpu"] / counted,
    )


def fdatasync_seconds(folder: Path, times: int = 200) -> float:
    """Return how long this disk takes, as a median, to keep 4 KiB that replace others."""
    path = folder / "block"
    path.write_bytes(bytes(4096 * times))
    taken = []
    with path.open("r+b", buffering=0) as file:
        os.fsync(file.fileno())
        for _ in range(times):
            file.write(os.urandom(4096))
            begin = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begin)
    path.unlink()
    return statistics.median(taken)


def under_load(case: Case, folder: Path, seconds: float) -> list[Row]:
    """Return what an experiment answers: closed loops, and half of what 64 clients reach."""
    rows, work = [], {"path": f"/v1/experiments/{case.name}", "means": case.means}
    with serving(serve(case, folder), folder) as server:
        for clients in CLIENTS:
            syncs = fdatasync_seconds(folder)
            found = loaded(server, seconds, clients, **work)
            note = f"{found.words}; fdatasync {number(1e3 * syncs)} ms"
            title = f"{case.words}: ask and tell, {clients} client{'s' * (clients > 1)}"
            aim = ">= 3,000" if clients == 64 else ""
            rows.append(Row(TOPIC, title, aim, found.per_core, "requests/s and core", note))
            if clients == 64:
                half = found.rate / 2.0
        before = fdatasync_seconds(folder)
        found = loaded(server, seconds, MOST_CLIENTS, rate=half, **work)
        syncs = statistics.mean([before, fdatasync_seconds(folder)])
    title = f"{case.words}: p99 at half the load of 64 clients"
    note = f"{found.words}; fdatasync {number(1e3 * syncs)} ms; requests at random times"
    rows.append(Row(TOPIC, title, "<= 3", found.p99 / syncs, "fdatasyncs", note))
    return rows


def on_slow_disk(case: Case, folder: Path, seconds: float) -> list[Row]:
    """Return the latency at half load where the disk is what takes time; nothing without a compiler."""
    if not can_make_disks():
        return []
    work = {"path": f"/v1/experiments/{case.name}", "means": case.means}
    disk = FaultyDisk(folder)
    disk.plan(SYNC, SLEEP, int(1e6 * SLOW))
    with serving(serve(case, folder), folder, disk.environment) as server:
        most = loaded(server, seconds, 64, **work)
        found = loaded(server, seconds, MOST_CLIENTS, rate=most.rate / 2.0, **work)
    syncs = SLOW + fdatasync_seconds(folder)
    title = f"{case.words}: the same where fdatasync sleeps for {1e3 * SLOW:g} ms"
    note = f"{found.words}; 64 clients reach {number(most.rate)} a second"
    return [Row(TOPIC, title, "<= 3", found.p99 / syncs, "fdatasyncs", note)]


def beside(folder: Path, seconds: float) -> list[Row]:
    """Return what servers do that do less."""
    rows = []
    script = HERE / "service_apps.py"
    with serving([sys.executable, script, "bare", ""], folder) as server:
        found = loaded(server, seconds, 64, path="/")
    note = f"{found.words}; the clients take {number(1e6 * found.client_cpu)} µs for a request"
    title = "the clients' ceiling: a server that does nothing, 64 clients"
    rows.append(Row(TOPIC, title, "", found.per_core, "requests/s and core", note))
    try:
        kind, python = "fastapi", python_of("FastAPI")
        words = "FastAPI"
    except ContestantError as error:
        kind, python = "starlette", Path(sys.executable)
        words = f"Starlette (FastAPI: {error})"
    for clients in CLIENTS:
        file = folder / f"{kind}-{clients}.db"
        with serving([python, script, kind, file], folder) as server:
            syncs = fdatasync_seconds(folder)
            found = loaded(server, seconds, clients, path="/tell")
        title = (
            f"{words}, a row and a commit for each request, {clients} client{'s' * (clients > 1)}"
        )
        note = f"{found.words}; fdatasync {number(1e3 * syncs)} ms"
        rows.append(Row(TOPIC, title, "", found.per_core, "requests/s and core", note))
    return rows


class Restarted(NamedTuple):
    """How long a start took until requests are answered, and the server's memory then, in MB."""

    seconds: float
    cpu: float  # seconds of the processor
    now: float
    peak: float


def restarted(case: Case, folder: Path) -> Restarted:
    """Start a server several times, always from the same files, as if the machine had been off.

    The first start would else leave a snapshot from which the others begin.
    """
    kept = folder / "kept"
    kept.mkdir(exist_ok=True)
    for end in ("", "-wal"):
        store = folder / f"{case.name}.db{end}"
        if store.exists():
            store.rename(kept / store.name)
    found = []
    for _ in range(RESTARTS):
        for path in folder.glob(f"{case.name}.db*"):
            path.unlink()
        for path in kept.iterdir():
            _copy_cold(path, folder / path.name)
        begin = time.perf_counter()
        with serving(serve(case, folder), folder) as server:
            with urllib.request.urlopen(f"{server.url}/ready") as answer:
                answer.read()
            taken = time.perf_counter() - begin
            cpu, used = server.cpu_seconds(), server.memory()
            found.append(Restarted(taken, cpu, used["VmRSS"] / 1e6, used["VmHWM"] / 1e6))
    return Restarted(*map(statistics.median, zip(*found, strict=True)))


def _copy_cold(path: Path, copy: Path) -> None:
    """Copy a file, and leave nothing of the copy in the memory of the machine."""
    shutil.copyfile(path, copy)
    with copy.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def restarts(case: Case, folder: Path, events: int, pending: int) -> list[Row]:
    """Return how long a restart takes with a long log, or many decisions out."""
    with tempfile.TemporaryDirectory() as empty:
        nothing = restarted(case, Path(empty))
    serve(case, folder)  # writes the specification
    work = {
        "spec": str(folder / f"{case.name}.toml"),
        "store": str(folder / f"{case.name}.db"),
        "means": case.means,
        "events": events,
        "pending": pending,
    }
    logs = [sys.executable, str(HERE / "service_logs.py"), json.dumps(work)]
    done = subprocess.run(logs, check=True, capture_output=True, text=True)
    built = json.loads(done.stdout)
    found = restarted(case, folder)
    what = f"{pending:,} decisions out" if pending else f"{events:,} events"
    title = f"{case.words}, {what}: from the start of the process to answers"
    note = (
        f"{number(found.cpu)} s of the processor; killed just before a snapshot, nothing in caches; "
        f"a new store takes {number(nothing.seconds)} s, {number(nothing.cpu)} s of the processor"
    )
    rows = [Row(TOPIC, title, "<= 3", found.seconds, "s", note)]
    title = f"{case.words}, {what}: memory of the server after that"
    note = f"at most {number(found.peak)} MB; a new store has {number(nothing.now)} MB"
    if pending:
        note += f"; a snapshot takes {number(built['snapshot_ms'])} ms"
    rows.append(Row(TOPIC, title, "<= 300", found.now, "MB", note))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, a minute")
    size = QUICK if parser.parse_args().quick else FULL
    rows = []
    for case in (SAE, UCB):
        with tempfile.TemporaryDirectory() as folder:
            rows += under_load(case, Path(folder), size.seconds)
        with tempfile.TemporaryDirectory() as folder:
            rows += on_slow_disk(case, Path(folder), size.seconds)
    with tempfile.TemporaryDirectory() as folder:
        rows += beside(Path(folder), size.seconds)
    for events, pending in ((size.events, 0), (0, size.pending)):
        with tempfile.TemporaryDirectory() as folder:
            rows += restarts(SAE, Path(folder), events, pending)
    write(TOPIC, rows)


if __name__ == "__main__":
    main()
