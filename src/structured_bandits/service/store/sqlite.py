"""The store as an SQLite file: no set-up, one machine.

The log is written with `synchronous = FULL`: a commit that has returned outlives a loss of power, as
far as the disk tells the truth about its own cache. One process owns the file (`file_lock.py`). Readers
open the file read-only, and there is one connection that writes: "database is locked" cannot happen,
and the fault of SQLite before 3.51.3 with two connections that reset the write-ahead log cannot either.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from structured_bandits.service.store import seal
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store.file_lock import FileLock, check_one_name
from structured_bandits.service.store.sqlite_errors import (
    WORDS,
    build_indexes,
    check_opens,
    faults_of,
    faults_of_header,
    said_by_sqlite,
    store_errors,
)
from structured_bandits.service.store.tables import (
    PerThread,
    Rows,
    TableStore,
    Work,
    statements_from,
)
from structured_bandits.service.store_protocol import (
    SCHEMA,
    ContradictionError,
    DamagedError,
    OwnedElsewhereError,
    StoreError,
)

#: What reading raises; the words of SQLite may quote damaged text that is no UTF-8, and a damaged length
#: of a row may ask for more memory than there is.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError, MemoryError)
#: What SQLite says of the machine and not of the file: all other errors of reading are damage.
OF_THE_MACHINE = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_AUTH,
}


class SqliteStore(TableStore):
    """A store in a file; several threads may read it, one at a time may write."""

    def __init__(self, path: Path, readonly: bool = False) -> None:
        self.path = Path(os.path.realpath(path))  # the write-ahead log lies beside the file itself
        self.where = str(self.path)
        self._lock: FileLock | None = None
        self._of_header: list[str] = []
        self._writer: sqlite3.Connection | None = None
        self._readers = PerThread(self._connect_reader)
        if readonly:
            check_opens(self.path, "rb")
            check_one_name(self.path)
            self._of_header = faults_of_header(self.path)
            self._rows("SELECT name FROM sqlite_master")  # says what is wrong with the file itself
            self._check_readable()

    # --- owning and writing

    def claim(self) -> int:
        """Become the owner of the file, which is made if there is none; return the new epoch."""
        check_opens(self.path, "ab")
        with store_errors(self.path):  # no leave for its lock
            self._lock = FileLock(self.path)
        try:
            with store_errors(self.path):  # no database, or no room for one
                return self._claimed()
        except (UnicodeDecodeError, MemoryError) as error:
            self.close()
            raise self._explained(error) from error
        except BaseException:
            self.close()  # or nobody could try again
            raise

    def _claimed(self) -> int:
        self._open()
        self.epoch = 0  # that of an earlier claim counts no more
        found = self._meta("epoch") or "0"
        if not found.isdecimal():
            raise DamagedError(f"{self.path}: its epoch is {found!r}; expected a whole number")
        epoch = int(found) + 1
        self._write([(sql.SET_META, [("epoch", str(epoch))])])
        self.epoch = epoch
        return epoch

    def reopen(self) -> None:
        """Open the file anew: what a failed commit has left is what the file says."""
        self._readers.renew()
        if self._writer is not None:
            self._writer.close()
        self._check_epoch(self._open())

    def close(self) -> None:
        """Close the file and give up the lock."""
        if self._writer is not None:
            # SQLite would leave all to the last connection, and those that read cannot do it. Then
            # somebody who copies the file without the log beside it would have next to nothing.
            with suppress(sqlite3.Error):  # on a broken disk the log stays as it is
                self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._writer.close()
            self._writer = None
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        self._readers.renew()

    def beat(self) -> None:
        """Do nothing: the lock ends with the process."""

    def backup(self, target: Path) -> None:
        """Copy the whole file as it is after the last commit, while it is in use."""
        tables = self._rows("SELECT name FROM sqlite_master")
        self._check_ours(tables)
        if not tables:
            raise StoreError(f"{self.path}: it is empty; name a store, or a backup of one")
        check_opens(target, "ab")
        copy = sqlite3.connect(target)
        try:
            with store_errors(target):
                self._readers.get().backup(copy)
                # A file that can be read anywhere; a write-ahead log needs a folder to write to.
                copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
        self._writer = connection
        fresh = self._is_fresh(connection)
        found = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if found != "wal":
            raise StoreError(f"{self.path}: SQLite cannot use its write-ahead log here ({found})")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        if fresh:
            self._create(connection)
        self._migrate(connection)
        return connection

    def _is_fresh(self, connection: sqlite3.Connection) -> bool:
        """Is there nothing in the file? Raises, before anything is changed, if it is not ours."""
        try:
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        except UNREADABLE as error:
            raise self._explained(error) from None
        self._check_ours(tables)
        return not tables

    def _check_ours(self, tables: Rows) -> None:
        if tables and ("meta",) not in tables:
            raise StoreError(
                f"{self.path}: it was not made by structured-bandits; name another file"
            )

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement in sql.tables(WORDS):
            connection.execute(statement)
        self._end_making(connection)

    def _end_making(self, connection: sqlite3.Connection) -> None:
        """Write the schema of this library and the seal, with which tables are complete."""
        connection.execute(sql.SET_META, ("schema", str(SCHEMA)))
        connection.execute(sql.SET_META, ("seal", seal.text_of(seal.sum_of(_reading(connection)))))
        connection.execute("COMMIT")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the file to the schema of this library; a copy of it as it was stays beside it."""
        found = self._meta("schema")
        steps = statements_from(self.where, found)
        if not steps:
            return
        copy = self.path.with_name(f"{self.path.name}.schema-{found}")
        if not copy.exists():
            self.backup(copy)
        connection.execute("BEGIN IMMEDIATE")
        for step in steps:
            connection.execute(step.format(**WORDS))
        self._end_making(connection)

    def _write(self, work: Work) -> None:
        connection = self._writer
        if connection is None:
            raise StoreError(f"{self.path}: it is not open for writing")
        try:
            connection.execute("BEGIN IMMEDIATE")
            if self.epoch:
                self._check_epoch(connection)
            self._write_sealed(connection, work)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, sqlite3.IntegrityError):
                raise ContradictionError(f"{self.path}: {error}") from error
            if isinstance(error, (sqlite3.Error, OverflowError, MemoryError)):
                said = said_by_sqlite(error)
                raise StoreError(f"{self.path}: it cannot be written: {said}") from error
            raise

    def _write_sealed(self, connection: sqlite3.Connection, work: Work) -> None:
        """Execute statements; if they change sealed rows, the seal goes with them."""
        sealing, read = seal.is_sealing(work), _reading(connection)
        before = seal.sum_of(read) if sealing else 0
        for statement, rows in work:
            connection.executemany(statement, rows)
        if sealing:
            found = connection.execute(sql.GET_META, ("seal",)).fetchone()
            sealed = seal.moved(found and found[0], before, seal.sum_of(read))
            if sealed is not None:
                connection.execute(sql.SET_META, ("seal", sealed))

    def _check_epoch(self, connection: sqlite3.Connection) -> None:
        check = sql.CHECK_EPOCH.format(**WORDS)
        if connection.execute(check, (str(self.epoch),)).fetchone() is None:
            raise OwnedElsewhereError(f"{self.path}: another process has taken over")

    # --- reading

    def _connect_reader(self) -> sqlite3.Connection:
        uri = f"{self.path.as_uri()}?mode=ro"  # not check_same_thread: another may close it
        return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)

    def _rows(self, statement: str, *values: Any) -> Rows:
        try:
            return self._readers.get().execute(statement, values).fetchall()
        except UNREADABLE as error:
            raise self._explained(error) from error
        except OverflowError:  # a number of more than 64 bits, which is in no row
            return []

    def _explained(self, error: Exception) -> StoreError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
        kind = StoreError if code & 0xFF in OF_THE_MACHINE else DamagedError
        return kind(f"{self.where}: {said_by_sqlite(error)}")

    def _own_faults(self) -> list[str]:
        return [*self._of_header, *faults_of(self._rows)]

    def rebuild_indexes(self) -> None:
        """Make all indexes anew from the rows of the tables; the store must be owned."""
        if self._writer is None:
            raise StoreError(f"{self.path}: it is not open for writing")
        try:
            build_indexes(self._writer)
        except UNREADABLE as error:
            said = said_by_sqlite(error)
            raise DamagedError(f"{self.path}: its indexes cannot be made anew: {said}") from error


def _reading(connection: sqlite3.Connection) -> Callable[[str], Rows]:
    """Return what reads the rows of a query on the connection that writes."""
    return lambda query: connection.execute(query).fetchall()
