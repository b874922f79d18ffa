"""The store as an SQLite file: no set-up, one machine.

The log is written with `synchronous = FULL`: a commit that has returned outlives a loss of power, as far
as the disk tells the truth about its own cache. One process owns the file, by a lock on a file beside
it. Readers open the file read-only, and there is one connection that writes: "database is locked" cannot
happen, and the fault of SQLite before 3.51.3 with two connections that reset the write-ahead log
cannot either.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from structured_bandits.service import statements as sql
from structured_bandits.service.migrations import statements_from
from structured_bandits.service.sqlite_errors import check_opens, said_by_sqlite, store_errors
from structured_bandits.service.store import SCHEMA, OwnedElsewhereError, StoreError
from structured_bandits.service.tables import (
    PerThread,
    Rows,
    TableStore,
    Work,
    owner_name,
)

WORDS = {"int": "INTEGER", "real": "REAL", "bytes": "BLOB", "tail": " WITHOUT ROWID", "lock": ""}
#: File systems on which locks or the shared memory of the write-ahead log cannot be relied upon.
NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "glusterfs", "lustre", "ceph"}
NETWORKED |= {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs"}


class SqliteStore(TableStore):
    """A store in a file; several threads may read it, one at a time may write."""

    def __init__(self, path: Path, readonly: bool = False) -> None:
        self.path = Path(os.path.abspath(path))
        self.where = str(self.path)
        self._lock: IO[str] | None = None
        self._writer: sqlite3.Connection | None = None
        self._readers = PerThread(self._connect_reader)
        if readonly:
            check_opens(self.path, "rb")
            self._rows("SELECT name FROM sqlite_master")  # says what is wrong with the file itself
            self._check_readable()

    # --- owning and writing

    def claim(self) -> int:
        """Become the owner of the file, which is made if there is none; return the new epoch."""
        _refuse_networks(self.path.parent)
        check_opens(self.path, "ab")
        lock = self.path.with_name(self.path.name + ".lock")
        with store_errors(lock):
            self._lock = _locked(lock)
        try:
            with store_errors(self.path):  # no database, or no room for one
                return self._claimed()
        except BaseException:
            self.close()  # or nobody could try again
            raise

    def _claimed(self) -> int:
        self._open()
        self.epoch = 0  # that of an earlier claim counts no more
        epoch = int(self._meta("epoch") or 0) + 1
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
            self._lock.close()
            self._lock = None
        self._readers.renew()

    def beat(self) -> None:
        """Do nothing: the lock ends with the process."""

    def backup(self, target: Path) -> None:
        """Copy the whole file as it is after the last commit, while it is in use."""
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
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{self.path}: {said_by_sqlite(error)}") from None
        if tables and ("meta",) not in tables:
            raise StoreError(
                f"{self.path}: it was not made by structured-bandits; name another file"
            )
        return not tables

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement in sql.tables(WORDS):
            connection.execute(statement)
        connection.execute(sql.SET_META, ("schema", str(SCHEMA)))
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
        connection.execute(sql.SET_META, ("schema", str(SCHEMA)))
        connection.execute("COMMIT")

    def _write(self, work: Work) -> None:
        connection = self._writer
        if connection is None:
            raise StoreError(f"{self.path}: it is not open for writing")
        try:
            connection.execute("BEGIN IMMEDIATE")
            if self.epoch:
                self._check_epoch(connection)
            for statement, rows in work:
                connection.executemany(statement, rows)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, (sqlite3.Error, OverflowError)):
                raise StoreError(f"{self.path}: it cannot be written: {error}") from error
            raise

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
        except sqlite3.Error as error:
            raise StoreError(f"{self.where}: {said_by_sqlite(error)}") from error
        except OverflowError:  # a number of more than 64 bits, which is in no row
            return []


def _locked(path: Path) -> IO[str]:
    """Lock a file for as long as it is open; say who has it if somebody else does."""
    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.seek(0)
        owner = file.read().strip() or "an unknown process"
        file.close()
        raise OwnedElsewhereError(
            f"{path.with_suffix('')}: it is in use by {owner}; one process owns it"
        ) from None
    file.truncate(0)
    file.write(f"{owner_name()}\n")
    file.flush()
    return file


def _refuse_networks(folder: Path) -> None:
    """Raise if a folder lies on a file system over a network, where locks may not hold."""
    kind = _file_system(folder)
    if kind in NETWORKED:
        raise StoreError(
            f"{folder}: it lies on a network file system ({kind}), on which SQLite's locks do not hold; "
            "choose a local folder, or PostgreSQL"
        )


def _file_system(folder: Path) -> str | None:
    """Return the kind of file system of a folder, None where the machine does not say."""
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return None
    mounts = [line.split() for line in lines]
    inside = [each for each in mounts if folder.is_relative_to(each[1].replace("\\040", " "))]
    return max(inside, key=lambda each: len(each[1]))[2] if inside else None
