"""Attacks on what a store holds: bits, pages and rows are changed, and nothing of it may pass.

After each change either `verify` ends with 1 and says why, or the service answers everything as it does
from the undamaged store.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import psycopg
from click.testing import CliRunner
from support.busy_store import Said, Told, answers, build
from support.owned import Shop
from support.postgres_server import Server

from structured_bandits.cli.commands import main
from structured_bandits.service.store.postgres import PostgresStore
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import Store

FOUND, HARMLESS = "found", "harmless"
PAGE = 1024  # bytes; the store is small
INDEX_PAGES = (
    2,
    10,
)  # kinds of pages of SQLite: of indexes, and of the log, which is stored as one
HEADER = 12  # bytes, at most

#: The tables with their columns; those that make a row another one come first, then what else is unique.
TABLES = {
    "meta": (("key",), (), ("value",)),
    "structure": (("digest",), (), ("body",)),
    "experiment": (("id",), ("name",), ("current",)),
    "version": (
        ("id",),
        ("number", "uid"),
        ("experiment", "spec", "structure", "made_at", "head", "chain", "closed"),
    ),
    "event": (
        ("version", "seq"),
        ("decision", "key"),
        ("kind", "at", "n", "arm", "value", "body", "chain"),
    ),
    "snapshot": (("version", "seq"), (), ("digest", "state", "anchor")),
    "token": (
        ("id",),
        (),
        ("name", "hash", "role", "experiments", "made_at", "revoked_at"),
    ),
}


class Statement(NamedTuple):
    """A change of rows; placeholders are `?`."""

    text: str
    values: tuple[Any, ...]


def judged(store: str, make: Callable[[], Store], told: Told, expected: Said) -> str:
    """Verify a damaged store and use it; return FOUND, HARMLESS, or what is wrong."""
    result = CliRunner().invoke(main, ["verify", "--store", store])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        return f"verify ended with {result.exception!r}"
    if result.exit_code == 1 and result.output.strip():
        return FOUND
    if result.exit_code != 0:
        return f"verify ended with {result.exit_code}: {result.output}"
    try:
        said = answers(make, told)
    except Exception as error:
        return f"verify said 0, and the service ended with {error!r}"
    for right, found in zip(expected, said, strict=True):
        if right != found:
            return f"verify said 0, and an answer is another: {right} became {found}"
    return HARMLESS


class FileVictim:
    """A store in a file of small pages, of which damaged copies are made."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "damaged" / "bandits.db"
        (folder / "whole").mkdir()
        shop = Shop(folder / "whole")
        self.told = build(shop, folder / "archive")
        with closing(sqlite3.connect(shop.path, isolation_level=None)) as store:
            store.execute("PRAGMA journal_mode = DELETE")
            store.execute(f"PRAGMA page_size = {PAGE}")
            store.execute("VACUUM")
            store.execute("PRAGMA journal_mode = WAL")
        self.whole = shop.path.read_bytes()
        self._write(self.whole)
        self.expected = answers(self._store, self.told)

    def _store(self) -> Store:
        return SqliteStore(self.path)

    def _write(self, content: bytes) -> None:
        shutil.rmtree(self.path.parent, ignore_errors=True)
        self.path.parent.mkdir()
        self.path.write_bytes(content)

    def try_bytes(self, content: bytes) -> str:
        """Return what comes of these bytes instead of the store's."""
        self._write(content)
        return judged(str(self.path), self._store, self.told, self.expected)

    def try_statement(self, statement: Statement) -> str:
        """Return what comes of a change of rows."""
        self._write(self.whole)
        with closing(sqlite3.connect(self.path, isolation_level=None)) as store:
            try:
                assert store.execute(statement.text, statement.values).rowcount, statement
            except sqlite3.IntegrityError:  # the database does not let it be
                return HARMLESS
        return judged(str(self.path), self._store, self.told, self.expected)

    def try_script(self, script: str) -> str:
        """Return what comes of other changes, such as of indexes."""
        self._write(self.whole)
        with closing(sqlite3.connect(self.path)) as store:
            store.executescript(script)
        return judged(str(self.path), self._store, self.told, self.expected)

    def restored(self) -> int:
        """Restore what was tried last beside it; return the exit code, 1 if `verify` says so then."""
        target = self.path.parent / "restored" / "bandits.db"
        target.parent.mkdir()
        restore = CliRunner().invoke(main, ["restore", str(self.path), "--store", str(target)])
        if restore.exit_code:
            return restore.exit_code
        return CliRunner().invoke(main, ["verify", "--store", str(target)]).exit_code

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table."""
        self._write(self.whole)
        with closing(sqlite3.connect(self.path)) as store:
            return store.execute(f"SELECT {', '.join(columns_of(table))} FROM {table}").fetchall()


class SchemaVictim:
    """A store in PostgreSQL, whose rows are put back after each change."""

    def __init__(self, folder: Path, server: Server) -> None:
        self.address = server.schema()
        shop = Shop(folder, make=self._store)
        self.told = build(shop, folder / "archive")
        with psycopg.connect(self.address) as connection:
            self.content = {
                table: connection.cursor(binary=True)
                .execute(f"SELECT {', '.join(columns_of(table))} FROM {table}")
                .fetchall()
                for table in TABLES
            }
        self.expected = answers(self._store, self.told)

    def _store(self) -> Store:
        return PostgresStore(self.address)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of a table."""
        return self.content[table]

    def try_statement(self, statement: Statement) -> str:
        """Return what comes of a change of rows."""
        with psycopg.connect(self.address) as connection, connection.cursor() as cursor:
            for table, rows in self.content.items():
                columns = columns_of(table)
                marks = ", ".join(["%s"] * len(columns))
                cursor.execute(f"DELETE FROM {table}")
                cursor.executemany(
                    f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})", rows
                )
            connection.commit()
            try:
                cursor.execute(statement.text.replace("?", "%s"), statement.values)
            except psycopg.IntegrityError:
                return HARMLESS
            assert cursor.rowcount, statement
        return judged(self.address, self._store, self.told, self.expected)


