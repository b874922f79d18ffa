"""The store in PostgreSQL: who owns it, what a crash leaves, and what its messages do not say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import support.owner_process
from support.postgres_server import PASSWORD, Server

from structured_bandits.service.rows import Changes, Event
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store.postgres import PostgresStore
from structured_bandits.service.store.postgres_connections import (
    DatabaseAddress,
    DurabilityWarning,
    own,
)
from structured_bandits.service.store_protocol import OwnedElsewhereError, StoreError

SOON = 0.3  # seconds: the patience of the tests


@pytest.fixture
def address(postgres: Server) -> str:
    return postgres.schema()


@pytest.fixture
def make(address: str) -> Iterator[Callable[..., PostgresStore]]:
    """Makes stores at the same place, as different processes would; they are closed at the end."""
    made: list[PostgresStore] = []

    def store(patience: float = SOON) -> PostgresStore:
        made.append(PostgresStore(address, patience=patience))
        return made[-1]

    yield store
    for each in made:
        each.close()


def mark(seq: int) -> Changes:
    return Changes(events=[(1, Event(seq, "mark", 0, chain=b"c"))])


def numbers(store: PostgresStore) -> list[int]:
    return [event.seq for event in store.events(1)]


# --- one owner, and one who stands by


def test_one_who_stands_by_takes_over_when_the_owner_leaves(
    make: Callable[..., PostgresStore],
) -> None:
    owner, other = make(), make(patience=60.0)
    owner.claim()
    with pytest.raises(
        OwnedElsewhereError, match=rf"process {os.getpid()} on .*heard of \d+\.\d s"
    ):
        other.wait(timeout=0.05, every=0.02)
    leaving = threading.Timer(0.1, owner.close)
    leaving.start()
    assert other.wait(timeout=60.0, every=0.02) == 2
    leaving.join()
    other.commit(mark(1))
    assert numbers(owner) == [1]


def test_an_owner_with_signs_of_life_is_not_replaced(
    make: Callable[..., PostgresStore], postgres: Server, address: str
) -> None:
    """The last sign is moved instead of waited for: a busy machine may give none for a while."""
    meta = f"{address.rpartition('%3D')[2]}.meta"

    def heartbeat(past: float) -> None:
        """Let the last sign of life be so many seconds old."""
        value = f"extract(epoch FROM clock_timestamp())::float8 - {past}"
        postgres.run(f"UPDATE {meta} SET value = ({value})::text WHERE key = 'heartbeat'")

    def silence() -> float:
        ((value,),) = postgres.run(f"SELECT value::float8 FROM {meta} WHERE key = 'heartbeat'")
        ((now,),) = postgres.run("SELECT extract(epoch FROM clock_timestamp())::float8")
        return float(now - value)

    owner, other = make(), make()
    owner.claim()
    time.sleep(1.5 * SOON)  # it is no longer one who has only just begun
    heartbeat(past=-60.0)
    with pytest.raises(OwnedElsewhereError):
        other.claim()
    heartbeat(past=1_000.0)
    before = time.monotonic()
    owner.beat()
    assert silence() <= time.monotonic() - before + 0.01
    heartbeat(past=1.1 * SOON)
    assert other.wait(timeout=60.0, every=0.05) == 2
    with pytest.raises(OwnedElsewhereError):
        owner.beat()


def test_an_owner_who_has_only_just_begun_is_not_replaced(
    make: Callable[..., PostgresStore], postgres: Server, address: str
) -> None:
    """Its sign of life may still be the last one of the owner before, who crashed yesterday."""
    make().claim()
    schema = address.rpartition("%3D")[2]
    postgres.run(f"UPDATE {schema}.meta SET value = '0' WHERE key = 'heartbeat'")
    with pytest.raises(OwnedElsewhereError, match="last heard of"):
        make(patience=60.0).claim()


def test_a_server_that_is_away_is_waited_for(
    make: Callable[..., PostgresStore], postgres: Server
) -> None:
    owner, other = make(), make(patience=60.0)
    owner.claim()
    away = threading.Timer(0.1, postgres.kill)
    away.start()
    back = threading.Timer(0.4, postgres.start)
    back.start()
    assert other.wait(timeout=120.0, every=0.05) == 2
    away.join()
    back.join()


def test_schemas_of_a_database_are_stores_of_their_own(postgres: Server) -> None:
    stores = [PostgresStore(postgres.schema()) for _ in range(2)]
    assert [store.claim() for store in stores] == [1, 1]
    stores[0].commit(mark(1))
    assert [numbers(store) for store in stores] == [[1], []]
    for store in stores:
        store.close()


@contextmanager
def process(address: str, every: float) -> Iterator[tuple[int, Callable[[], str]]]:
    """Runs an owner; gives its number, and a function that lets it write a row and answer."""
    command = [sys.executable, support.owner_process.__file__, address, str(every)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    pipes["env"] = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, **pipes) as owner:
        assert owner.stdout.readline() == "epoch 1\n"

        def write() -> str:
            print(file=owner.stdin, flush=True)
            return owner.stdout.readline().strip()

        try:
            yield owner.pid, write
        finally:
            owner.send_signal(signal.SIGCONT)


def test_a_process_that_stood_still_and_was_replaced_writes_nothing(
    make: Callable[..., PostgresStore], address: str
) -> None:
    other = make()
    with process(address, every=SOON / 5) as (owner, write):
        assert write() == "written"
        os.kill(owner, signal.SIGSTOP)
        assert other.wait(timeout=60.0, every=0.05) == 2
        other.commit(mark(100))
        os.kill(owner, signal.SIGCONT)
        assert [write(), write()] == ["OwnedElsewhereError"] * 2
        assert numbers(other) == [1, 100]


def test_the_epoch_keeps_one_out_who_has_lost_the_lock_but_not_the_connection(
    make: Callable[..., PostgresStore],
) -> None:
    """As behind a pool, where the next transaction may run on a connection without the lock."""
    first, second = make(), make()
    first.claim()
    first.commit(mark(1))
    assert first._writer is not None
    first._writer.execute("SELECT pg_advisory_unlock_all()")
    first._writer.commit()
    assert second.claim() == 2
    for write in (lambda: first.commit(mark(2)), first.beat, first.reopen):
        with pytest.raises(OwnedElsewhereError, match="another process has taken over"):
            write()
    second.commit(mark(3))
    assert numbers(second) == [1, 3]


def test_an_epoch_does_not_rise_in_the_middle_of_a_transaction(
    make: Callable[..., PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make(), make()
    first.claim()
    assert first._writer is not None
    first._writer.execute("SELECT pg_advisory_unlock_all()")
    first._writer.commit()
    taking_over = threading.Thread(target=second.claim)
    copy = first._copy

    def slow(*arguments: Any) -> None:
        taking_over.start()
        taking_over.join(0.3)
        assert taking_over.is_alive()  # it waits for the row of the epoch
        copy(*arguments)

    monkeypatch.setattr(first, "_copy", slow)
    first.commit(mark(1))
    taking_over.join(10.0)
    assert second.epoch == 2
    assert numbers(second) == [1]


# --- lost connections and crashes


def test_reopening_ends_what_the_old_connection_may_still_do(
    make: Callable[..., PostgresStore],
) -> None:
    store = make()
    store.claim()
    lost = store._writer  # as if the network had failed: the server still waits for it
    assert lost is not None
    store._writer = None
    lost.execute("INSERT INTO event(version, seq, kind, at, chain) VALUES (1, 1, 'mark', 0, '')")
    store.reopen()
    with pytest.raises(psycopg.OperationalError):
        lost.commit()
    lost.close()
    store.commit(mark(2))
    assert numbers(store) == [2]
    assert store.epoch == 1


def test_acknowledged_rows_outlive_a_crash_of_the_server(
    make: Callable[..., PostgresStore], postgres: Server
) -> None:
    store = make()
    store.claim()
    acknowledged = 0
    for _ in range(3):
        crash = threading.Timer(0.15, postgres.kill)
        crash.start()
        with pytest.raises(StoreError):  # noqa: PT012 (whichever commit it is)
            while True:
                store.commit(mark(acknowledged + 1))
                acknowledged += 1
        crash.join()
        with pytest.raises(StoreError, match="onnection"):
            store.reopen()
        with pytest.raises(StoreError, match="not open for writing"):
            store.commit(mark(acknowledged + 1))
        postgres.start()
        written = numbers(store)  # a reader finds the server again by itself
        assert written in (
            list(range(1, acknowledged + 1)),
            list(range(1, acknowledged + 2)),  # the one that failed may have been written
        )
        acknowledged = len(written)
        store.reopen()
    assert acknowledged > 3
    store.commit(mark(acknowledged + 1))
    assert store.epoch == 1


def test_a_connection_that_was_ended_is_an_error_and_can_be_reopened(
    make: Callable[..., PostgresStore], postgres: Server
) -> None:
    store = make()
    store.claim()
    postgres.run(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE application_name = 'structured-bandits'"
    )
    with pytest.raises(StoreError, match="connection") as error:
        store.commit(mark(1))
    assert not isinstance(error.value, OwnedElsewhereError)
    store.reopen()
    store.commit(mark(1))
    assert numbers(store) == [1]


def test_connections_of_threads_end_with_them(
    make: Callable[..., PostgresStore], postgres: Server, address: str
) -> None:
    store = make()
    store.claim()
    for _ in range(3):
        thread = threading.Thread(target=store.experiments)
        thread.start()
        thread.join()
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'structured-bandits'"
    until = time.monotonic() + 60.0
    while postgres.run(count) != [(1,)] and time.monotonic() < until:
        time.sleep(0.01)
    assert postgres.run(count) == [(1,)]  # the one that writes


# --- what the server must promise


@pytest.mark.parametrize("value", ["off", "local", "remote_write"])
def test_a_server_that_acknowledges_too_early_is_refused(postgres: Server, value: str) -> None:
    store = PostgresStore(postgres.schema(f"%20-csynchronous_commit%3D{value}"))
    with pytest.raises(StoreError, match=f"synchronous_commit is {value}.*set it on"):
        store.claim()


@contextmanager
def setting(postgres: Server, name: str, value: str) -> Iterator[None]:
    postgres.run(f"ALTER SYSTEM SET {name} = {value}")
    postgres.run("SELECT pg_reload_conf()")
    while postgres.run(f"SHOW {name}") != [(value,)]:
        time.sleep(0.01)
    yield
    postgres.run(f"ALTER SYSTEM RESET {name}")
    postgres.run("SELECT pg_reload_conf()")


def test_a_setting_that_changes_later_does_not_change_our_commits(
    postgres: Server, address: str
) -> None:
    connection = DatabaseAddress(address).writer()
    with setting(postgres, "synchronous_commit", "off"):
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    connection.close()


def test_a_server_that_a_loss_of_power_may_damage_is_warned_of(
    make: Callable[..., PostgresStore], postgres: Server
) -> None:
    with (
        setting(postgres, "full_page_writes", "off"),
        pytest.warns(DurabilityWarning, match="full_page_writes is off") as warned,
    ):
        assert make().claim() == 1
    assert Path(warned[0].filename).name == "test_postgres.py"


def test_another_encoding_is_refused(postgres: Server) -> None:
    postgres.run("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="its encoding is LATIN1; UTF8 is needed"):
        PostgresStore(postgres.address.replace("/postgres", "/latin")).claim()


def test_a_schema_that_does_not_exist_is_refused(postgres: Server) -> None:
    with pytest.raises(StoreError, match="none of the schemas in its search_path exists"):
        PostgresStore(f"{postgres.address}?options=-csearch_path%3Dnowhere").claim()


def test_connections_for_reading_cannot_write(
    make: Callable[..., PostgresStore], address: str
) -> None:
    make().claim()
    with (
        DatabaseAddress(address).reader() as reader,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        reader.execute("DELETE FROM meta")


INDEXES = {
    sql.EVENTS: ("event_pkey", (1, 5, 10)),
    sql.OUTCOME: ("outcome", (1, 5)),
    sql.LATE: ("late", (1, 5)),
    sql.BY_KEY: ("request", (1, "k5")),
    sql.LAST_START: ("start", (1, 1, 4000)),
}


def test_every_look_into_the_log_uses_its_index(
    make: Callable[..., PostgresStore], address: str
) -> None:
    store = make()
    store.claim()
    kinds = ["tell", "late", "start"] * 2000
    rows = [Event(i, kind, 0, i, key=f"k{i}", chain=b"c") for i, kind in enumerate(kinds)]
    store.commit(Changes(events=[(1, event) for event in rows]))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ANALYZE event")
        for statement, (index, values) in INDEXES.items():
            plan = connection.execute("EXPLAIN " + own(statement), values).fetchall()
            assert f"using {index} " in str(plan) or f"on {index} " in str(plan), plan


# --- what messages do not say

SECRET = "s3cret"
UNREADABLE = [
    f"postgresql://me:{SECRET}/x@127.0.0.1/shop",
    f"postgresql://me:x@{SECRET}@127.0.0.1/shop",
    f"postgresql://me:{SECRET}%@127.0.0.1/shop",
    f"postgresql://me@127.0.0.1/shop?passwort={SECRET}",
    f"host=127.0.0.1 password='{SECRET}",
    f"host=127.0.0.1 {SECRET}",
]


@pytest.mark.parametrize("text", UNREADABLE)
def test_an_address_that_cannot_be_read_is_not_quoted(text: str) -> None:
    with pytest.raises(StoreError, match="cannot be read; expected postgresql://") as error:
        PostgresStore(text)
    assert SECRET not in "".join(traceback.format_exception_only(error.value))
    assert error.value.__suppress_context__ or error.value.__context__ is None


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("postgresql://me:{}@127.0.0.1:{}/shop", "postgresql://me@127.0.0.1:{}/shop"),
        ("postgresql://me@127.0.0.1:{1}/shop?password={0}", "postgresql://me@127.0.0.1:{}/shop"),
        ("user=me password={} host=127.0.0.1 port={} dbname=shop", "postgresql://me@127.0.0.1:{}/shop"),
        ("user=me password='{0} \\' {0}' host=127.0.0.1 port={1}", "postgresql://me@127.0.0.1:{}/"),
    ],
)  # fmt: skip
def test_no_message_holds_the_password(postgres: Server, text: str, where: str) -> None:
    store = PostgresStore(text.format(SECRET, postgres.port))
    assert store.where == where.format(postgres.port)
    with pytest.raises(StoreError, match="password authentication failed") as error:
        store.claim()
    assert SECRET not in "".join(traceback.format_exception(error.value)).replace(text, "")
    assert "\n" not in str(error.value)


def test_no_message_of_a_store_that_works_holds_the_password(
    make: Callable[..., PostgresStore],
) -> None:
    store, other = make(), make()
    store.claim()
    for fail in (other.claim, lambda: store.commit(mark(2**63)), lambda: store.structure("f")):
        with pytest.raises(StoreError) as error:
            fail()
        assert PASSWORD not in "".join(traceback.format_exception(error.value))
