"""An owner of a store without a server: a clock that the test sets, restarts, and statuses of answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from structured_bandits.service import wire
from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.experiment.replay import LogVerdict, spec_of, verify
from structured_bandits.service.http.problems import problem_of
from structured_bandits.service.running.chores import settle
from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.trusted_clock import TrustedClock
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import Store

NAME = "shop"
BEGIN = 1_700_000_000.0  # seconds since 1970


class Time:
    """A wall clock and a stopwatch: `pass_by` moves both, `set_wall` lies about the time."""

    def __init__(self) -> None:
        self.wall = BEGIN
        self.stopwatch = 0.0

    def pass_by(self, seconds: float) -> None:
        """Let time go on."""
        self.wall += seconds
        self.stopwatch += seconds

    def clock(self) -> TrustedClock:
        """Return a clock of the service that shows this time."""
        return TrustedClock(lambda: self.wall, lambda: self.stopwatch)


@contextmanager
def in_memory() -> Iterator[Path]:
    """Yield a folder without a disk under it, where the machine has one: for tests with many stores."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


class Answered(NamedTuple):
    """The status that HTTP would have, and the answer or the problem."""

    status: int
    content: Any


def answered(does: Callable[[], Any]) -> Answered:
    """Call a command of the owner, as an endpoint would."""
    try:
        return Answered(200, does())
    except Exception as error:
        problem = problem_of(error)
        if problem.status == 500:
            raise
        return Answered(problem.status, problem.problem())


class Shop:
    """A store in a file and its owner, which can be closed, or dropped as by a loss of power.

    `make` opens another store instead of the file.
    """

    def __init__(
        self, folder: Path, time: Time | None = None, make: Callable[[], Store] | None = None
    ) -> None:
        self.path = folder / "bandits.db"
        self.time = time or Time()
        self.make = make or (lambda: SqliteStore(self.path))
        self.begin()

    def begin(self) -> None:
        """Start an owner."""
        self.registry = Registry(self.make(), self.time.clock())
        self.registry.open()

    def close(self) -> None:
        """End it in order: snapshots are saved."""
        self.registry.close()

    def drop(self) -> None:
        """End it as a loss of power would: what was not committed is gone, nothing is saved."""
        self.registry.writer.close()
        self.registry.store.close()

    def restart(self, in_order: bool = True) -> None:
        """End it and start it again."""
        (self.close if in_order else self.drop)()
        self.begin()

    def call(self, does: Callable[[Registry], Any]) -> Answered:
        """Let a command be done and written, like a request over HTTP."""
        found = answered(lambda: does(self.registry))
        self.registry.writer.write_now()
        return found

    def create(self, spec: dict[str, Any], name: str = NAME) -> Answered:
        """Create an experiment."""
        return self.call(lambda registry: create(registry, name, spec))

    def ask(self, name: str = NAME, **request: Any) -> Answered:
        """Ask for decisions."""
        return self.call(lambda registry: registry.find(name).ask(wire.Ask(**request)))

    def ask_one(self, name: str = NAME, **request: Any) -> wire.Decision:
        """Ask for one decision, which must succeed."""
        decision: wire.Decision = self.ask(name, **request).content.decisions[0]
        return decision

    def tell(self, *rewards: tuple[str, float], name: str = NAME) -> Answered:
        """Tell rewards by id."""
        listed = [wire.Reward(id=each, reward=reward) for each, reward in rewards]
        return self.call(lambda registry: registry.find(name).tell(listed))

    def settle(self) -> None:
        """Close the windows whose time has come."""
        while settle(self.registry):
            pass
        self.registry.writer.write_now()

    def life(self, name: str = NAME) -> ExperimentState:
        """The state of the version that is asked."""
        return self.registry.find(name).state

    def verdicts(self, decisions: bool = True) -> list[LogVerdict]:
        """Check the logs of all versions."""
        store = self.registry.store
        rows = store.versions()
        return [verify(store, row, spec_of(store, row), decisions) for row in rows]


TABLE = {
    "kind": "finite",
    "arms": ["tea", "coffee", "cocoa"],
    "means": [[0.75, 0.25, 0.5], [0.25, 0.75, 0.5], [0.5, 0.25, 0.875], [0.5, 0.5, 0.125]],
}
