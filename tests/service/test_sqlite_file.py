"""After an orderly end the file of a store holds everything: whoever copies it alone loses nothing."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from support.service_process import SHOP

from structured_bandits.service.owner import Owner
from structured_bandits.service.sqlite import SqliteStore


def test_the_file_alone_holds_everything_after_an_orderly_end(tmp_path: Path) -> None:
    path, copy = tmp_path / "bandits.db", tmp_path / "copy.db"
    owner = Owner(SqliteStore(path))
    owner.open()
    owner.create("shop", SHOP)
    owner.writer.write_now()
    assert owner.store.experiments()  # this thread has a connection that reads
    done, read = threading.Event(), threading.Event()

    def elsewhere() -> None:
        owner.store.experiments()
        read.set()
        done.wait()

    reader = threading.Thread(target=elsewhere)
    reader.start()
    read.wait()
    owner.close()
    shutil.copyfile(path, copy)
    done.set()
    reader.join()
    assert [row.name for row in SqliteStore(copy, readonly=True).experiments()] == ["shop"]