def columns_of(table: str) -> list[str]:
    """Return the columns of a table, in our order."""
    return [column for group in TABLES[table] for column in group]


# --- bits and pages


def flipped(content: bytes, bit: int) -> bytes:
    """Return bytes in which one bit is another."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def one_bit_of_every_byte(content: bytes, random: Random) -> list[int]:
    """Return a bit of each byte."""
    return [8 * byte + random.randrange(8) for byte in range(len(content))]


def bits_of_structure(content: bytes) -> list[int]:
    """Return all bits of the header of the file, of the headers of pages, and of index pages."""
    bytes_: set[int] = set(range(100))
    for start in range(0, len(content), PAGE):
        begin = start or 100
        whole = content[begin] in INDEX_PAGES
        bytes_ |= set(range(begin, start + PAGE if whole else begin + HEADER))
    return [8 * byte + bit for byte in sorted(bytes_) for bit in range(8)]


def page(content: bytes, number: int) -> bytes:
    """Return a page, counted from 0."""
    return content[number * PAGE : (number + 1) * PAGE]


def with_pages(content: bytes, pages: dict[int, bytes]) -> bytes:
    """Return bytes in which pages are others."""
    count = len(content) // PAGE
    return b"".join(pages.get(number, page(content, number)) for number in range(count))


def damaged_pages(content: bytes) -> list[bytes]:
    """Return the store with each page zeroed, with each two swapped, and cut off after each page."""
    count = len(content) // PAGE
    found = [with_pages(content, {number: bytes(PAGE)}) for number in range(count)]
    found += [content[: number * PAGE] for number in range(count)]
    found += [
        with_pages(content, {a: page(content, b), b: page(content, a)})
        for a, b in combinations(range(count), 2)
    ]
    return [each for each in found if each != content]


def with_endless_rows(content: bytes) -> list[bytes]:
    """Return the store with the length of each row and of each entry of an index far beyond the file."""
    found = []
    for start in range(0, len(content), PAGE):
        header = start or 100
        if content[header] not in (2, 5, 10, 13):  # the rest of a long row
            continue
        cells = header + (8 if content[header] in (10, 13) else 12)
        for place in range(cells, cells + 2 * int.from_bytes(content[header + 3 : header + 5]), 2):
            at = start + int.from_bytes(content[place : place + 2])
            at += 4 * (content[header] in (2, 5))  # the number of the page below comes first
            found.append(content[:at] + b"\xff" * 8 + content[at + 8 :])
    return found


# --- rows


def other(value: Any) -> Any:
    """Return another value of the same type; 1 for what is null."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if isinstance(value, str):
        return value[:-1] + chr(ord(value[-1]) ^ 1) if value else "a"
    return 1 if value is None else value + 1


