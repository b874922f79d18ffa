"""What `archive` moves out of a store, and what it leaves there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.owned import NAME, Shop

from structured_bandits.service import wire
from structured_bandits.service.rows import ARCHIVED
from structured_bandits.service.running.lifecycle import new_version
from structured_bandits.service.store.export import archive, read_archive
from structured_bandits.service.store_protocol import StoreError, all_events

SPEC = {
    "structure": {"kind": "finite", "means": [[0.7, 0.3], [0.2, 0.6]], "arms": ["tea", "coffee"]},
    "policy": {"kind": "SUCB"},
    "horizon": 1000,
}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A store whose first version is closed."""
    shop = Shop(tmp_path)
    shop.create(SPEC)
    for reward in (1.0, 0.0, 1.0):
        shop.tell((shop.ask_one().id, reward))
    shop.call(
        lambda registry: new_version(
            registry.find(NAME), wire.NewVersion(spec={**SPEC, "horizon": 99})
        )
    )
    shop.restart()
    yield shop
    shop.close()


def test_the_file_has_the_rows_that_left(shop: Shop, tmp_path: Path) -> None:
    store = shop.registry.store
    closed = store.versions()[0]
    rows = list(all_events(store, closed.id))
    (file,) = archive(store, tmp_path / "old")
    assert file.name == "shop-version-1.parquet"
    assert read_archive(file) == rows
    assert len(rows) >= 6
    assert store.events(closed.id) == []
    assert store.versions()[0].closed == ARCHIVED


def test_a_damaged_log_is_not_moved(shop: Shop, tmp_path: Path) -> None:
    """The rows would be gone from the store, where `verify` finds the damage."""
    shop.drop()
    with closing(sqlite3.connect(shop.path)) as connection, connection:
        changed = connection.execute("UPDATE event SET value = 0.5 WHERE version = 1 AND seq = 4")
        assert changed.rowcount == 1
    shop.begin()
    store = shop.registry.store
    with pytest.raises(StoreError, match=r"shop-version-1.parquet: row 4 \(\w+\) is not what was"):
        archive(store, tmp_path / "old")
    assert list((tmp_path / "old").iterdir()) == []
    assert len(list(all_events(store, 1))) >= 6
