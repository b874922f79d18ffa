"""What may be wrong with the file of an SQLite store: its header, pages, tables and indexes."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

from structured_bandits.service.store import statements as sql
from structured_bandits.service.store.seal import Rows

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
