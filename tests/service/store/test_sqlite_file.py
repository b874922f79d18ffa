"""After an orderly end the file of a store holds everything: whoever copies it alone loses nothing."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from support.service_process import SHOP

from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.store.backups import back_up
from structured_bandits.service.store.sqlite import SqliteStore


def test_the_file_alone_holds_everything_after_an_orderly_end(tmp_path: Path) -> None:
    path, copy = tmp_path / "bandits.db", tmp_path / "copy.db"
    registry = Registry(SqliteStore(path))
    registry.open()
    create(registry, "shop", SHOP)
    registry.writer.write_now()
    assert registry.store.experiments()  # this thread has a connection that reads
    done, read = threading.Event(), threading.Event()

    def elsewhere() -> None:
        registry.store.experiments()
        read.set()
        done.wait()

    reader = threading.Thread(target=elsewhere)
    reader.start()
    read.wait()
    registry.close()
    shutil.copyfile(path, copy)
    done.set()
    reader.join()
    assert [row.name for row in SqliteStore(copy, readonly=True).experiments()] == ["shop"]


def test_a_backup_is_one_file_that_needs_no_other_beside_it(tmp_path: Path) -> None:
    """SQLite can read a file with a write-ahead log only where it may make files beside it."""
    registry = Registry(SqliteStore(tmp_path / "bandits.db"))
    registry.open()
    create(registry, "shop", SHOP)
    registry.writer.write_now()
    folder = tmp_path / "backups"
    folder.mkdir()
    back_up(registry.store, folder / "monday.db")
    registry.close()
    store = SqliteStore(folder / "monday.db", readonly=True)
    assert [row.name for row in store.experiments()] == ["shop"]
    assert [path.name for path in folder.iterdir()] == ["monday.db"]
    store.close()
