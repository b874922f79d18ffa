"""Whatever is changed in a store, `verify` finds it, and no restart goes on with a damaged log."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from support.owned import NAME, Shop, in_memory
from support.told_life import live

from structured_bandits.cli.commands import main
from structured_bandits.service.experiment.saved_state import digest_of
from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.store.checking import check_store, exit_code
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import StoreError

Change = tuple[str, tuple[Any, ...]]
ROW = "seq, kind, at, decision, n, arm, value, key, body, chain"


@pytest.fixture(scope="module")
def written() -> Iterator[Path]:
    with in_memory() as folder:
        yield live(folder)


def read(path: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as store:
        return store.execute(statement, values).fetchall()


@contextmanager
def damaged(written: Path, *changes: Change) -> Iterator[Path]:
    """Yield a copy of the store in which statements have changed something."""
    with in_memory() as folder:
        path = folder / written.name
        shutil.copy(written, path)
        with closing(sqlite3.connect(path, isolation_level=None)) as store:
            for statement, values in changes:
                assert store.execute(statement, values).rowcount >= 1, statement
        yield path


def verdict(path: Path) -> int:
    store = SqliteStore(path, readonly=True)
    code = exit_code([each.verdict for each in check_store(store, (), decisions=True)])
    store.close()
    return code


def other(value: Any) -> Any:
    """Return another value of the same type."""
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    return f"{value} " if isinstance(value, str) else (value or 0) + 1000  # which no index forbids


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    return read(path, f"SELECT {ROW} FROM event ORDER BY seq")


def test_the_store_is_right_as_it_was_written(written: Path) -> None:
    assert verdict(written) == 0
    kinds = {row[1] for row in rows_of(written)}
    assert len(kinds) >= 9, kinds
    assert len(read(written, "SELECT seq FROM snapshot")) == 2


def test_a_change_of_any_cell_is_found(written: Path) -> None:
    columns = ROW.split(", ")
    for row in {row[1]: row for row in rows_of(written)}.values():  # the last one of each kind
        for column, value in zip(columns[1:], row[1:], strict=True):
            update = f"UPDATE event SET {column} = ? WHERE seq = ?"
            with damaged(written, (update, (other(value), row[0]))) as path:
                assert verdict(path) == 1, (row, column)


def test_a_row_that_is_lost_is_found(written: Path) -> None:
    for row in rows_of(written):
        with damaged(written, ("DELETE FROM event WHERE seq = ?", (row[0],))) as path:
            assert verdict(path) == 1, row


def test_two_rows_that_changed_places_are_found(written: Path) -> None:
    rows = rows_of(written)
    move = "UPDATE event SET seq = ? WHERE seq = ?"
    for first, second in pairwise(rows):
        a, b = first[0], second[0]
        with damaged(written, (move, (-1, a)), (move, (a, b)), (move, (b, -1))) as path:
            assert verdict(path) == 1, (first, second)


def test_an_end_that_was_cut_off_is_found(written: Path) -> None:
    last = rows_of(written)[-1][0]
    for kept in range(last):
        with damaged(written, ("DELETE FROM event WHERE seq > ?", (kept,))) as path:
            assert verdict(path) == 1, kept


def test_a_row_that_was_added_is_found(written: Path) -> None:
    last = rows_of(written)[-1]
    added = (1, last[0] + 1, "pause", *last[2:3], None, None, None, None, None, None, last[-1])
    marks = ", ".join("?" * len(added))
    with damaged(written, (f"INSERT INTO event(version, {ROW}) VALUES ({marks})", added)) as path:
        assert verdict(path) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"horizon":10000', '"horizon":10001'),
        ('"share":0.1', '"share":0.2'),
        ('"seed":7', '"seed":8'),
        ('"order":"drawn",', ""),
    ],
)
def test_an_edited_specification_is_found(written: Path, before: str, after: str) -> None:
    edit = "UPDATE version SET spec = replace(spec, ?, ?) WHERE instr(spec, ?)"
    with damaged(written, (edit, (before, after, before))) as path:
        assert verdict(path) == 1


@pytest.mark.parametrize(
    ("before", "after"), [("0.875", "0.876"), ("cocoa", "cacao"), ("[0.5,0.5,0.125]", "[0,0,0]")]
)
def test_an_edited_structure_is_found(written: Path, before: str, after: str) -> None:
    edit = "UPDATE structure SET body = replace(body, ?, ?) WHERE instr(body, ?)"
    with damaged(written, (edit, (before, after, before))) as path:
        assert verdict(path) == 1


@pytest.mark.parametrize("column", ["uid", "head", "chain"])
def test_an_edited_version_is_found(written: Path, column: str) -> None:
    value = read(written, f"SELECT {column} FROM version")[0][0]
    changed = "0" * 12 if column == "uid" else other(value)
    with damaged(written, (f"UPDATE version SET {column} = ?", (changed,))) as path:
        assert verdict(path) == 1


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE version SET spec = substr(spec, 1, 20)",
        "UPDATE version SET spec = '{}'",
        "UPDATE structure SET body = substr(body, 1, 20)",
        "DELETE FROM structure",
    ],
)
def test_what_cannot_be_read_any_more_is_said_in_a_sentence(written: Path, edit: str) -> None:
    with damaged(written, (edit, ())) as path:
        found = CliRunner().invoke(main, ["verify", "--store", str(path)])
        assert found.exit_code == 1, found.output
        assert "shop, version 1" in found.output, found.output
        with pytest.raises(StoreError, match="version 1"):
            Shop(path.parent)


# --- snapshots


def torn(state: bytes) -> bytes:
    return state[: len(state) // 2]


def flipped(state: bytes) -> bytes:
    return state[:40] + bytes([state[40] ^ 4]) + state[41:]


def untrue(state: bytes) -> bytes:
    """Return a whole snapshot that says something else: rewards that were never told."""
    content = msgspec.json.decode(zlib.decompress(state))
    content["sides"]["policy"][0] += 1
    return zlib.compress(msgspec.json.encode(content))


def edited(path: Path, edit: Callable[[bytes], bytes], seal: bool = False) -> Change:
    """Return the change of the newest snapshot; with `seal` its hash is made to fit."""
    seq, state, digest = read(
        path, "SELECT seq, state, digest FROM snapshot ORDER BY seq DESC LIMIT 1"
    )[0]
    changed = edit(state)
    sealed = digest_of(changed) if seal else digest
    return "UPDATE snapshot SET state = ?, digest = ? WHERE seq = ?", (changed, sealed, seq)


@pytest.mark.parametrize("edit", [torn, flipped])
def test_a_damaged_snapshot_is_found_and_not_used(
    written: Path, edit: Callable[[bytes], bytes]
) -> None:
    with damaged(written) as path:
        whole = Shop(path.parent)
        expected = whole.life().agent.to_json()
        whole.drop()
    with damaged(written, edited(written, edit)) as path:
        assert verdict(path) == 1
        shop = Shop(path.parent)
        alarms = [each.text for each in alarms_of(shop.registry.find(NAME))]
        assert any("was not used: the snapshot is damaged" in text for text in alarms), alarms
        assert shop.life().agent.to_json() == expected
        shop.drop()


def test_without_any_whole_snapshot_the_log_is_used(written: Path) -> None:
    with damaged(written, ("UPDATE snapshot SET digest = zeroblob(16)", ())) as path:
        shop = Shop(path.parent)
        assert len(shop.registry.find(NAME).warnings) == 2
        shop.drop()
    with damaged(written, ("DELETE FROM snapshot", ())) as path:
        shop = Shop(path.parent)
        assert shop.registry.find(NAME).warnings == []
        (found,) = shop.verdicts()
        assert all("snapshot that was saved with it is missing" in each for each in found.differs)
        assert len(found.differs) == 2
        assert found.damages == []
        shop.drop()


@pytest.mark.parametrize("edit", [torn, flipped, untrue])
def test_a_snapshot_with_a_hash_that_fits_is_found(
    written: Path, edit: Callable[[bytes], bytes]
) -> None:
    with damaged(written, edited(written, edit, seal=True)) as path:
        assert verdict(path) == 1


def test_a_snapshot_of_another_row_is_found(written: Path) -> None:
    with damaged(written, ("UPDATE snapshot SET seq = seq + 1", ())) as path:
        assert verdict(path) == 1


# --- restarts


@pytest.mark.parametrize(
    "change",
    [
        ("UPDATE event SET value = 0.75 WHERE seq = ?", "is not what was written"),
        ("DELETE FROM event WHERE seq = ?", "is missing"),
        ("DELETE FROM event WHERE seq >= ?", "its log ends with row"),
    ],
    ids=["changed", "lost", "cut off"],
)
def test_no_restart_goes_on_with_a_damaged_log(written: Path, change: tuple[str, str]) -> None:
    statement, said = change
    told = read(written, "SELECT seq FROM event WHERE kind = 'tell' ORDER BY seq DESC")
    with damaged(written, (statement, told[1])) as path:
        with pytest.raises(StoreError, match=said):
            Shop(path.parent)
        with pytest.raises(StoreError, match=said):  # and nobody else is kept out by the first one
            Shop(path.parent)
