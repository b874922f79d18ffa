"""The store in PostgreSQL: for a database that others look after, and a second machine that stands by.

One process owns the store. It holds an advisory lock on the connection that writes: no connection, no
write. A process that finds the lock taken stands by. One that hangs keeps its connection, and with it
the lock: when its last sign of life, by the database's clock, is too old, a process that stands by ends
that connection and raises the epoch. Every transaction first locks the row of the epoch, and goes on
only if it is still its own; this holds even where a pool between us and the server hands the connection
with the lock to somebody else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from structured_bandits.base.extras import needs
from structured_bandits.service.store import postgres_connections as pg
from structured_bandits.service.store import seal
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store.postgres_connections import Connection, DatabaseAddress, own
from structured_bandits.service.store.tables import (
    PerThread,
    Rows,
    TableStore,
    Work,
    owner_name,
    statements_from,
)
from structured_bandits.service.store_protocol import SCHEMA, OwnedElsewhereError, StoreError

with needs("A store in PostgreSQL", extra="postgres"):
    import psycopg

PATIENCE = 15.0  # seconds without a sign of life after which an owner may be replaced


class PostgresStore(TableStore):
    """A store in a schema of a database; several threads may read it, and write one after another.

    `address` is what libpq understands: postgresql://user:password@host:port/database, or host=… and so
    on. The password may as well be in PGPASSWORD or in the file ~/.pgpass. `patience` is for how many
    seconds an owner may be silent before one who stands by takes over.
    """

    def __init__(self, address: str, readonly: bool = False, patience: float = PATIENCE) -> None:
        self._address = DatabaseAddress(address)
        self.where = self._address.where
        self.patience = patience
        self._writer: Connection | None = None
        self._pid = 0  # of the server's process behind it
        self._writing = threading.Lock()
        self._readers = PerThread(self._address.reader)
        if readonly:
            self._check_readable()

    # --- owning

    def claim(self) -> int:
        """Become the owner, also in place of one who is silent; return the new epoch."""
        self.close()
        connection = self._address.writer()
        try:
            if not _lock(connection):
                self._end_silent_owner(connection)
            self._create_or_migrate(connection)
            read = _reading(connection)
            before = seal.sum_of(read)
            epoch = int(_first(connection, pg.RAISE_EPOCH))
            _move_seal(connection, before, seal.sum_of(read))
            connection.execute(pg.FIRST_BEAT)
            connection.execute(own(sql.SET_META), ("owner", owner_name()))
            connection.commit()
        except BaseException as error:
            connection.close()
            self._address.explain(error)
        self._writer, self._pid, self.epoch = connection, connection.info.backend_pid, epoch
        return epoch

    def wait(self, timeout: float, every: float = 1.0) -> int:
        """Stand by until the store is ours, for at most `timeout` seconds; return the new epoch.

        Raises OwnedElsewhereError when the time is up. A server that is away meanwhile is waited for.
        """
        deadline = time.monotonic() + timeout
        try:
            return self.claim()
        except OwnedElsewhereError as error:
            problem: StoreError = error
        while time.monotonic() + every <= deadline:
            time.sleep(every)
            try:
                return self.claim()
            except StoreError as error:
                problem = error
        raise problem

    def beat(self) -> None:
        """Say that the owner is alive; call it several times within `patience`."""
        with self._writing:
            connection = self._ours()
            try:
                if connection.execute(pg.BEAT, (str(self.epoch),)).rowcount != 1:
                    raise self._taken_over()
                connection.commit()
            except BaseException as error:
                self._undo(connection, error)

    def reopen(self) -> None:
        """Drop all connections and open new ones. After this, nothing sent before can still arrive."""
        with self._writing:
            self._disconnect()
            connection = self._address.writer()
            try:
                if not _lock(connection):
                    # It may be our old connection's: the server may not know yet that we left.
                    connection.execute(pg.END, (self._pid,))
                    if not _lock(connection):
                        raise self._taken_over()
                self._check_epoch(connection)
                connection.execute(pg.FIRST_BEAT)
                connection.commit()
            except BaseException as error:
                connection.close()
                self._address.explain(error)
            self._writer, self._pid = connection, connection.info.backend_pid

    def close(self) -> None:
        """Close all connections, and with them give the lock up."""
        with self._writing:
            if self._writer is not None:
                with suppress(
                    psycopg.Error
                ):  # the lock ends with the connection, but a little later
                    self._writer.rollback()
                    self._writer.execute("SELECT pg_advisory_unlock_all()")
            self._disconnect()

    def _disconnect(self) -> None:
        self._readers.renew()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _end_silent_owner(self, connection: Connection) -> None:
        """Take the lock from an owner who has been silent for too long; raise if none has."""
        owner, silence = "an unknown process", None
        if _first(connection, "SELECT to_regclass('meta')") is not None:
            owner = _first(connection, own(sql.GET_META), "owner") or owner
            silence = _first(connection, pg.SILENCE)
            connection.execute(pg.END_SILENT, (self.patience, self.patience))
        if not _lock(connection):
            heard = "" if silence is None else f", last heard of {max(silence, 0.0):.1f} s ago"
            raise OwnedElsewhereError(
                f"{self.where}: it is in use by {owner}{heard}; one process owns it"
            )

    def _create_or_migrate(self, connection: Connection) -> None:
        if _first(connection, "SELECT to_regclass('meta')") is None:
            steps = sql.tables(pg.WORDS)
        else:
            found = _first(connection, own(sql.GET_META), "schema")
            steps = [own(step) for step in statements_from(self.where, found)]
        for step in steps:
            connection.execute(step)
        if steps:
            connection.execute(own(sql.SET_META), ("schema", str(SCHEMA)))
            sealed = seal.text_of(seal.sum_of(_reading(connection)))
            connection.execute(own(sql.SET_META), ("seal", sealed))

    # --- writing

    def _write(self, work: Work) -> None:
        """Send all but the events at once, then the events by COPY, the faster way for many."""
        with self._writing:
            connection = self._ours()
            sealing, read = seal.is_sealing(work), _reading(connection)
            try:
                before = seal.sum_of(read) if sealing else 0
                with connection.pipeline():
                    check = connection.execute(own(sql.CHECK_EPOCH), (str(self.epoch),))
                    with connection.cursor() as cursor:
                        for statement, rows in work:
                            if statement != sql.EVENT:
                                cursor.executemany(own(statement), rows)
                if check.rowcount != 1:
                    raise self._taken_over()
                self._copy(connection, dict(work).get(sql.EVENT, []))
                if sealing:
                    _move_seal(connection, before, seal.sum_of(read))
                connection.commit()
            except BaseException as error:
                self._undo(connection, error)

    def _copy(self, connection: Connection, rows: Rows) -> None:
        if rows:
            with connection.cursor() as cursor, cursor.copy(pg.COPY) as copy:
                for row in rows:
                    copy.write_row(row)

    def _check_epoch(self, connection: Connection) -> None:
        if _first(connection, own(sql.CHECK_EPOCH), str(self.epoch)) is None:
            raise self._taken_over()

    def _ours(self) -> Connection:
        if self._writer is None:
            raise StoreError(f"{self.where}: it is not open for writing")
        return self._writer

    def _taken_over(self) -> OwnedElsewhereError:
        return OwnedElsewhereError(f"{self.where}: another process has taken over")

    def _undo(self, connection: Connection, error: BaseException) -> NoReturn:
        """Roll back and say why. One who was replaced has lost the connection: the epoch says so."""
        with suppress(psycopg.Error):
            connection.rollback()
        if connection.broken and self._replaced():
            raise self._taken_over() from error
        self._address.explain(error)

    def _replaced(self) -> bool:
        try:
            return self._meta("epoch") != str(self.epoch)
        except StoreError:  # nobody knows: the server is away
            return False

    # --- reading

    def _own_faults(self) -> list[str]:
        """Return which indexes are missing; pages and their checksums are the server's."""
        here = {str(row[0]) for row in self._rows(pg.INDEXES)}
        return [
            f"the index {name} is missing or cannot be used"
            for name in pg.NAMES
            if name not in here
        ]

    def _rows(self, statement: str, *values: Any) -> Rows:
        """Read; once more on a new connection if the old one was lost meanwhile."""
        connection = self._readers.get()
        try:
            return _read(connection, statement, values)
        except psycopg.Error as error:
            if not connection.broken:
                self._address.explain(error)
        self._readers.renew()
        try:
            return _read(self._readers.get(), statement, values)
        except psycopg.Error as error:
            self._address.explain(error)


def _read(connection: Connection, statement: str, values: tuple[Any, ...]) -> Rows:
    """Return the rows of a query; in binary: numbers are exact whatever the settings."""
    with connection.cursor(binary=True) as cursor:
        return cursor.execute(own(statement), values).fetchall()


def _reading(connection: Connection) -> Callable[[str], Rows]:
    """Return what reads the rows of a query on a connection, inside of its transaction."""
    return lambda query: _read(connection, query, ())


def _move_seal(connection: Connection, before: int, after: int) -> None:
    """Let the seal go with sealed rows that were changed."""
    sealed = seal.moved(_first(connection, own(sql.GET_META), "seal"), before, after)
    if sealed is not None:
        connection.execute(own(sql.SET_META), ("seal", sealed))


def _first(connection: Connection, statement: str, *values: Any) -> Any:
    """Return the first value of the first row, None if there is no row."""
    row = connection.execute(statement, values).fetchone()
    return None if row is None else row[0]


def _lock(connection: Connection) -> bool:
    """Take the lock of the store if it is free; say whether we have it."""
    return bool(_first(connection, pg.LOCK))
