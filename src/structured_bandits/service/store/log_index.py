"""What is in the log already, rows that are on their way to the disk included."""

from __future__ import annotations

from structured_bandits.service.rows import Event
from structured_bandits.service.store.writer import Unwritten
from structured_bandits.service.store_protocol import Store


class LogIndex:
    """What is in the log of one version, by decision and by key."""

    def __init__(self, store: Store, unwritten: Unwritten, version: int) -> None:
        self._store = store
        self._unwritten = unwritten
        self._version = version

    def outcome(self, decision: int) -> Event | None:
        """Return what became of a decision."""
        found = self._unwritten.outcomes.get((self._version, decision))
        return found or self._store.outcome(self._version, decision)

    def late(self, decision: int) -> Event | None:
        """Return the late reward of a cancelled decision."""
        found = self._unwritten.lates.get((self._version, decision))
        return found or self._store.late(self._version, decision)

    def by_key(self, key: str) -> Event | None:
        """Return the row with a key."""
        found = self._unwritten.keys.get((self._version, key))
        return found or self._store.by_key(self._version, key)
