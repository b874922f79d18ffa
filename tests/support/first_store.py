"""The store in tests/service/data, which every later release must read: how it was written, and what it says.

`python -m support.first_store` (with tests/ on the path) writes it anew. That is right only as long as
no release has written stores; afterwards its whole point is that it stays.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from support.owned import NAME, Shop, in_memory
from support.told_life import SPEC, play, snapshot

from structured_bandits.service import wire
from structured_bandits.service.running.lifecycle import new_version

DATA = Path(__file__).parents[1] / "service" / "data"
STORE, SAYS = DATA / "first_store.db", DATA / "first_store.json"
WINDOWED = "prices"
CURVES = {
    "kind": "curves",
    "pieces": [
        {"start": 0.0, "end": 1.0, "at_start": [0.25, 0.5, 0.75], "at_end": [0.75, 0.5, 0.25]}
    ],
}


def build(folder: Path) -> Path:
    """Let much happen in two experiments, and end it as a loss of power would."""
    shop = Shop(folder)
    shop.create(SPEC)
    play(shop, 3)
    shop.ask(key="of the first version")
    request = wire.NewVersion(spec={**SPEC, "policy": {"kind": "SUCB"}}, key="a change")
    shop.call(lambda registry: new_version(registry.find(NAME), request))
    shop.call(lambda registry: registry.find(NAME).park(wire.Park(arm="cocoa")))
    play(shop, 3, 1.0)
    snapshot(shop)
    batch = shop.call(lambda registry: registry.find(NAME).hand_out(wire.HandOut(limit=1))).content
    results = wire.BatchResults(
        pulls=batch.pulls, sums=[0.5 * each for each in batch.pulls], key="p"
    )
    shop.call(lambda registry: registry.find(NAME).results(batch.id, results))
    shop.ask(key="a visitor")
    play(shop, 2, 0.25)
    play_windowed(shop)
    shop.call(lambda registry: registry.add_token("a reader", "read", [NAME]))
    shop.drop()
    return shop.path


def play_windowed(shop: Shop) -> None:
    """Let rewards be held, expire and come late in a second experiment."""
    reward = {"window": "60s", "missing": "cancel", "late": "learn"}
    spec = {"structure": CURVES, "policy": {"kind": "UCB"}, "horizon": 500, "reward": reward}
    spec["alarm"] = {
        "fallback": "none"
    }  # the store has none: it is of a time when it was not needed
    shop.create({**spec, "seed": 1}, WINDOWED)
    first = [shop.ask_one(WINDOWED) for _ in range(4)]
    shop.tell((first[0].id, 0.5), name=WINDOWED)
    shop.time.pass_by(61.0)
    shop.settle()
    shop.tell((first[1].id, 0.25), name=WINDOWED)
    shop.ask(WINDOWED, n=2, defer=True)
    shop.tell((shop.ask_one(WINDOWED).id, 1.0), name=WINDOWED)


def said(shop: Shop) -> dict[str, Any]:
    """Return what a store says, as far as it follows from its rows alone."""
    found: dict[str, Any] = {}
    for name in (NAME, WINDOWED):
        served = shop.registry.find(name)
        found[name] = [
            None
            if version.state is None
            else {
                "pulls": version.state.agent.pulls.tolist(),
                "sums": version.state.agent.sums.tolist(),
                "out": [list(each[:2]) for each in version.state.agent.pending],
                "held": [list(each) for each in version.state.held.items()],
                "parked": sorted(version.state.agent.parked),
                "retired": version.state.retired,
            }
            for version in served.versions
        ]
    asked = shop.ask(key="a visitor").content
    found["visitor"] = [asked.repeated, asked.decisions[0].id, asked.decisions[0].arm]
    return found


def main() -> None:
    """Write the store and what it says."""
    with in_memory() as folder:
        path = build(folder)
        with closing(sqlite3.connect(path)) as store:
            store.execute("PRAGMA journal_mode = DELETE")
            store.execute("PRAGMA page_size = 1024")  # it is small
            store.execute("VACUUM")
        STORE.write_bytes(path.read_bytes())
        shop = Shop(folder)
        SAYS.write_text(json.dumps(said(shop), indent=1) + "\n")
        shop.drop()


if __name__ == "__main__":
    main()
