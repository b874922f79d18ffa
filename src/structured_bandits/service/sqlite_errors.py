"""What SQLite and the system say of the file of a store, with what to do about it.

SQLite says "unable to open database file" whatever the reason is, and which file it means it never says.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structured_bandits.base.writing import reason_of
from structured_bandits.service.store import StoreError

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


def said_by_sqlite(error: sqlite3.Error) -> str:
    """Return what SQLite says and, where that is known, what to do."""
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
