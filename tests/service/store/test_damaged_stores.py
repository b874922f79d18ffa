"""Whatever is changed in a store, `verify` finds it, or the service answers as if it were not.

`make soak-service ATTACKS="--only damage"` tries all of what is sampled here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import psycopg
import pytest
from click.testing import CliRunner
from support.busy_store import build
from support.damage_attacks import (
    FOUND,
    FileVictim,
    SchemaVictim,
    Statement,
    bits_of_structure,
    flipped,
    of_bits,
    of_lengths,
    of_pages,
    of_rows,
    one_bit_of_every_byte,
    tried,
)
from support.first_store import WINDOWED
from support.owned import NAME, Shop, in_memory
from support.postgres_server import Server, find_postgres
from support.told_life import SPEC, play, snapshot

from structured_bandits.cli.commands import main
from structured_bandits.service import wire
from structured_bandits.service.experiment import replay
from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.store.postgres import PostgresStore
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store_protocol import StoreError

Attempts = Sequence[tuple[str, Callable[[], str]]]


@pytest.fixture(scope="module")
def victim() -> Iterator[FileVictim]:
    with in_memory() as folder:
        yield FileVictim(folder)


def none_passes(attempts: Attempts, sample: int) -> None:
    tally = tried(Random(28).sample(attempts, sample), lambda: True)
    assert tally.problems == []
    assert tally.counts[FOUND] > 0


def test_no_flipped_bit_passes(victim: FileVictim) -> None:
    bits = one_bit_of_every_byte(victim.whole, Random(28))
    none_passes(list(of_bits(victim, bits)), 20)


def test_no_flipped_bit_of_a_header_or_an_index_passes(victim: FileVictim) -> None:
    """Found with a bit of a key in the index `request`: a `learn` counted twice."""
    none_passes(list(of_bits(victim, bits_of_structure(victim.whole))), 30)


def test_no_page_that_is_zeroed_or_elsewhere_passes(victim: FileVictim) -> None:
    """Some of these led `verify` from the end of a log back to its beginning, for ever."""
    none_passes(of_pages(victim), 60)


def test_no_row_whose_length_is_damaged_passes(victim: FileVictim) -> None:
    """Found by attack: SQLite asks for the memory, and `verify` ended with a MemoryError."""
    none_passes(of_lengths(victim), 60)


def test_no_row_that_is_deleted_changed_or_doubled_passes(victim: FileVictim) -> None:
    none_passes(of_rows(victim), 80)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE version SET closed = 1 WHERE number = 3",
        "UPDATE version SET closed = 0 WHERE number = 2",
        "UPDATE version SET closed = 2 WHERE number = 2",
        "UPDATE version SET closed = 1 WHERE number = 1 AND closed = 2",
        "UPDATE version SET head = head + 1 WHERE closed = 2",
        "UPDATE version SET made_at = made_at + 1",
        "UPDATE version SET experiment = 2 WHERE number = 2",
        "DELETE FROM version WHERE number = 2",
        "DELETE FROM version WHERE number = 3",
        "UPDATE experiment SET current = 1",
        "UPDATE experiment SET name = 'shops' WHERE name = 'shop'",
        "DELETE FROM experiment WHERE name = 'shop'",
        "DELETE FROM token WHERE role = 'read'",
        "DELETE FROM token",
        "UPDATE token SET role = 'admin'",
        "UPDATE token SET revoked_at = NULL",
        "UPDATE meta SET value = '1' WHERE key = 'epoch'",
        "DELETE FROM meta WHERE key = 'seal'",
        "DELETE FROM meta WHERE key = 'schema'",
        "UPDATE meta SET value = '3' WHERE key = 'schema'",
        "UPDATE meta SET value = '1' WHERE key = 'schema'",
        "DELETE FROM snapshot",
    ],
)
def test_what_no_log_covers_is_sealed(victim: FileVictim, change: str) -> None:
    assert victim.try_statement(Statement(change, ())) == FOUND


@pytest.mark.parametrize("index", ["outcome", "late", "start", "request"])
def test_a_dropped_index_is_found_and_made_anew(victim: FileVictim, index: str) -> None:
    assert victim.try_script(f"DROP INDEX {index}") == FOUND
    assert victim.restored() == 0


def test_an_index_that_forbids_nothing_any_more_is_found_and_made_anew(victim: FileVictim) -> None:
    assert victim.try_script("DROP INDEX late; CREATE INDEX late ON event(version)") == FOUND
    assert victim.restored() == 0


def flipped_in_an_index(victim: FileVictim) -> None:
    """Damage a key in the index of keys, as it is found on its pages: the tables stay right."""
    key = b"learned third"
    places = [at for at in range(len(victim.whole)) if victim.whole.startswith(key, at)]
    index = min(places, key=lambda at: b"pulls" in victim.whole[at : at + 60])  # no body follows it
    assert victim.try_bytes(flipped(victim.whole, 8 * index)) == FOUND


def test_a_damaged_index_is_found_by_verify_and_backup(victim: FileVictim, tmp_path: Path) -> None:
    flipped_in_an_index(victim)
    command = ["backup", str(tmp_path / "copy.db"), "--store", str(victim.path)]
    found = CliRunner().invoke(main, command)
    assert found.exit_code == 2
    assert "the check of SQLite says" in found.output
    assert list(tmp_path.iterdir()) == []


def test_restore_makes_damaged_indexes_anew(victim: FileVictim) -> None:
    """Found as a `learn` that counted twice, after a backup and a restore that said all was well."""
    flipped_in_an_index(victim)
    assert victim.restored() == 0
    shop = Shop(victim.path.parent / "restored")
    learned = wire.Learn(pulls=[2, 1, 0], sums=[1.0, 0.5, 0.0], key="learned third")
    assert not shop.call(lambda registry: registry.find(NAME).learn(learned)).content.changed
    shop.close()


def test_restore_of_damaged_rows_leaves_nothing(victim: FileVictim) -> None:
    change = Statement("UPDATE event SET value = value + 1 WHERE kind = 'tell'", ())
    assert victim.try_statement(change) == FOUND
    assert victim.restored() == 2
    assert list((victim.path.parent / "restored").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE version SET closed = 1 WHERE number = 3",
        "DELETE FROM version WHERE number = 3",
        "DELETE FROM version WHERE id < 4",
        "UPDATE version SET experiment = 7 WHERE number = 2",
        "UPDATE token SET experiments = 'some'",
        "UPDATE meta SET value = 'first' WHERE key = 'epoch'",
    ],
)
def test_a_store_that_cannot_be_played_is_refused_in_a_sentence(
    victim: FileVictim, change: str
) -> None:
    """Found as an AssertionError of `serve`."""
    assert victim.try_statement(Statement(change, ())) == FOUND
    for _ in range(2):  # and nobody else is kept out by the first one
        with pytest.raises(StoreError, match=r"bandits\.db: (it is damaged|its epoch is)"):
            Shop(victim.path.parent)


def test_a_broken_seal_is_an_alarm(victim: FileVictim) -> None:
    assert victim.try_statement(Statement("DELETE FROM token WHERE role = 'read'", ())) == FOUND
    shop = Shop(victim.path.parent)
    for name in (NAME, WINDOWED):
        alarms = [each.text for each in alarms_of(shop.registry.find(name))]
        assert any("run `structured-bandits verify`" in text for text in alarms), alarms
    shop.registry.add_token("another", "read", None)  # which does not seal what is damaged
    shop.registry.writer.write_now()
    shop.restart()
    assert not shop.registry.store.is_sealed()
    shop.close()


def test_every_change_keeps_the_seal(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    build(shop, tmp_path / "archive")
    assert SqliteStore(shop.path, readonly=True).faults() == []


def test_an_anchor_that_is_missing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, decisions after an upgrade would be derived from a state that nobody knows."""
    shop = Shop(tmp_path)
    shop.create(SPEC)
    play(shop, 3)
    monkeypatch.setattr(replay, "SOURCES_HASH", "0123456789abcdef")
    shop.restart(in_order=False)
    for _ in range(4):
        play(shop, 1)
        snapshot(shop)
    assert {each.exit_code for each in shop.verdicts()} == {2}
    shop.drop()
    with closing(sqlite3.connect(shop.path)) as store, store:
        assert store.execute("DELETE FROM snapshot WHERE anchor = 1").rowcount == 1
    shop.begin()
    (found,) = shop.verdicts()
    assert any("that decisions follow from is missing" in each for each in found.differs), found
    shop.drop()


if find_postgres():  # tests/service/conftest.py says so otherwise

    def test_no_row_that_is_changed_in_postgres_passes(postgres: Server, tmp_path: Path) -> None:
        none_passes(of_rows(SchemaVictim(tmp_path, postgres)), 60)

    @pytest.mark.parametrize("index", ["outcome", "late", "start", "request"])
    def test_a_dropped_index_of_postgres_is_found(postgres: Server, index: str) -> None:
        address = postgres.schema()
        store = PostgresStore(address)
        store.claim()
        assert store.faults() == []
        with psycopg.connect(address) as connection:
            connection.execute(f"DROP INDEX {index}")
        assert store.faults() == [f"the index {index} is missing or cannot be used"]
        store.close()
