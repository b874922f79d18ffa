"""Print how many bytes of an SQLite store a decision takes: its ask, its reward, and what indexes add.

python tools/store_size.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.wire import Ask, Reward

DECISIONS = 50_000
AT_ONCE = 1_000  # decisions of a transaction
SPEC: dict[str, Any] = {
    "structure": {"kind": "finite", "means": [[0.12, 0.04], [0.03, 0.11]]},
    "policy": {"kind": "UCB"},
    "horizon": 10_000_000,
}
CASES = {
    "without keys": ({}, False),
    "with a key of 36 characters": ({}, True),
    "with a key, a control share and order drawn": (
        {"order": "drawn", "control": {"arm": 0, "share": 0.05}},
        True,
    ),
}


async def play(registry: Registry, keyed: bool) -> None:
    """Ask and tell."""
    for number in range(DECISIONS):
        key = f"{number:036d}" if keyed else None
        (decision,) = registry.find("shop").ask(Ask(key=key)).decisions
        registry.find("shop").tell([Reward(id=decision.id, reward=float(number % 10 == 0))])
        if number % AT_ONCE == AT_ONCE - 1:
            await registry.written()


def measure(extra: dict[str, Any], keyed: bool) -> tuple[int, int]:
    """Return the size of a store and how many rows it has, after the server has ended."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bandits.db"
        registry = Registry(SqliteStore(path))
        registry.open()
        create(registry, "shop", {**SPEC, **extra})
        asyncio.run(play(registry, keyed))
        rows = registry.find("shop").state.seq
        registry.close()
        return path.stat().st_size, rows


def main() -> None:
    for name, (extra, keyed) in CASES.items():
        size, rows = measure(extra, keyed)
        print(f"{name}: {size / rows:.0f} bytes a row, {size / DECISIONS:.0f} bytes a decision")


if __name__ == "__main__":
    main()
