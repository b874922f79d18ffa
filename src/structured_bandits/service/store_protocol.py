"""What every database under the service can do.

One process owns a store. It writes through one connection, in transactions that contain everything that
was decided while the last one was being written. Each transaction checks the store's epoch, which rises
when another process takes over: a process that was replaced cannot write any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.rows import (
    Changes,
    Event,
    ExperimentRow,
    Saved,
    TokenRow,
    VersionRow,
)

SCHEMA = 2
KEPT_SNAPSHOTS = 3  # of each version; besides those that follow a change of the code
PAGE = 10_000  # rows that are read at once


class StoreError(StructuredBanditsError):
    """The store cannot be used as it is."""


class OwnedElsewhereError(StoreError):
    """Another process owns the store."""


class DamagedError(StoreError):
    """What the store holds is not what was written."""


class ContradictionError(StoreError):
    """What was to be written contradicts a row that is there; nothing of the transaction was written."""


class Store(Protocol):
    """A database under the service."""

    where: str  # for people: the file, or the address without a password

    def claim(self) -> int:
        """Become the owner; return the new epoch. Raises OwnedElsewhereError."""

    def commit(self, changes: Changes) -> None:
        """Write everything or nothing; when this returns, it outlives a loss of power.

        Raises OwnedElsewhereError if another process has taken over: then nothing is written, now or
        later. Raises StoreError if it fails; if the connection was lost, only reading after `reopen`
        tells whether it was written.
        """

    def reopen(self) -> None:
        """Drop all connections and open new ones, after a commit that failed; still the owner.

        Raises OwnedElsewhereError if that is not so, StoreError while the database cannot be reached.
        """

    def close(self) -> None:
        """Give the store up."""

    def beat(self) -> None:
        """Say that the owner is alive, where another process watches that.

        Raises as `commit` does: an owner who has nothing to write hears here that it was replaced.
        """

    def is_sealed(self) -> bool:
        """Return whether experiments, versions and tokens are what was written (`seal.py`)."""

    def faults(self) -> list[str]:
        """Return what is wrong with the database itself, in sentences."""

    def experiments(self) -> list[ExperimentRow]:
        """Return all experiments."""

    def versions(self) -> list[VersionRow]:
        """Return all versions, in the order in which they were made."""

    def structure(self, digest: str) -> str:
        """Return the description of a structure as JSON."""

    def events(self, version: int, after: int = 0, limit: int = PAGE) -> list[Event]:
        """Return rows in order, those with higher numbers than `after`."""

    def outcome(self, version: int, decision: int) -> Event | None:
        """Return what became of a decision: the row that tells, cancels or expires it."""

    def late(self, version: int, decision: int) -> Event | None:
        """Return the row with which the reward of a cancelled decision came late."""

    def by_key(self, version: int, key: str) -> Event | None:
        """Return the row with a key."""

    def last_start(self, version: int, seq: int) -> Event | None:
        """Return the last `start` up to row `seq`: it says which code wrote that row."""

    def snapshots(self, version: int) -> list[Saved]:
        """Return the snapshots of a version, the newest first."""

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""


def all_events(store: Store, version: int, after: int = 0) -> Iterator[Event]:
    """Yield all rows of a version after number `after`, a page at a time.

    Raises DamagedError if their numbers do not rise: a damaged table may lead back to its beginning.
    """
    while page := store.events(version, after):
        for event in page:
            if event.seq <= after:
                raise DamagedError(f"row {event.seq} follows row {after}")
            after = event.seq
            yield event
