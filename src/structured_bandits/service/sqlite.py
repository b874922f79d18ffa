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
import socket
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from structured_bandits.service import statements as sql
from structured_bandits.service.events import Event
from structured_bandits.service.migrations import statements_from
from structured_bandits.service.store import (
    PAGE,
    SCHEMA,
    Changes,
    ExperimentRow,
    OwnedElsewhereError,
    Saved,
    StoreError,
    TokenRow,
    VersionRow,
    rows_of,
    thinned,
)

WORDS = {"int": "INTEGER", "real": "REAL", "bytes": "BLOB", "tail": " WITHOUT ROWID"}
#: File systems on which locks or the shared memory of the write-ahead log cannot be relied upon.
NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "glusterfs", "lustre", "ceph"}
NETWORKED |= {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs"}


class SqliteStore:
    """A store in a file; several threads may read it, one at a time may write."""

    def __init__(self, path: Path, readonly: bool = False) -> None:
        self.path = Path(os.path.abspath(path))
        self.where = str(self.path)
        self.epoch = 0
        self._lock: IO[str] | None = None
        self._writer: sqlite3.Connection | None = None
        self._readers = threading.local()
        self._generation = 0  # of the readers: after `reopen` every thread opens its own anew
        if readonly:
            self._check_readable()

    def _check_readable(self) -> None:
        """Raise if the file cannot be read as a store of this library."""
        if not self.path.is_file():
            raise StoreError(f"there is no file {self.path}")
        try:
            found = self._meta("schema")
        except sqlite3.DatabaseError:
            found = None
        if statements_from(self.where, found):
            raise StoreError(
                f"{self.path}: an older version has written it; `serve` brings it up to date"
            )

    # --- owning and writing

    def claim(self) -> int:
        """Become the owner of the file, which is made if there is none; return the new epoch."""
        _refuse_networks(self.path.parent)
        self._lock = _locked(self.path.with_name(self.path.name + ".lock"))
        try:
            return self._claimed()
        except BaseException:
            self.close()  # or nobody could try again
            raise

    def _claimed(self) -> int:
        self._open()
        epoch = int(self._meta("epoch") or 0) + 1
        self._write([(sql.SET_META, [("epoch", str(epoch))])])
        self.epoch = epoch
        return epoch

    def commit(self, changes: Changes) -> None:
        """Write everything or nothing, and wait until the disk has it."""
        work: list[tuple[str, Iterable[Any]]] = [
            (sql.STRUCTURE, changes.structures),
            (sql.EXPERIMENT, changes.experiments),
            (sql.VERSION, changes.versions),
            (sql.EVENT, [(version, *event) for version, event in changes.events]),
            (sql.HEAD, [(*head, version) for version, head in changes.heads().items()]),
            (sql.CLOSED, changes.closed),
            (sql.DROP_EVENTS, changes.archived()),
            (sql.DROP_SNAPSHOTS, changes.archived()),
            (sql.SNAPSHOT, changes.snapshots),
            (sql.TOKEN, changes.tokens),
        ]
        self._write(work, {saved.version for saved in changes.snapshots})

    def reopen(self) -> None:
        """Open the file anew: what a failed commit has left is what the file says."""
        self._generation += 1
        if self._writer is not None:
            self._writer.close()
        self._open()

    def close(self) -> None:
        """Close the file and give up the lock."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self._generation += 1

    def beat(self) -> None:
        """Do nothing: the lock ends with the process."""

    def backup(self, target: Path) -> None:
        """Copy the whole file as it is after the last commit, while it is in use."""
        copy = sqlite3.connect(target)
        try:
            self._reader().backup(copy)
        finally:
            copy.close()

    def _open(self) -> None:
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

    def _is_fresh(self, connection: sqlite3.Connection) -> bool:
        """Is there nothing in the file? Raises, before anything is changed, if it is not ours."""
        try:
            tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path}: it cannot be read as an SQLite file ({error})"
            ) from None
        if tables and ("meta",) not in tables:
            raise StoreError(f"{self.path}: it was not made by structured-bandits")
        return not tables

    def _create(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for statement in sql.SCHEMA.format(**WORDS).split(";"):
            if statement.strip():
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
            connection.execute(step)
        connection.execute(sql.SET_META, ("schema", str(SCHEMA)))
        connection.execute("COMMIT")

    def _write(
        self, work: list[tuple[str, Iterable[Any]]], snapshots_of: Iterable[int] = ()
    ) -> None:
        connection = self._writer
        if connection is None:
            raise StoreError(f"{self.path}: it is not open for writing")
        connection.execute("BEGIN IMMEDIATE")
        try:
            if self.epoch:
                self._check_epoch(connection)
            for statement, rows in work:
                connection.executemany(statement, rows)
            for version in snapshots_of:
                known = connection.execute(sql.SNAPSHOT_NUMBERS, (version,)).fetchall()
                drop = [(version, seq) for seq in thinned([(seq, bool(a)) for seq, a in known])]
                connection.executemany(sql.DROP_SNAPSHOT, drop)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _check_epoch(self, connection: sqlite3.Connection) -> None:
        if connection.execute(sql.CHECK_EPOCH, (str(self.epoch),)).rowcount != 1:
            raise OwnedElsewhereError(f"{self.path}: another process has taken over")

    # --- reading

    def _reader(self) -> sqlite3.Connection:
        """Return this thread's connection for reading."""
        if getattr(self._readers, "generation", None) != self._generation:
            uri = f"{self.path.as_uri()}?mode=ro"
            connection = sqlite3.connect(uri, uri=True, isolation_level=None)
            self._readers.connection = connection
            self._readers.generation = self._generation
        found: sqlite3.Connection = self._readers.connection
        return found

    def _meta(self, key: str) -> str | None:
        row = self._reader().execute(sql.GET_META, (key,)).fetchone()
        return None if row is None else str(row[0])

    def _one(self, statement: str, *values: Any) -> Event | None:
        row = self._reader().execute(statement, values).fetchone()
        return None if row is None else Event(*row)

    def experiments(self) -> list[ExperimentRow]:
        """Return all experiments."""
        return rows_of(self._reader().execute(sql.EXPERIMENTS), ExperimentRow)

    def versions(self) -> list[VersionRow]:
        """Return all versions, in the order in which they were made."""
        return rows_of(self._reader().execute(sql.VERSIONS), VersionRow)

    def structure(self, fingerprint: str) -> str:
        """Return the description of a structure as JSON."""
        row = self._reader().execute(sql.BODY, (fingerprint,)).fetchone()
        if row is None:
            raise StoreError(f"{self.where}: the structure {fingerprint} is missing")
        return str(row[0])

    def events(self, version: int, after: int = 0, limit: int = PAGE) -> list[Event]:
        """Return rows in order, those with higher numbers than `after`."""
        return rows_of(self._reader().execute(sql.EVENTS, (version, after, limit)), Event)

    def outcome(self, version: int, decision: int) -> Event | None:
        """Return what became of a decision."""
        return self._one(sql.OUTCOME, version, decision)

    def late(self, version: int, decision: int) -> Event | None:
        """Return the row with which the reward of a cancelled decision came late."""
        return self._one(sql.LATE, version, decision)

    def by_key(self, version: int, key: str) -> Event | None:
        """Return the row with a key."""
        return self._one(sql.BY_KEY, version, key)

    def last_start(self, version: int, seq: int) -> Event | None:
        """Return the last `start` up to row `seq`."""
        return self._one(sql.LAST_START, version, seq)

    def snapshots(self, version: int) -> list[Saved]:
        """Return the snapshots of a version, the newest first."""
        return rows_of(self._reader().execute(sql.SNAPSHOTS, (version,)), Saved)

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""
        return rows_of(self._reader().execute(sql.TOKENS), TokenRow)


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
    file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
    file.flush()
    return file


def _refuse_networks(folder: Path) -> None:
    """Raise if a folder lies on a file system over a network, where locks may not hold."""
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such folder")
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
