"""What SQLite and PostgreSQL do alike: the rows of a transaction, and all that is read.

A store of either kind says how it reads the rows of a query and how it writes a list of statements in
one transaction. What one of them would keep differently from the other is refused here, before either
sees it.

An older store is brought to this schema: forward only, a copy first, one transaction.
"""

from __future__ import annotations

import math
import os
import re
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from structured_bandits.service.rows import (
    Changes,
    Event,
    ExperimentRow,
    Saved,
    TokenRow,
    VersionRow,
)
from structured_bandits.service.store import seal
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store_protocol import (
    KEPT_SNAPSHOTS,
    PAGE,
    SCHEMA,
    DamagedError,
    StoreError,
)

#: The statements that lead from each schema to the next, for both databases: words in braces as in
#: `statements.py`. Schema 2 has a seal (`seal.py`), which the store computes once it is there.
STEPS: Mapping[int, Sequence[str]] = {1: ("INSERT INTO meta VALUES ('seal', '')",)}


def statements_from(
    where: str, found: str | None, wanted: int = SCHEMA, steps: Mapping[int, Sequence[str]] = STEPS
) -> list[str]:
    """Return what brings a store from the schema `found` to the wanted one, nothing if it has it.

    >>> statements_from("a.db", "1", 3, {1: ["ALTER TABLE a"], 2: ["DROP TABLE b"]})
    ['ALTER TABLE a', 'DROP TABLE b']
    """
    if found is None or not found.isdigit():
        raise DamagedError(
            f"{where}: it does not say its schema; it is damaged, or was not made by structured-bandits"
        )
    if int(found) > wanted:
        raise StoreError(
            f"{where}: it has schema {found}, and this version of structured-bandits knows {wanted}; "
            "install the version that wrote it, or a newer one"
        )
    missing = [schema for schema in range(int(found), wanted) if schema not in steps]
    if missing:
        raise StoreError(f"{where}: nothing leads from its schema {missing[0]} to the next one")
    return [each for schema in range(int(found), wanted) for each in steps[schema]]


UNSEALED = "what is known of experiments, versions and tokens is not what was written"
HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs, which UTF-8 does not have
Rows = list[tuple[Any, ...]]
Work = list[tuple[str, Rows]]  # statements, each with the rows for which it is executed


class TableStore(ABC):
    """A store in the tables of `statements.py`."""

    where: str
    epoch: int = 0  # above 0: we are, or were, the owner

    @abstractmethod
    def _rows(self, statement: str, *values: Any) -> Rows:
        """Return the rows of a query, which any thread may ask for."""

    @abstractmethod
    def _write(self, work: Work) -> None:
        """Execute all of it in one transaction, if the epoch is still ours."""

    def commit(self, changes: Changes) -> None:
        """Write everything or nothing, and wait until the disk has it."""
        self._write([(statement, rows) for statement, rows in work_of(changes) if rows])

    @abstractmethod
    def _own_faults(self) -> list[str]:
        """Return what is wrong with the pages and the indexes of the database."""

    def faults(self) -> list[str]:
        """Return what is wrong with the database itself, in sentences."""
        found = self._own_faults()
        if not self.is_sealed():
            found.append(UNSEALED)
        strangers = [str(row[0]) for row in self._rows(sql.STRANGERS)]
        if strangers:
            found.append(f"there are rows of versions that are not there: {', '.join(strangers)}")
        return found

    def is_sealed(self) -> bool:
        """Return whether experiments, versions and tokens are what was written.

        A server may write meanwhile, so what does not fit is read again if the seal has changed.
        """
        while True:
            said = self._meta("seal")
            if said == seal.text_of(seal.sum_of(self._rows)):
                return True
            if said == self._meta("seal"):
                return False

    def _check_readable(self) -> None:
        """Raise if it cannot be read as a store of this library."""
        try:
            found, sealed = self._meta("schema"), self._meta("seal")
        except StoreError as error:  # no such table, or no leave to read it
            raise type(error)(f"{error}; perhaps it was not made by structured-bandits") from None
        if sealed and sealed.partition(":")[0] != found:
            raise DamagedError(f"{self.where}: its seal is not of its schema, {found}")
        if statements_from(self.where, found):
            for fault in self._own_faults():
                raise DamagedError(f"{self.where}: {fault}")
            raise StoreError(
                f"{self.where}: an older version has written it; `serve` brings it up to date"
            )

    def _meta(self, key: str) -> str | None:
        rows = self._rows(sql.GET_META, key)
        return str(rows[0][0]) if rows else None

    def _event(self, statement: str, *values: Any) -> Event | None:
        rows = self._rows(statement, *values)
        return Event(*rows[0]) if rows else None

    def experiments(self) -> list[ExperimentRow]:
        """Return all experiments."""
        return [ExperimentRow(*row) for row in self._rows(sql.EXPERIMENTS)]

    def versions(self) -> list[VersionRow]:
        """Return all versions, in the order in which they were made."""
        return [VersionRow(*row) for row in self._rows(sql.VERSIONS)]

    def structure(self, digest: str) -> str:
        """Return the description of a structure as JSON."""
        rows = self._rows(sql.BODY, digest)
        if not rows:
            raise StoreError(f"{self.where}: the structure {digest} is missing")
        return str(rows[0][0])

    def events(self, version: int, after: int = 0, limit: int = PAGE) -> list[Event]:
        """Return rows in order, those with higher numbers than `after`."""
        return [Event(*row) for row in self._rows(sql.EVENTS, version, after, limit)]

    def outcome(self, version: int, decision: int) -> Event | None:
        """Return what became of a decision."""
        return self._event(sql.OUTCOME, version, decision)

    def late(self, version: int, decision: int) -> Event | None:
        """Return the row with which the reward of a cancelled decision came late."""
        return self._event(sql.LATE, version, decision)

    def by_key(self, version: int, key: str) -> Event | None:
        """Return the row with a key; no row has one that cannot be kept."""
        return None if unkept(key) else self._event(sql.BY_KEY, version, key)

    def last_start(self, version: int, seq: int) -> Event | None:
        """Return the last `start` up to row `seq`."""
        return self._event(sql.LAST_START, version, version, seq)

    def snapshots(self, version: int) -> list[Saved]:
        """Return the snapshots of a version, the newest first."""
        return [Saved(*row) for row in self._rows(sql.SNAPSHOTS, version)]

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""
        return [TokenRow(*row) for row in self._rows(sql.TOKENS)]


