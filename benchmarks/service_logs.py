"""Long logs of the service, built without HTTP, and left as a loss of power would leave them.

python benchmarks/service_logs.py '{"spec": "sae.toml", "store": "bandits.db", "events": 10000000, …}'
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from structured_bandits.service.experiment.spec import read_spec
from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import MOST_COST, Registry
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.wire import Ask, Reward

ROWS = 2_000  # in a transaction
TOGETHER = (
    1_000  # decisions that are asked for, and told, by one request where time does not matter
)


def build(spec: str, store: str, means: list[float], events: int, pending: int) -> dict[str, int]:
    """Write a log of so many rows, then ask for decisions that nobody tells; return how it stands.

    Most of the rows are of requests for many decisions at once, which are quicker to write. It ends with
    single ones, just before a snapshot is due, which is when a restart takes longest.
    """
    registry = Registry(SqliteStore(Path(store)))
    registry.open()
    name = Path(spec).stem
    create(registry, name, read_spec(Path(spec)))
    version = registry.experiments[name].current
    life = registry.experiments[name].state

    def commit_some() -> None:
        if len(registry.writer.open) >= ROWS:
            registry.writer.write_now()

    while life.seq < events:
        _play(registry, name, means, TOGETHER)
        commit_some()
    for _ in range(pending):
        registry.find(name).ask(Ask())
        commit_some()
    while version.cost < 0.9 * max(MOST_COST, 5.0 * version.snapshot_cost):
        _play(registry, name, means)
        commit_some()
    registry.writer.write_now()
    return {"rows": life.seq, "snapshot_ms": int(1e3 * version.snapshot_cost)}


def _play(registry: Registry, name: str, means: list[float], n: int = 1) -> None:
    decisions = registry.find(name).ask(Ask(n=n)).decisions
    registry.find(name).tell(
        [Reward(id=each.id, reward=float(random.random() < means[each.arm])) for each in decisions],
    )


def memory(process: int) -> dict[str, int]:
    """Return what a process has in memory now (VmRSS) and had at most (VmHWM), in bytes."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    parts = [line.split() for line in lines if line.startswith(("VmRSS:", "VmHWM:"))]
    return {part[0].rstrip(":"): 1024 * int(part[1]) for part in parts}


if __name__ == "__main__":
    random.seed(0)
    print(json.dumps(build(**json.loads(sys.argv[1]))), flush=True)
    os._exit(0)  # nothing is closed or saved
