"""A service under attack: its clients, what was done to it, and what was found wrong."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from support.service_load import WEIGHTS, new_load, run_all
from support.service_process import PATIENCE, SHOP, ServiceProcess

#: Everything that makes decisions depend on clocks and chance: windows, control and audit, drawn order.
WINDOWS: dict[str, Any] = {
    **SHOP,
    "order": "drawn",
    "reward": {"window": "1s", "missing": 0.0},
    "control": {"arm": "milk", "share": 0.1},
    "audit": {"share": 0.05},
}
WINDOW_WEIGHTS = {**WEIGHTS, "batch": 0}  # the service refuses batches where there are windows


@dataclass
class Findings:
    """How often a service was attacked, and what was wrong afterwards."""

    cycles: int = 0
    acknowledged: int = 0
    replays: int = 0
    met: int = 0  # faults that the service has met
    forgotten: int = 0  # writes that the disk has forgotten
    statuses: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, other: Findings) -> None:
        """Add what another attack has found."""
        self.cycles += other.cycles
        self.acknowledged += other.acknowledged
        self.replays += other.replays
        self.met += other.met
        self.forgotten += other.forgotten
        self.statuses += other.statuses
        self.problems += other.problems

    def count(self, *words: str) -> int:
        """Count the problems of some kinds, such as "lost"."""
        return sum(each.startswith(words) for each in self.problems)

    def refused(self) -> int:
        """Count the requests that were told to come again."""
        return sum(count for said, count in self.statuses.items() if said.endswith(" 503"))


class Siege:
    """A service and clients that use it; everything random comes from the seed, but not the timing."""

    def __init__(
        self,
        service: ServiceProcess,
        seed: int,
        spec: dict[str, Any] = SHOP,
        weights: dict[str, float] = WEIGHTS,
        clients: int = 4,
    ) -> None:
        self.service = service
        self.random = Random(seed)
        self.experiment, self.workers = new_load("shop", seed, clients, weights, spec)
        self.cycles = self.replays = self.met = self.forgotten = 0
        self.problems: list[str] = []
        self.experiment.create(service)

    def load(self, wait: Callable[[], Any]) -> None:
        """Let all clients send for as long as `wait` takes, and count this as a cycle."""
        self.cycles += 1
        run_all(self.workers, self.service, wait)

    def load_for(self, seconds: float) -> None:
        """Let all clients send for some time."""
        self.load(lambda: time.sleep(seconds))

    def until_acknowledged(self, count: int) -> None:
        """Wait, under load, until so many requests more are acknowledged."""
        ledger = self.experiment.ledger
        aim, end = ledger.acknowledged + count, time.monotonic() + PATIENCE
        while ledger.acknowledged < aim and time.monotonic() < end:
            time.sleep(0.005)

    def look(self) -> None:
        """Compare what the clients know with the log, and the log with what is shown."""
        found = self.experiment.problems(self.service)
        self.problems += [each for each in found if each not in self.problems]

    def catch_up(self) -> None:
        """Let a client send again what was not answered, until all of it is."""
        end = time.monotonic() + PATIENCE
        while self.experiment.ledger.unanswered() and time.monotonic() < end:
            with self.service.client() as client:
                self.random.choice(self.workers).catch_up(client)
        if left := self.experiment.ledger.unanswered():
            self.problems.append(f"refused: {len(left)} requests, such as {left[0]}")

    def check(self) -> None:
        """Look; send again what was not answered; look again and derive every decision anew."""
        self.look()
        self.catch_up()
        self.look()
        for verdict in self.service.verdicts():
            self.replays += 1
            if verdict.exit_code:
                self.problems.append(f"replay: {verdict.damages[:1]} {verdict.differs[:1]}")

    def findings(self) -> Findings:
        """Return what was found up to now."""
        ledger = self.experiment.ledger
        return Findings(
            self.cycles,
            ledger.acknowledged,
            self.replays,
            self.met,
            self.forgotten,
            Counter(ledger.statuses),
            self.problems,
        )
