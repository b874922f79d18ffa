"""What is in the log already, rows that are on their way to the disk included."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from structured_bandits.service import rows as kinds
from structured_bandits.service.contract import Store
from structured_bandits.service.rows import OUTCOMES, Changes, Event


class Unwritten:
    """Rows that were recorded and are not in the store yet, by what they are looked up by."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[int, int], Event] = {}
        self.lates: dict[tuple[int, int], Event] = {}
        self.keys: dict[tuple[int, str], Event] = {}

    def add(self, version: int, events: Iterable[Event]) -> None:
        """Note rows that were recorded."""
        for event in events:
            if event.decision is not None and event.kind in OUTCOMES:
                self.outcomes[version, event.decision] = event
            elif event.decision is not None and event.kind == kinds.LATE:
                self.lates[version, event.decision] = event
            if event.key is not None:
                self.keys[version, event.key] = event

    def forget(self, versions: Collection[int]) -> None:
        """Forget all rows of some versions: they will not be written."""
        self.outcomes = {at: row for at, row in self.outcomes.items() if at[0] not in versions}
        self.lates = {at: row for at, row in self.lates.items() if at[0] not in versions}
        self.keys = {at: row for at, row in self.keys.items() if at[0] not in versions}

    def remove(self, changes: Changes) -> None:
        """Forget rows that were written."""
        for version, event in changes.events:
            if event.decision is not None and event.kind in OUTCOMES:
                self.outcomes.pop((version, event.decision), None)
            elif event.decision is not None and event.kind == kinds.LATE:
                self.lates.pop((version, event.decision), None)
            if event.key is not None:
                self.keys.pop((version, event.key), None)


class LogIndex:
    """The past of one version."""

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
