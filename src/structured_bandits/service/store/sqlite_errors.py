"""What SQLite and the system say of the file of a store, with what to do about it.

SQLite says "unable to open database file" whatever the reason is, and which file it means it never
says.

What may be wrong with the file itself is found here too: in its header, pages, tables and indexes.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from structured_bandits.base.writing import reason_of
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store.seal import Rows
from structured_bandits.service.store_protocol import StoreError

LEAVE = "SQLite needs leave to make files beside it: ask its owner, or for a backup"
ROOM = "if the disk is full, make room, or name another place"
REMEDIES = {
    sqlite3.SQLITE_PERM: LEAVE,
    sqlite3.SQLITE_READONLY: LEAVE,
    sqlite3.SQLITE_CANTOPEN: LEAVE,
    sqlite3.SQLITE_BUSY: "another program has locked it: end that first",
    sqlite3.SQLITE_FULL: ROOM,
    sqlite3.SQLITE_IOERR: ROOM,
    sqlite3.SQLITE_NOTADB: "it is no store; name one that `serve` has made",
}


def said_by_sqlite(error: BaseException) -> str:
    """Return what SQLite or Python says of a file and, where that is known, what to do."""
    if isinstance(error, MemoryError):  # which says nothing
        return "reading it takes more memory than there is, as where the length of a row is damaged"
    code = (
        getattr(error, "sqlite_errorcode", 0) & 0xFF
    )  # what is above says more than we tell apart
    return f"{error}; {REMEDIES[code]}" if code in REMEDIES else str(error)


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Raise what SQLite or the system refuses as an error of the store that names the file."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"{path}: {said_by_sqlite(error)}") from error
    except OSError as error:
        raise StoreError(f"{path}: {reason_of(error)}") from error


def check_opens(path: Path, mode: str) -> None:
    """Raise, in the words of the system, if a file does not open: "rb", or "ab", which makes it."""
    with store_errors(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise StoreError(f"{path}: it is no ordinary file; name one that `serve` has made")
        with path.open(mode):
            pass


WORDS = {"int": "INTEGER", "real": "REAL", "bytes": "BLOB", "tail": " WITHOUT ROWID", "lock": ""}
MADE = "SELECT type, name, tbl_name, sql FROM sqlite_master"
INDEX = re.compile(r"\s*CREATE (?:UNIQUE )?INDEX (\w+) ")


def faults_of(read: Callable[[str], Rows]) -> list[str]:
    """Return what is wrong with pages, tables and indexes, in sentences; `read` executes a query.

    The check of SQLite reads every page and compares each index with its table.
    """
    found = [
        f"the check of SQLite says: {row[0]}"
        for row in read("PRAGMA integrity_check")
        if row != ("ok",)
    ]
    wanted, here = _made(), set(read(MADE))
    found += [f"the {kind} {name} is missing or was changed" for kind, name, *_ in wanted - here]
    found += [f"the {kind} {name} does not belong to it" for kind, name, *_ in here - wanted]
    return found


def faults_of_header(path: Path) -> list[str]:
    """Return what is wrong with the first bytes of a file, of which SQLite says nothing to readers.

    To be called before this process opens the file with SQLite: closing it takes SQLite's locks away.
    """
    with path.open("rb") as file:
        header = file.read(20)
    if len(header) == 20 and (header[18] != header[19] or header[18] not in (1, 2)):
        return [f"the header says format {header[18]} for writing and {header[19]} for reading"]
    return []


def build_indexes(connection: sqlite3.Connection) -> None:
    """Make all indexes anew from the rows of the tables, those that are missing included."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in sql.tables(WORDS):
            if index := INDEX.match(statement):
                connection.execute(f"DROP INDEX IF EXISTS {index[1]}")
                connection.execute(statement)
        connection.execute("REINDEX")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _made() -> set[tuple[str, ...]]:
    """Return the tables and indexes of a store that was just made."""
    memory = sqlite3.connect(":memory:")
    for statement in sql.tables(WORDS):
        memory.execute(statement)
    found = set(memory.execute(MADE).fetchall())
    memory.close()
    return found
