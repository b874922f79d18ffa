"""Attacks that end processes: the service, again and again at random points, and its database."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from support.postgres_server import Server
from support.service_load import WEIGHTS
from support.service_process import PATIENCE, SHOP, LostError, ServiceProcess
from support.siege import WINDOW_WEIGHTS, WINDOWS, Findings, Siege

LONGEST = 0.5  # seconds of load before a crash
LEAST = 30  # requests that are acknowledged before it, however slow the machine is


def kill_under_load(
    folder: Path,
    seed: int,
    cycles: int,
    *,
    store: str | None = None,
    spec: dict[str, Any] = SHOP,
    weights: dict[str, float] = WEIGHTS,
) -> Findings:
    """Kill the service at random points, some of them while it starts, and compare each time."""
    with ServiceProcess(folder, store=store) as service:
        siege = Siege(service, seed, spec, weights)
        for cycle in range(cycles):
            siege.load(lambda: (_some_load(siege), service.kill()))
            if siege.random.random() < 0.2:
                kill_while_it_starts(service, siege.random.uniform(0.3, 1.0))
            service.start()
            siege.check()
            if cycle % 4 == 3:  # in order: the next start is from a snapshot
                stop_under_load(siege)
        return siege.findings()


def _some_load(siege: Siege) -> None:
    siege.until_acknowledged(LEAST)
    time.sleep(siege.random.uniform(0.02, LONGEST))


def kill_with_windows(folder: Path, seed: int, cycles: int, store: str | None = None) -> Findings:
    """Do the same to an experiment with windows, control, audit and drawn order."""
    return kill_under_load(folder, seed, cycles, store=store, spec=WINDOWS, weights=WINDOW_WEIGHTS)


def kill_while_it_starts(service: ServiceProcess, seconds: float) -> None:
    """Start the service and kill it before, or just after, it has read its log."""
    process = service.launch()
    time.sleep(seconds)
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def stop_under_load(siege: Siege) -> None:
    """Let an operator stop the service under load, and start it again."""
    codes: list[int] = []
    siege.load(lambda: (time.sleep(0.2), codes.append(siege.service.stop())))
    if codes != [0]:
        siege.problems.append(f"ended: the exit code was {codes}")
    siege.service.start()
    siege.check()


def crash_the_database(folder: Path, seed: int, cycles: int, server: Server) -> Findings:
    """Crash the database under load; the service must find it again by itself."""
    with ServiceProcess(folder, store=server.schema()) as service:
        siege = Siege(service, seed)
        for _ in range(cycles):

            def crash() -> None:
                time.sleep(siege.random.uniform(0.1, LONGEST))
                server.kill()
                time.sleep(0.2)
                server.start()

            siege.load(crash)
            wait_until_it_writes(siege)
            siege.check()
        return siege.findings()


def wait_until_it_writes(siege: Siege) -> None:
    """Wait until the service answers a request that changes something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        worker = siege.workers[0]
        before = siege.experiment.ledger.statuses["ask 200"]
        try:
            with siege.service.client() as client:
                worker.ask_with_key(client)
        except LostError as error:
            siege.problems.append(f"ended: the service does not answer: {error}")
            return
        if siege.experiment.ledger.statuses["ask 200"] > before:
            return
        time.sleep(0.2)
    siege.problems.append("refused: the service does not write again")
