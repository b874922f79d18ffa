"""A short life whose log has rows of most kinds and two snapshots: for tests that damage or upgrade it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from support.owned import NAME, TABLE, Shop

from structured_bandits.service import wire

SPEC: dict[str, Any] = {
    "structure": TABLE,
    "policy": {"kind": "SAE"},
    "horizon": 10_000,
    "order": "drawn",
    "seed": 7,
    "default_arm": "tea",
    "control": {"arm": "tea", "share": 0.1},
}


def play(shop: Shop, rounds: int, reward: float = 0.5) -> None:
    """Ask and tell, a few decisions at a time."""
    for number in range(rounds):
        asked = shop.ask(n=1 + number % 3).content.decisions
        shop.tell(*((each.id, reward) for each in asked))


def snapshot(shop: Shop) -> None:
    """Save the state as an orderly end would."""
    shop.registry._snapshot(shop.registry.find(NAME).current)
    shop.registry.writer.write_now()


def live(folder: Path) -> Path:
    """Let much happen, and end it as a loss of power would; return the file of the store.

    Nineteen rows or so follow the last snapshot.
    """
    shop = Shop(folder)
    shop.create(SPEC)
    play(shop, 3)
    shop.ask(key="a visitor")
    snapshot(shop)
    shop.call(lambda registry: registry.find(NAME).park(wire.Park(arm="cocoa")))
    play(shop, 3, 1.0)
    snapshot(shop)
    first = shop.ask_one()
    shop.call(lambda registry: registry.find(NAME).cancel(wire.Named(id=first.id)))
    learned = wire.Learn(pulls=[2, 1, 0], sums=[1.0, 0.5, 0.0], key="a log")
    shop.call(lambda registry: registry.find(NAME).learn(learned))
    batch = shop.call(lambda registry: registry.find(NAME).hand_out(wire.HandOut(limit=5))).content
    sums = [0.5 * pulls for pulls in batch.pulls]
    results = wire.BatchResults(pulls=batch.pulls, sums=sums, key="a part")
    shop.call(lambda registry: registry.find(NAME).results(batch.id, results))
    shop.call(lambda registry: registry.find(NAME).pause(True))
    shop.ask(key="in the pause")
    shop.call(lambda registry: registry.find(NAME).pause(False))
    play(shop, 4, 0.25)
    shop.drop()
    return whole(shop.path)


def whole(path: Path) -> Path:
    """Let a store be in one file, which can be copied."""
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path
