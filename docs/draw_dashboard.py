"""Draws guides/dashboard.png, a page of the dashboard, in Chromium (`python docs/draw_dashboard.py`).

The experiment is played in memory with simulated customers and a clock of its own, so that a day of
traffic takes some seconds.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
from pathlib import Path

from structured_bandits.service.http.api import application
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.trusted_clock import TrustedClock
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.ui.pages.registry_for_pages import RegistryForPages
from structured_bandits.service.ui.pages.routes import page_routes
from structured_bandits.service.wire import Ask, Reward

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from support.browser import Window  # noqa: E402 (the tests have a browser)
from support.serving import serving  # noqa: E402

BEGIN = 1_794_643_200.0  # seconds since 1970: 14 November 2026, 8:00 UTC
CUSTOMERS = 9_000
TRUTH = [0.12, 0.15, 0.31, 0.07]
SPEC = {
    "structure": {
        "kind": "finite",
        "arms": ["free delivery", "10 % off", "gift wrap", "two for one"],
        "models": ["early risers", "students", "families", "visitors", "collectors"],
        "means": [
            [0.12, 0.30, 0.08, 0.05],
            [0.10, 0.22, 0.10, 0.28],
            TRUTH,
            [0.26, 0.14, 0.15, 0.10],
            [0.15, 0.10, 0.08, 0.33],
        ],
    },
    "policy": {"kind": "SAE"},
    "horizon": 100_000,
    "control": {"arm": "free delivery", "share": 0.05},
}


class Day:
    """A clock that goes on by some seconds with each customer."""

    def __init__(self) -> None:
        self.seconds = BEGIN

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.seconds


async def play(registry: Registry, day: Day) -> None:
    """Let the customers come: each takes the offer or not."""
    rng = random.Random(1)
    create(registry, "offers", SPEC)
    for _ in range(CUSTOMERS):
        day.seconds += rng.expovariate(0.1)
        (decision,) = registry.find("offers").ask(Ask()).decisions
        reward = float(rng.random() < TRUTH[decision.arm])
        registry.find("offers").tell([Reward(id=decision.id, reward=reward)])
    registry.find("offers").ask(Ask(n=14))
    await registry.written()


def draw(picture: Path) -> None:
    """Play, serve, and take the picture."""
    with tempfile.TemporaryDirectory() as folder:
        day = Day()
        registry = Registry(SqliteStore(Path(folder) / "bandits.db"), TrustedClock(day, day))
        registry.open()
        asyncio.run(play(registry, day))
        app = application(
            registry, Hosts("127.0.0.1"), pages=page_routes(RegistryForPages(registry))
        )
        with serving(app) as address, Window(1180) as window:
            window.goto(f"{address}/experiments/offers")
            seen = window.look(picture)
            assert not seen.console, seen.console
        registry.close()


if __name__ == "__main__":
    draw(DOCS / "guides" / "dashboard.png")
