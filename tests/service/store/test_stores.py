"""What every store promises, tried on SQLite and on PostgreSQL alike."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.postgres_server import find_postgres

from structured_bandits.service.rows import (
    ARCHIVED,
    CLOSED,
    Changes,
    Event,
    ExperimentRow,
    Saved,
    TokenRow,
    VersionRow,
    damages,
    first_link,
    link,
)
from structured_bandits.service.store import statements as sql
from structured_bandits.service.store.postgres import PostgresStore
from structured_bandits.service.store.sqlite import SqliteStore
from structured_bandits.service.store.tables import TableStore
from structured_bandits.service.store_protocol import (
    PAGE,
    OwnedElsewhereError,
    StoreError,
    all_events,
)

KINDS = ["sqlite", *(["postgres"] if find_postgres() else [])]
LARGEST = 2**63 - 1
UID = "u1"
START = Changes(
    structures=[("f1", '{"means": [[0.5]]}')],
    experiments=[ExperimentRow(1, "shop", 1)],
    versions=[VersionRow(1, 1, 1, UID, "{}", "f1", 5, 0, first_link(UID))],
)
TOKEN = TokenRow("id1", "Ann", "hash", "admin", "null", 5)


class Place:
    """A file or a schema, and the stores that were opened on it."""

    def __init__(self, make: Callable[..., TableStore], run: Callable[[str], Any]) -> None:
        self.make, self.run = make, run
        self.opened: list[TableStore] = []

    def store(self) -> TableStore:
        """What another process would hold."""
        self.opened.append(self.make())
        return self.opened[-1]

    def owner(self, changes: Changes = START) -> TableStore:
        store = self.store()
        store.claim()
        store.commit(changes)
        return store


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "sqlite":
        found = _file(tmp_path / "bandits.db")
    else:
        found = _schema(request.getfixturevalue("postgres").schema())
    yield found
    for store in found.opened:
        store.close()


def _file(path: Path) -> Place:
    def run(statement: str) -> None:
        connection = sqlite3.connect(path)
        connection.executescript(statement)
        connection.close()

    return Place(partial(SqliteStore, path), run)


def _schema(address: str) -> Place:
    def run(statement: str) -> None:
        with psycopg.connect(address) as connection:
            connection.execute(statement)

    return Place(partial(PostgresStore, address), run)


def replace_owner(store: TableStore) -> None:
    """Lets another process own the store while the first one still believes that it does."""
    if isinstance(store, SqliteStore):  # on a system whose locks of the file itself do not hold
        assert store._lock is not None
        store._lock.release()
        other: TableStore = SqliteStore(store.path)
    else:
        assert isinstance(store, PostgresStore)  # somebody saw no sign of life of it
        other = PostgresStore(store._address.text, patience=0.0)
    other.claim()
    other.close()


def linked(events: list[Event], uid: str = UID) -> list[tuple[int, Event]]:
    chain, rows = first_link(uid), []
    for event in events:
        chain = link(chain, event)
        rows.append((1, event._replace(chain=chain)))
    return rows


def events(*rows: Event) -> Changes:
    return Changes(events=linked(list(rows)))


def content(store: TableStore) -> list[Any]:
    """All that a store holds."""
    held: list[Any] = [store.experiments(), store.tokens()]
    for version in store.versions():
        rows = list(all_events(store, version.id))
        held += [version, rows, store.snapshots(version.id), store.structure(version.structure)]
    return held


# --- what is written is read


def test_everything_that_was_written_is_read(place: Place) -> None:
    rows = linked(
        [Event(1, "start", 5, body='{"code": "x"}'), Event(2, "ask", 6, 1, 1, 0, key="k")]
    )
    saved = [Saved(1, 2, b"\x00\xff", b"\x00 state \xff", 1)]
    changes = replace(START, events=rows, snapshots=saved, tokens=[TOKEN])
    owner = place.owner(changes)
    last = rows[-1][1]
    for store in (owner, place.store()):  # the owner, and one that only reads
        assert store.experiments() == changes.experiments
        assert store.versions() == [changes.versions[0]._replace(head=2, chain=last.chain)]
        assert store.structure("f1") == '{"means": [[0.5]]}'
        assert store.events(1) == [event for _, event in rows]
        assert store.snapshots(1) == saved
        assert store.tokens() == [TOKEN]
        assert store.by_key(1, "k") == last
        assert type(store.snapshots(1)[0].state) is bytes


def test_what_is_not_there_is_not_found(place: Place) -> None:
    store = place.owner()
    assert store.events(1) == store.events(2) == store.snapshots(1) == store.tokens() == []
    assert store.outcome(1, 1) is store.late(1, 1) is store.by_key(1, "k") is None
    assert store.last_start(1, 10) is None
    with pytest.raises(StoreError, match="the structure f2 is missing"):
        store.structure("f2")


def test_a_row_that_is_written_again_changes_only_what_may_change(place: Place) -> None:
    store = place.owner(replace(START, tokens=[TOKEN]))
    again = Changes(
        structures=[("f1", "other")],
        experiments=[ExperimentRow(1, "other", 2)],
        tokens=[TOKEN._replace(name="Bob", role="read", revoked_at=9)],
        closed=[(CLOSED, 1)],
    )
    store.commit(again)
    assert store.structure("f1") == '{"means": [[0.5]]}'
    assert store.experiments() == [ExperimentRow(1, "shop", 2)]
    assert store.tokens() == [TOKEN._replace(revoked_at=9)]
    assert store.versions()[0].closed == CLOSED


def test_the_rows_of_an_archived_version_leave(place: Place) -> None:
    rows = linked([Event(1, "mark", 1)])
    store = place.owner(replace(START, events=[*rows, (2, rows[0][1])]))
    store.commit(Changes(snapshots=[Saved(1, 1, b"d", b"s"), Saved(2, 1, b"d", b"s")]))
    store.commit(Changes(closed=[(ARCHIVED, 1), (CLOSED, 2)]))
    assert store.events(1) == store.snapshots(1) == []
    assert len(store.events(2)) == len(store.snapshots(2)) == 1
    assert store.versions()[0].closed == ARCHIVED


def test_a_decision_is_found_by_what_became_of_it(place: Place) -> None:
    asks = [Event(i, "ask", 1, i, 1, 0) for i in (1, 2, 3, 4)]
    tell, cancel = Event(5, "tell", 2, 1, None, 0, 0.25), Event(6, "cancel", 2, 2, None, 0)
    expire, late = Event(7, "expire", 2, 3, None, 0, 0.0), Event(8, "late", 3, 2, None, 0, 1.0)
    store = place.owner(replace(START, events=linked([*asks, tell, cancel, expire, late])))
    found = [store.outcome(1, decision) for decision in (1, 2, 3, 4)]
    assert [event and event[:7] for event in found] == [tell[:7], cancel[:7], expire[:7], None]
    found = [store.late(1, decision) for decision in (1, 2)]
    assert [event and event[:7] for event in found] == [None, late[:7]]


def test_the_last_start_before_a_row_is_found(place: Place) -> None:
    kinds = ["start", "ask", "start", "ask", "ask"]
    rows = linked([Event(i, kind, 1, i) for i, kind in enumerate(kinds, 1)])
    store = place.owner(replace(START, events=rows))
    found = [store.last_start(1, seq) for seq in range(6)]
    assert [event.seq if event else None for event in found] == [None, 1, 1, 3, 3, 3]


@pytest.mark.parametrize(
    ("statement", "index", "values"),
    [
        (sql.EVENTS, "PRIMARY KEY (version=? AND seq>?)", (1, 5, 10)),
        (sql.OUTCOME, "INDEX outcome (version=? AND decision=?)", (1, 5)),
        (sql.LATE, "INDEX late (version=? AND decision=?)", (1, 5)),
        (sql.BY_KEY, "INDEX request (version=? AND key=?)", (1, "k")),
        (sql.LAST_START, "INDEX start (version=? AND seq<?)", (1, 1, 4000)),
    ],
    ids=["events", "outcome", "late", "key", "start"],
)
def test_sqlite_never_reads_the_whole_log(
    tmp_path: Path, statement: str, index: str, values: tuple[Any, ...]
) -> None:
    store = SqliteStore(tmp_path / "x.db")
    store.claim()
    store.close()
    connection = sqlite3.connect(store.path)
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    connection.close()
    assert any(f"USING {index}" in step for step in plan), plan
    assert not any("(version=?)" in step or "SCAN" in step for step in plan), plan
    assert "PRIMARY KEY (version=? AND seq<?)" not in str(plan)


def test_pages_follow_each_other_without_gap_or_overlap(place: Place) -> None:
    rows = linked([Event(i, "tell", i, i, 1, 0, i / 7) for i in range(1, PAGE + 4)])
    store = place.owner(replace(START, events=rows))
    assert [event.seq for event in store.events(1, after=4, limit=3)] == [5, 6, 7]
    assert store.events(1, after=PAGE + 3) == store.events(1, limit=0) == []
    assert len(store.events(1)) == PAGE
    assert list(all_events(store, 1)) == [event for _, event in rows]


# --- hostile and extreme values

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
WHOLE = st.none() | st.integers(-LARGEST - 1, LARGEST)
ROWS = st.tuples(
    st.just("mark"), st.integers(0, LARGEST), WHOLE, WHOLE, WHOLE,
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | TEXTS, st.none() | TEXTS,
)  # fmt: skip


def by_key(row: tuple[Any, ...]) -> object:
    """What makes rows different: their keys, where they have one."""
    return object() if row[6] is None else row[6]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=st.lists(ROWS, max_size=8, unique_by=by_key))
def test_rows_come_back_bit_for_bit_and_their_chain_holds(
    place: Place, rows: list[tuple[Any, ...]]
) -> None:
    store = place.opened[0] if place.opened else place.owner()
    version = len(store.versions()) + 1
    made = VersionRow(version, 2, version, f"v{version}", "{}", "f1", 5, 0, b"")
    numbered = [Event(seq, *row) for seq, row in enumerate(rows)]
    written = [event for _, event in linked(numbered, made.uid)]
    store.commit(Changes(versions=[made], events=[(version, event) for event in written]))
    read = store.events(version, after=-1)
    assert read == written
    assert list(damages(read, -1, first_link(made.uid))) == []
    assert all(repr(event.value) == "0.0" for event in read if event.value == 0)
    for event in written:
        assert event.key is None or store.by_key(version, event.key) == event


HOSTILE = [
    "'; DROP TABLE event; --", '"', "%s %(a)s %", "?", "\\", "\\N", "\\.", "\\x00", "a\tb\nc\r\n",
    "\x01\x7f", "é", "e\u0301", "🙂" * 200, "\ufeff\u202e", " ", "{lock}", "null",
]  # fmt: skip


def test_hostile_texts_are_texts(place: Place) -> None:
    store = place.owner()
    rows = [Event(i, "ask", 1, i, key=text, body=text) for i, text in enumerate(HOSTILE, 1)]
    store.commit(replace(events(*rows), structures=[(text, text) for text in HOSTILE]))
    for seq, text in enumerate(HOSTILE, 1):
        found = store.by_key(1, text)
        assert found is not None
        assert (found.seq, found.key, found.body) == (seq, text, text)
        assert store.structure(text) == text


@pytest.mark.parametrize("text", ["a\0b", "\0", "half \ud83d", "\udcff"])
def test_texts_that_not_every_store_keeps_are_refused_by_all(place: Place, text: str) -> None:
    store = place.owner()
    before = content(store)
    refused = [
        Changes(events=[(1, Event(1, "ask", 1, 1, key=text))]),
        Changes(events=[(1, Event(1, "learn", 1, body=text))]),
        Changes(structures=[("f2", text)]),
        Changes(experiments=[ExperimentRow(2, text, 1)]),
        Changes(versions=[VersionRow(2, 1, 2, text, "{}", "f1", 5, 0, b"")]),
        Changes(tokens=[TOKEN._replace(name=text)]),
    ]
    for changes in refused:
        with pytest.raises(StoreError, match="NUL or half of a surrogate pair"):
            store.commit(changes)
    assert content(store) == before
    assert store.by_key(1, text) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_values_that_are_not_finite_are_refused(place: Place, value: float) -> None:
    store = place.owner()
    with pytest.raises(StoreError, match=r"row 1 \(tell\): its value is -?(nan|inf)"):
        store.commit(events(Event(1, "tell", 1, 1, value=value)))
    assert store.events(1) == []


def test_numbers_beyond_64_bits_are_refused_and_not_found(place: Place) -> None:
    store = place.owner()
    for number in (LARGEST + 1, -LARGEST - 2, 10**40):
        with pytest.raises(StoreError):
            store.commit(events(Event(1, "tell", 1, number)))
        assert store.outcome(1, number) is store.late(number, 1) is None
    assert store.events(1) == []


# --- all or nothing, and once

TELL = Event(1, "tell", 1, 7, 1, 0, 1.0, "k")
TWICE = {
    "a number": Event(1, "mark", 1),
    "an outcome": Event(2, "tell", 1, 7, value=0.0),
    "another outcome": Event(2, "cancel", 1, 7),
    "an expiry": Event(2, "expire", 1, 7),
    "a key": Event(2, "learn", 1, key="k"),
}


@pytest.mark.parametrize("what", TWICE)
def test_nothing_counts_twice(place: Place, what: str) -> None:
    store = place.owner(replace(START, events=linked([TELL])))
    before = content(store)
    with pytest.raises(StoreError):
        store.commit(Changes(events=[(1, TWICE[what]._replace(chain=b"c"))]))
    assert content(store) == before


def test_a_late_reward_counts_once_beside_the_cancelled_one(place: Place) -> None:
    store = place.owner(replace(START, events=linked([Event(1, "cancel", 1, 7)])))
    store.commit(Changes(events=[(1, Event(2, "late", 1, 7, value=1.0, chain=b"c"))]))
    with pytest.raises(StoreError):
        store.commit(Changes(events=[(1, Event(3, "late", 1, 7, value=1.0, chain=b"c"))]))
    assert [event.kind for event in store.events(1)] == ["cancel", "late"]


def test_versions_do_not_share_decisions_or_keys(place: Place) -> None:
    store = place.owner(replace(START, events=linked([TELL])))
    store.commit(Changes(events=[(2, TELL)]))
    assert store.by_key(1, "k") is not None
    assert store.by_key(2, "k") == store.outcome(2, 7) == TELL


@pytest.mark.parametrize(
    "last",
    [
        Changes(versions=[VersionRow(2, 1, 2, UID, "{}", "f1", 5, 0, b"")]),  # a uid that is taken
        Changes(versions=[VersionRow(2, 1, 1, "u2", "{}", "f1", 5, 0, b"")]),  # a number that is
        Changes(experiments=[ExperimentRow(2, "shop", 2)]),  # a name that is
        Changes(snapshots=[Saved(1, 5, b"", b"")] * 2),
        Changes(tokens=[TOKEN._replace(id="id2", name=None)]),  # type: ignore[arg-type]
    ],
    ids=["uid", "number", "name", "snapshot", "null"],
)
def test_a_commit_that_fails_at_its_end_writes_nothing_at_all(place: Place, last: Changes) -> None:
    store = place.owner()
    before = content(store)
    all_else = Changes(
        events=linked([TELL]),
        experiments=[ExperimentRow(1, "shop", 9), ExperimentRow(3, "new", 3)],
        versions=[VersionRow(3, 3, 1, "u3", "{}", "f2", 5, 0, b"")],
        structures=[("f2", "{}")],
        closed=[(CLOSED, 1)],
        snapshots=[Saved(1, 1, b"d", b"s")],
        tokens=[TOKEN],
    )
    whole = Changes(**{name: rows + vars(last)[name] for name, rows in vars(all_else).items()})
    with pytest.raises(StoreError):
        store.commit(whole)
    assert content(store) == content(place.store()) == before
    store.reopen()
    assert content(store) == before
    store.commit(all_else)
    assert store.structure("f2") == "{}"
    assert store.events(1)[0].key == "k"


def test_readers_see_whole_transactions_only(place: Place) -> None:
    store = place.owner()
    seen: list[tuple[int, int]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            after = len(store.events(1))
            seen.append((store.versions()[0].head, after))

    reader = threading.Thread(target=read)
    reader.start()
    rows = linked([Event(i, "ask", 1, i) for i in range(1, 121)])
    for start in range(0, 120, 4):
        store.commit(Changes(events=rows[start : start + 4]))
    done.set()
    reader.join()
    assert all(head % 4 == 0 and count % 4 == 0 and count <= head for head, count in seen)
    assert len(store.events(1)) == store.versions()[0].head == 120


# --- snapshots


def test_the_newest_snapshots_and_the_anchors_are_kept(place: Place) -> None:
    store = place.owner()
    for seq in (10, 20, 30, 40, 50):
        store.commit(Changes(snapshots=[Saved(1, seq, b"d", b"s", int(seq in (10, 50)))]))
        store.commit(Changes(snapshots=[Saved(2, seq + 1, b"d", b"s")]))
    assert [saved.seq for saved in store.snapshots(1)] == [50, 40, 30, 10]
    assert [saved.seq for saved in store.snapshots(2)] == [51, 41, 31]


# --- one owner


def test_one_process_owns_a_store(place: Place) -> None:
    first, second = place.store(), place.store()
    assert first.claim() == 1
    with pytest.raises(OwnedElsewhereError, match=r"in use by process \d+ on "):
        second.claim()
    with pytest.raises(StoreError, match="not open for writing"):
        second.commit(START)
    first.commit(START)
    first.beat()
    first.close()
    assert second.claim() == 2
    second.close()
    assert first.claim() == 3
    assert first.experiments() == START.experiments


def test_nobody_writes_after_giving_the_store_up(place: Place) -> None:
    store = place.owner()
    store.close()
    with pytest.raises(StoreError, match="not open for writing"):
        store.commit(Changes(tokens=[TOKEN]))
    assert store.tokens() == []


def test_an_owner_who_was_replaced_writes_nothing(place: Place) -> None:
    first = place.owner()
    before = content(first)
    replace_owner(first)
    for _ in range(2):
        with pytest.raises(OwnedElsewhereError, match="another process has taken over"):
            first.commit(replace(events(TELL), tokens=[TOKEN]))
    assert content(first) == before


def test_an_owner_who_was_replaced_cannot_reopen(place: Place) -> None:
    first = place.owner()
    replace_owner(first)
    with pytest.raises(OwnedElsewhereError):
        first.reopen()
    with pytest.raises(StoreError):
        first.commit(events(TELL))
    assert place.store().events(1) == []


def test_a_store_of_a_newer_library_is_refused(place: Place) -> None:
    place.owner().close()
    place.run("UPDATE meta SET value = '99' WHERE key = 'schema'")
    with pytest.raises(StoreError, match="it has schema 99, and this version"):
        place.store().claim()


def test_a_store_of_the_first_schema_is_sealed_by_its_next_owner(place: Place) -> None:
    place.owner().close()
    place.run("DELETE FROM meta WHERE key = 'seal'")
    place.run("UPDATE meta SET value = '1' WHERE key = 'schema'")
    with pytest.raises(StoreError, match="an older version has written it"):
        place.make(readonly=True)
    assert place.store().claim() == 2
    reader = place.make(readonly=True)
    place.opened.append(reader)
    assert reader.faults() == []


def test_damage_that_was_sealed_shows_for_ever(place: Place) -> None:
    store = place.owner(replace(START, tokens=[TOKEN, TOKEN._replace(id="id2")]))
    assert store.faults() == []
    place.run("DELETE FROM token WHERE id = 'id2'")
    for number in (3, 4):
        assert not store.is_sealed()
        store.commit(Changes(tokens=[TOKEN._replace(id=f"id{number}")]))
    store.close()
    assert store.claim() == 2
    assert not store.is_sealed()
    place.run("INSERT INTO token VALUES ('id2', 'Ann', 'hash', 'admin', 'null', 5, NULL)")
    assert store.is_sealed()


@pytest.mark.parametrize("table", ["meta", "event"])
def test_tables_of_somebody_else_are_refused_and_left_alone(place: Place, table: str) -> None:
    place.run(f"CREATE TABLE {table}(key TEXT, value TEXT)")
    place.run(f"INSERT INTO {table} VALUES ('a', 'b')")
    with pytest.raises(StoreError):
        place.store().claim()
    place.run(f"ALTER TABLE {table} RENAME COLUMN value TO other")  # as it was, and not locked


def test_what_is_no_store_cannot_be_read(place: Place) -> None:
    with pytest.raises(StoreError):
        place.store().experiments()
    with pytest.raises(StoreError, match=r"No such file|not made by structured-bandits"):
        place.make(readonly=True)


def test_one_who_only_reads_is_told_of_a_newer_library_at_once(place: Place) -> None:
    place.owner().close()
    assert place.make(readonly=True).experiments() == START.experiments
    place.run("UPDATE meta SET value = '99' WHERE key = 'schema'")
    place.run("UPDATE meta SET value = '99:0' WHERE key = 'seal'")
    with pytest.raises(StoreError, match="it has schema 99, and this version"):
        place.make(readonly=True)