def work_of(changes: Changes) -> Work:
    """Return what writes the changes; events are the only rows of which there may be many."""
    saved = sorted({each.version for each in changes.snapshots})
    work: Work = [
        (sql.STRUCTURE, checked(changes.structures)),
        (sql.EXPERIMENT, checked(changes.experiments)),
        (sql.VERSION, checked(changes.versions)),
        (sql.EVENT, [event_row(version, event) for version, event in changes.events]),
        (sql.HEAD, [(*head, version) for version, head in changes.heads().items()]),
        (sql.CLOSED, checked(changes.closed)),
        (sql.DROP_EVENTS, checked(changes.archived())),
        (sql.DROP_SNAPSHOTS, checked(changes.archived())),
        (sql.SNAPSHOT, checked(changes.snapshots)),
        (sql.THIN, [(version, version, KEPT_SNAPSHOTS) for version in saved]),
        (sql.TOKEN, checked(changes.tokens)),
    ]
    return work


def event_row(version: int, event: Event) -> tuple[Any, ...]:
    """Return an event as a row. SQLite would drop the sign of zero, and turn nan into null."""
    seq, kind, at, decision, n, arm, value, key, body, chain = event
    if value is not None:
        if not math.isfinite(value):
            raise StoreError(f"row {seq} ({kind}): its value is {value}; only finite ones are kept")
        value = value + 0.0
    if (key is not None and unkept(key)) or (body is not None and unkept(body)):
        raise _not_kept(f"row {seq} ({kind})")
    return (version, seq, kind, at, decision, n, arm, value, key, body, chain)


def checked(rows: Iterable[tuple[Any, ...]]) -> Rows:
    """Return rows of which every text can be kept."""
    listed = [tuple(row) for row in rows]
    for row in listed:
        if any(isinstance(value, str) and unkept(value) for value in row):
            raise _not_kept(f"a row with {len(row)} columns")
    return listed


def unkept(text: str) -> bool:
    r"""Return whether a text is one that PostgreSQL cannot keep: with NUL, or half of a character.

    >>> [unkept(text) for text in ["naïve 🙂 'quoted'", "a\x00b", "\ud800"]]
    [False, True, True]
    """
    return "\0" in text or not (text.isascii() or HALVES.search(text) is None)


def _not_kept(what: str) -> StoreError:
    return StoreError(
        f"{what} has a text with NUL or half of a surrogate pair; no store keeps those"
    )


def owner_name() -> str:
    """Return what the owner of a store is called in messages."""
    return f"process {os.getpid()} on {socket.gethostname()}"


class Closable(Protocol):
    """A connection."""

    def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=Closable)


class PerThread(Generic[C]):
    """A connection for every thread that wants one, closed when its thread ends."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._here = threading.local()
        self._generation = 0

    def get(self) -> C:
        """Return this thread's connection; it is opened if there is none."""
        if getattr(self._here, "generation", None) != self._generation:
            self._here.held = _Held(self._connect())
            self._here.generation = self._generation
        found: C = self._here.held.connection
        return found

    def renew(self) -> None:
        """Let every thread open a new connection when it next wants one."""
        self._generation += 1
        self._here.held = None


class _Held(Generic[C]):
    """A connection that is closed when nobody holds it any more."""

    def __init__(self, connection: C) -> None:
        self.connection = connection

    def __del__(self) -> None:
        self.connection.close()
