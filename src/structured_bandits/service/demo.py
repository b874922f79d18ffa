"""A demonstration: three experiments with simulated customers, so that each panel has something to show.

`teas`: the structure is right, and the best arm is found. `banners`: the structure is wrong, and within
a minute the alarm rings and the fallback plays. `packs`: purchases come late or never (a reward window),
some packs are out of stock now and then, and a tenth of the customers gets the usual pack (control).
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.client.remote_agent import RemoteAgent

PER_SECOND = 25.0  # customers of each experiment
AT_ONCE = 8  # rewards that may be out, besides those of a window


@dataclass(frozen=True)
class Scene:
    """An experiment, and how its customers behave."""

    name: str
    spec: dict[str, Any]
    means: tuple[float, ...]  # the probability of a success, by arm
    prize: tuple[float, ...]  # what a success pays
    seconds: float = 0.0  # after which a success is reported, on average
    out_of_stock: float = 0.0  # how often each arm is missing
    tells_failures: bool = True  # or says nothing, and the window closes


TEAS = {
    "kind": "finite",
    "arms": ["green", "black", "herbal", "oolong"],
    "models": ["early risers", "students", "families", "visitors", "collectors"],
    "means": [
        [0.12, 0.30, 0.08, 0.05],
        [0.10, 0.22, 0.10, 0.28],
        [0.09, 0.12, 0.31, 0.07],
        [0.26, 0.14, 0.15, 0.10],
        [0.15, 0.10, 0.08, 0.33],
    ],
}
BANNERS = {
    "kind": "finite",
    "arms": ["plain", "photo", "video"],
    "models": ["at work", "at home"],
    "means": [[0.20, 0.10, 0.05], [0.10, 0.25, 0.15]],
}
PACKS = {
    "kind": "finite",
    "arms": ["single", "six-pack", "crate"],
    "models": ["thrifty", "usual", "generous"],
    "means": [[0.9, 1.1, 0.8], [1.0, 1.5, 1.8], [0.8, 1.9, 3.0]],
    "reward_range": [0.0, 10.0],
}

SCENES = (
    Scene(
        "teas",
        {"structure": TEAS, "policy": {"kind": "ModelTS"}, "horizon": 100_000},
        means=(0.09, 0.12, 0.31, 0.07),
        prize=(1.0, 1.0, 1.0, 1.0),
    ),
    Scene(
        "banners",
        {"structure": BANNERS, "policy": {"kind": "ModelTS"}, "horizon": 100_000},
        means=(0.32, 0.14, 0.40),
        prize=(1.0, 1.0, 1.0),
    ),
    Scene(
        "packs",
        {
            "structure": PACKS,
            "policy": {"kind": "UCBC"},
            "horizon": 100_000,
            "order": "drawn",
            "reward": {"window": "8s", "missing": 0.0},
            "control": {"arm": "single", "share": 0.1},
            "audit": {"share": 0.01},
        },
        means=(0.5, 0.25, 0.18),
        prize=(2.0, 6.0, 10.0),
        seconds=2.0,
        out_of_stock=0.15,
        tells_failures=False,
    ),
)


class Customers(threading.Thread):
    """Asks for arms and tells rewards, through the same door as everybody else."""

    def __init__(self, scene: Scene, url: str, stop: threading.Event, seed: int) -> None:
        super().__init__(daemon=True, name=f"customers of {scene.name}")
        self._scene = scene
        self._agent = RemoteAgent(url, scene.name, timeout=5.0)
        self._stop = stop
        self._random = random.Random(seed)
        self._waiting: list[tuple[float, str, float]] = []  # when to tell what
        self._now = 0.0

    def run(self) -> None:
        """Come one after the other until the end."""
        while not self._stop.wait(1.0 / PER_SECOND):
            self._now += 1.0 / PER_SECOND
            try:
                self._come()
                self._report()
            except StructuredBanditsError:
                if self._stop.wait(1.0):  # the server is ending, or somebody has paused it
                    return

    def _come(self) -> None:
        scene, rnd = self._scene, self._random
        arms = range(len(scene.means))
        available = [arm for arm in arms if rnd.random() >= scene.out_of_stock]
        decision = self._agent.ask(available=available or None)
        success = rnd.random() < scene.means[decision.arm]
        if decision.id is None or not (success or scene.tells_failures):
            return
        late = rnd.expovariate(1.0 / scene.seconds) if scene.seconds else 0.0
        reward = scene.prize[decision.arm] if success else 0.0
        self._waiting.append((self._now + late, decision.id, reward))

    def _report(self) -> None:
        """Tell what is due; a few rewards are always out, as in life."""
        self._waiting.sort()
        kept = 0 if self._scene.seconds else AT_ONCE
        while len(self._waiting) > kept and self._waiting[0][0] <= self._now:
            _, decision_id, reward = self._waiting.pop(0)
            try:
                self._agent.tell(decision_id, reward)
            except StructuredBanditsError:
                continue  # its window has closed: that happens to late customers


def customers_come(url: str, stop: threading.Event, seed: int = 1) -> list[Customers]:
    """Let the customers of all scenes come; return who they are."""
    groups = [Customers(scene, url, stop, seed + number) for number, scene in enumerate(SCENES)]
    for each in groups:
        each.start()
    return groups


def introduction(url: str, say: Callable[[str], None]) -> None:
    """Say what there is to see."""
    say(
        f"\nThe dashboard is at {url} (Ctrl-C ends the demonstration). Simulated customers come to:\n"
    )
    say("  teas     The structure is right: watch models and arms drop out.")
    say(
        "  banners  The structure is wrong: within a minute the alarm rings, and the fallback plays."
    )
    say("  packs    Purchases come late (window of 8 seconds), packs run out of stock, and one")
    say("           customer in ten gets the control arm.\n")
