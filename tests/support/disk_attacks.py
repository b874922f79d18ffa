"""Attacks on the disk below the service: it fails, dawdles, is full, or forgets what was not synced."""

from __future__ import annotations

import errno
import resource
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from support.crash_attacks import wait_until_it_writes
from support.faulty_disk import FAIL, HOLD, SLEEP, SYNC, WRITE, FaultyDisk
from support.service_process import PATIENCE, ServiceProcess
from support.siege import Findings, Siege

SOME = 0.3  # seconds of load before or after a fault
ENOUGH = 200  # acknowledged requests after which the end writes more than a dozen times
QUEUE = "structured_bandits_queue_events "


def fail_once(folder: Path, seed: int, calls: int, after: int) -> Findings:
    """Let one write or sync fail: those who wait are told, the service goes on; then cut the power."""
    disk = FaultyDisk(folder, diary=True)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed)
        disk.plan(calls, FAIL, errno.EIO, after, times=1)
        siege.load(lambda: (_wait_for(lambda: disk.met > 0), time.sleep(SOME)))
        siege.met += disk.met
        wait_until_it_writes(siege)
        siege.check()
        _cut_power(siege, disk)
        return siege.findings()


def end_at(folder: Path, seed: int, action: int, after: int) -> Findings:
    """End the process at a write, before it (KILL) or in the middle (TEAR); then cut the power."""
    disk = FaultyDisk(folder, diary=True)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed)
        disk.plan(WRITE, action, after=after, times=1)
        siege.load(lambda: _wait_for(lambda: disk.met > 0))
        siege.met += disk.met
        disk.heal()
        _cut_power(siege, disk)
        return siege.findings()


def fail_at_the_end(folder: Path, seed: int, action: int, after: int) -> Findings:
    """Let a write go wrong while the service is stopped: it saves its state and tidies up its file."""
    disk = FaultyDisk(folder, diary=True)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed)
        siege.load(lambda: siege.until_acknowledged(ENOUGH))
        disk.plan(WRITE, action, errno.EIO, after, times=1)
        siege.load(service.stop)
        siege.met += disk.met
        disk.heal()
        siege.forgotten += disk.cut_power(Path(service.store), siege.random)
        service.start()
        siege.check()
        return siege.findings()


def _cut_power(siege: Siege, disk: FaultyDisk) -> None:
    """End the process under load, and let the disk forget what it had not promised to keep."""
    siege.load(lambda: (time.sleep(siege.random.uniform(0.0, SOME)), siege.service.kill()))
    siege.forgotten += disk.cut_power(Path(siege.service.store), siege.random)
    siege.service.start()
    siege.check()


def slow_commits(folder: Path, seed: int, seconds: float) -> Findings:
    """Let each sync take half a second for some time."""
    disk = FaultyDisk(folder)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed)
        disk.plan(SYNC, SLEEP, number=500_000)
        siege.load(lambda: (_wait_for(lambda: disk.met > 0), time.sleep(seconds)))
        siege.met += disk.met
        disk.heal()
        siege.check()
        return siege.findings()


def held_commits(folder: Path, seed: int) -> tuple[Findings, int]:
    """Hold a sync until a request is refused; return also how many rows waited at most."""
    disk = FaultyDisk(folder)
    with ServiceProcess(folder, environment=disk.environment) as service:
        siege = Siege(service, seed, weights={"tell_many": 1.0}, clients=12)
        with service.client() as client:
            for worker in siege.workers:
                worker.ask_many(client)
            disk.plan(SYNC, HOLD)
            waiting: list[int] = []

            def refused() -> bool:
                text = client.get("/metrics").content
                waiting.append(int(float(text.partition(f"\n{QUEUE}")[2].split("\n")[0])))
                return siege.findings().refused() > 0

            siege.load(lambda: (_wait_for(refused), disk.heal()))
        siege.met += disk.met
        siege.check()
        return siege.findings(), max(waiting)


def fill_by_limit(folder: Path, seed: int) -> Findings:
    """Let the system refuse to let files grow for a while, as a quota does."""

    @contextmanager
    def full(service: ServiceProcess) -> Iterator[None]:
        size = max(path.stat().st_size for path in folder.glob("bandits.db*"))
        before = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (size + 16384, before[1]))
        try:
            yield
        finally:
            resource.prlimit(service.pid, resource.RLIMIT_FSIZE, before)

    return _fill(folder, seed, full)


def fill_by_file(folder: Path, seed: int) -> Findings:
    """Let a disk of 8 MiB, which only an administrator can make, be filled by something else."""
    small = folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(small)]
    subprocess.run(mount, check=True)

    @contextmanager
    def full(service: ServiceProcess) -> Iterator[None]:
        filler = small / "filler"
        with filler.open("wb", buffering=0) as file, suppress(OSError):  # until there is no room
            while file.write(bytes(4096)):
                pass
        try:
            yield
        finally:
            filler.unlink()

    try:
        return _fill(small, seed, full)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def _fill(folder: Path, seed: int, full: Callable[[ServiceProcess], object]) -> Findings:
    """Fill the disk under load, look whether all can still be read, and make room again.

    Python does not notice that it wrote a part of some byte code only, so it writes none.
    """
    with ServiceProcess(folder, environment={"PYTHONDONTWRITEBYTECODE": "1"}) as service:
        siege = Siege(service, seed)
        siege.load_for(SOME)
        with full(service):
            siege.load(lambda: _wait_for(lambda: siege.findings().refused() > 10))
            siege.met += siege.findings().refused()
            siege.look()
        wait_until_it_writes(siege)
        siege.check()
        siege.load(lambda: (time.sleep(SOME), service.kill()))
        service.start()
        siege.check()
        return siege.findings()


def _wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened() and time.monotonic() < end:
        time.sleep(0.005)
