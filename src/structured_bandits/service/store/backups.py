"""Backups of an SQLite store, and copies of them that are stores again."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from structured_bandits.base.writing import check_file
from structured_bandits.errors import OutputError, ParameterError
from structured_bandits.service.store.checking import check_store, exit_code
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import DamagedError, Store, StoreError


def back_up(store: Store, target: Path) -> int:
    """Copy a store, in use or not, into a new file, and check the copy; return how many rows it has."""
    if not isinstance(store, SqliteStore):
        raise ParameterError(
            "backup is for SQLite files; PostgreSQL has pg_dump and its own archives"
        )
    if target.exists():
        raise OutputError(f"{target}: there is such a file already; backups are never overwritten")
    check_file(target)
    part = target.with_name(f".{target.name}.part")
    try:
        with _named(part, target, store.path):
            store.backup(part)
            rows = _check_whole(SqliteStore(part, readonly=True), store.path)
        _to_disk(part)
        os.replace(part, target)
    finally:
        _remove_part(part)
    return rows


@contextmanager
def _named(part: Path, target: Path, source: Path) -> Iterator[None]:
    """Say of a file what the user calls it, and not its hidden name until it is whole.

    What is damaged is so in the source; what cannot be written is the target.
    """
    try:
        yield
    except StoreError as error:
        named = source if isinstance(error, DamagedError) else target
        raise type(error)(str(error).replace(str(part), str(named))) from error


#: What SQLite lays beside a file: rows that belong into it or out of it, and the index of the first.
LOGS = ("-wal", "-journal")
SIDES = (*LOGS, "-shm")


def remove_store(path: Path) -> None:
    """Remove a store that was being made and what was laid beside it, and nothing else."""
    for name in (path.name, *(f"{path.name}{side}" for side in SIDES), f"{path.name}.lock"):
        path.with_name(name).unlink(missing_ok=True)


def _remove_part(part: Path) -> None:
    """Remove a file under its hidden name, with the copy that bringing it up to date has made."""
    remove_store(part)
    for copy in part.parent.glob(f"{glob.escape(part.name)}.schema-*"):
        copy.unlink()


def _check_whole(copy: SqliteStore, named: Path) -> int:
    checked = list(check_store(copy, (), decisions=False))
    copy.close()
    if exit_code([each.verdict for each in checked]) == 1:
        wrong = next(each for each in checked if each.verdict.exit_code == 1)
        raise DamagedError(f"{named}: it is not right. {wrong.text(False)}")
    return sum(each.verdict.rows for each in checked)


def _to_disk(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def copy_of_backup(backup: Path, target: Path) -> None:
    """Copy a backup into a new store with new indexes; it is there only if it is right.

    Indexes hold nothing that is not in the tables, so what is wrong with them is mended here. A backup
    of an older library is brought up to date.
    """
    part = target.with_name(f".{target.name}.part")
    try:
        with _named(part, target, backup):
            source = SqliteStore(backup)
            source.backup(part)
            source.close()
            store = SqliteStore(part)
            store.claim()
            try:
                store.rebuild_indexes()
            finally:
                store.close()
            _check_whole(SqliteStore(part, readonly=True), backup)
        _to_disk(part)
        os.replace(part, target)
    finally:
        _remove_part(part)
