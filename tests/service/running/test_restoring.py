"""What a restore leaves alone, and what it refuses to begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.owned import NAME, Shop
from support.told_life import SPEC, play

from structured_bandits.errors import OutputError
from structured_bandits.service import wire
from structured_bandits.service.running.lifecycle import bring_back
from structured_bandits.service.store.backups import back_up
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import StoreError


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    """A backup of a store with some rewards, in a folder of its own."""
    (tmp_path / "old").mkdir()
    shop = Shop(tmp_path / "old")
    shop.create(SPEC)
    play(shop, 2)
    shop.close()
    copy = tmp_path / "monday.db"
    back_up(SqliteStore(shop.path, readonly=True), copy)
    return copy


def damaged(path: Path) -> bytes:
    """The bytes of a store without those of all pages but the first."""
    whole = path.read_bytes()
    return whole[:4096] + bytes(len(whole) - 4096)


def test_a_restore_that_fails_leaves_its_neighbours(backup: Path, tmp_path: Path) -> None:
    """It removed all files whose names began with that of the target, the backup among them."""
    place = tmp_path / "here"
    place.mkdir()
    neighbours = ["bandits.db.monday", "bandits.db.tuesday", "bandits.db-old", ".bandits.db.party"]
    for name in neighbours:
        (place / name).write_bytes(backup.read_bytes())
    broken = place / "bandits.db.monday"
    broken.write_bytes(damaged(broken))
    with pytest.raises(StoreError, match=r"bandits\.db\.monday: "):
        bring_back(broken, place / "bandits.db")
    assert sorted(path.name for path in place.iterdir()) == sorted(neighbours)


@pytest.mark.parametrize("side", ["-wal", "-journal"])
def test_rows_that_another_store_has_left_are_not_played_into_it(
    side: str, backup: Path, tmp_path: Path
) -> None:
    """With the log of another store beside it, that one came back, and `verify` said that all is well."""
    left = tmp_path / f"bandits.db{side}"
    left.write_bytes(b"rows")
    with pytest.raises(OutputError, match=rf"bandits\.db{side}: it holds rows of a store"):
        bring_back(backup, tmp_path / "bandits.db")
    assert left.read_bytes() == b"rows"
    assert not (tmp_path / "bandits.db").exists()
    left.unlink()
    bring_back(backup, tmp_path / "bandits.db")
    shop = Shop(tmp_path)
    assert shop.registry.find(NAME).state.agent.rewards == 3
    shop.close()


def test_an_empty_file_is_no_backup(tmp_path: Path) -> None:
    """It was restored to an empty store, with the exit code 0."""
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match=r"empty\.db: it is empty; name a store"):
        bring_back(tmp_path / "empty.db", tmp_path / "new.db")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.db"]


def test_what_is_wrong_with_a_backup_is_said_of_its_store(backup: Path, tmp_path: Path) -> None:
    """It was said of the hidden name that the copy has until it is whole."""
    backup.write_bytes(damaged(backup))
    with pytest.raises(StoreError) as refused:
        back_up(SqliteStore(backup, readonly=True), tmp_path / "copy.db")
    assert "monday.db" in str(refused.value)
    assert ".part" not in str(refused.value)
    assert not [*tmp_path.glob("*copy.db*")]


@pytest.mark.parametrize("order", ["turn", "drawn"])
def test_a_batch_that_is_out_is_no_damage(order: str, tmp_path: Path) -> None:
    """Found by attack: its row holds counts, so arms taken as logged are out in another order."""
    shop = Shop(tmp_path)
    shop.create({**SPEC, "policy": {"kind": "SAE"}, "order": order})
    batch = shop.call(lambda registry: registry.find(NAME).hand_out(wire.HandOut(limit=30))).content
    assert min(batch.pulls) > 1
    pulls = [1, *(0 for _ in batch.pulls[1:])]
    told = wire.BatchResults(pulls=pulls, sums=[0.0] * len(pulls), key="a part")
    for restarts in range(2):
        shop.restart()  # which saves a snapshot
        assert [each.differs for each in shop.verdicts(decisions=False)] == [[]]
        if not restarts:
            assert (
                shop.call(lambda registry: registry.find(NAME).results(batch.id, told)).status
                == 200
            )
    back_up(SqliteStore(shop.path, readonly=True), tmp_path / "copy.db")
    shop.close()


@pytest.mark.parametrize("kind", ["SUCB", "UCB", "SAE", "ModelTS"])
def test_a_batch_is_derived_again(kind: str, tmp_path: Path) -> None:
    """Of a policy that chooses before each pull it holds all pulls that are certain."""
    shop = Shop(tmp_path)
    table = {"kind": "finite", "means": [[0.9, 0.1], [0.1, 0.9]]}
    shop.create({"structure": table, "policy": {"kind": kind}, "horizon": 10_000})
    learned = wire.Learn(pulls=[600, 40], sums=[540.0, 4.0], key="before")
    assert shop.call(lambda registry: registry.find(NAME).learn(learned)).status == 200
    sizes = []
    for number in range(4):
        batch = shop.call(
            lambda registry: registry.find(NAME).hand_out(wire.HandOut(limit=30))
        ).content
        sizes.append(sum(batch.pulls))
        sums = [round(0.9 * batch.pulls[0]), round(0.1 * batch.pulls[1])]
        told = wire.BatchResults(pulls=batch.pulls, sums=sums, key=f"results {number}")
        answer = shop.call(lambda registry, b=batch, t=told: registry.find(NAME).results(b.id, t))
        assert answer.status == 200
        if number == 1:
            shop.restart()
    assert not shop.life().agent.misfit.refuted()
    assert (max(sizes) > 1) == (kind != "ModelTS")
    assert [each.differs for each in shop.verdicts(decisions=True)] == [[]]
    shop.close()