def changes_of_rows(victim: FileVictim | SchemaVictim) -> Iterator[Statement]:
    """Yield what deletes each row of each table, changes each cell, and doubles each row."""
    for table, (keys, unique, _) in TABLES.items():
        columns = columns_of(table)
        where = " AND ".join(f"{key} = ?" for key in keys)
        marks = ", ".join("?" * len(columns))
        for row in victim.rows(table):
            at = row[: len(keys)]
            yield Statement(f"DELETE FROM {table} WHERE {where}", at)
            for column, value in zip(columns, row, strict=True):
                changed = "a" if value is None and column in ("key", "body") else other(value)
                if column not in keys[:-1] + ("key",) * (table == "meta"):
                    text = f"UPDATE {table} SET {column} = ? WHERE {where}"
                    yield Statement(text, (_far(changed) if column in keys else changed, *at))
            fixed = len(keys) + len(unique)
            anew = [_far(other(value)) if value is not None else None for value in row[:fixed]]
            anew[: len(keys) - 1] = row[: len(keys) - 1]
            yield Statement(
                f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks})", (*anew, *row[fixed:])
            )


def _far(value: Any) -> Any:
    """Return a key that no other row has."""
    return (
        value + 1000 if isinstance(value, int) else f"{value}~" if isinstance(value, str) else value
    )


def tried(attempts: Iterable[tuple[str, Callable[[], str]]], going_on: Callable[[], bool]) -> Tally:
    """Try damages as long as there is time."""
    tally = Tally(Counter(), [])
    for name, attempt in attempts:
        if not going_on():
            break
        found = attempt()
        tally.counts[found if found in (FOUND, HARMLESS) else "wrong"] += 1
        if found not in (FOUND, HARMLESS):
            tally.problems.append(f"{name}: {found[:1000]}")
    return tally


class Tally(NamedTuple):
    """How many damages were found, how many were harmless, and which were neither."""

    counts: Counter[str]
    problems: list[str]


def of_bits(victim: FileVictim, bits: Iterable[int]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the attempts of flipping each of these bits."""
    for bit in bits:
        yield f"bit {bit}", partial(_try_bit, victim, bit)


def _try_bit(victim: FileVictim, bit: int) -> str:
    return victim.try_bytes(flipped(victim.whole, bit))


def of_pages(victim: FileVictim) -> list[tuple[str, Callable[[], str]]]:
    """Return the attempts of damaging pages."""
    return [
        (f"pages, case {number}", partial(victim.try_bytes, content))
        for number, content in enumerate(damaged_pages(victim.whole))
    ]


def of_lengths(victim: FileVictim) -> list[tuple[str, Callable[[], str]]]:
    """Return the attempts of damaging the lengths of rows."""
    return [
        (f"lengths, case {number}", partial(victim.try_bytes, content))
        for number, content in enumerate(with_endless_rows(victim.whole))
    ]


def of_rows(victim: FileVictim | SchemaVictim) -> list[tuple[str, Callable[[], str]]]:
    """Return the attempts of changing rows."""
    return [
        (str(statement), partial(victim.try_statement, statement))
        for statement in changes_of_rows(victim)
    ]
