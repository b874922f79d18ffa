"""Rows out of a store: a row for each decision, and the archive of closed versions.

A version is closed when another one is asked and none of its rewards are out. Its log is only needed to
answer repeated rewards and to check it; both end with its rows. So its links are checked for the last
time, and what is archived is written to the disk and read back before anything is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from structured_bandits.base.extras import needs
from structured_bandits.base.writing import make_folder, write_whole
from structured_bandits.errors import OutputError, ParameterError
from structured_bandits.service import rows as kinds
from structured_bandits.service.experiment.choosing import choices_of, wanted_of
from structured_bandits.service.experiment.replay import spec_of
from structured_bandits.service.rows import (
    ARCHIVED,
    CLOSED,
    Changes,
    Event,
    VersionRow,
    damages,
    first_link,
    public_id,
)
from structured_bandits.service.store_protocol import Store, StoreError, all_events

COLUMNS = (
    "experiment",
    "version",
    "id",
    "key",
    "asked_at",
    "arm",
    "name",
    "reason",
    "propensity",
    "available",
    "outcome",
    "reward",
    "told_at",
)
OUTCOMES = {kinds.TELL: "told", kinds.CANCEL: "cancelled", kinds.EXPIRE: "expired"}
Row = dict[str, Any]


def export(store: Store, names: Sequence[str], path: Path) -> int:
    """Write all decisions of experiments into a file, .ndjson or .parquet; return how many.

    Decisions in batches are left out: their rewards are only known together.
    """
    if path.suffix not in (".ndjson", ".parquet"):
        raise ParameterError(f"{path}: expected a name that ends in .ndjson or .parquet")
    experiments = {row.id: row.name for row in store.experiments()}
    rows: list[Row] = []
    for version in store.versions():
        name = experiments[version.experiment]
        if (not names or name in names) and version.closed != ARCHIVED:
            rows += rows_of_version(store, version, name)
    write_whole(path, _ndjson(rows) if path.suffix == ".ndjson" else _parquet(rows))
    return len(rows)


def rows_of_version(store: Store, version: VersionRow, name: str) -> Iterator[Row]:
    """Yield the decisions of a version, in the order in which they were asked for."""
    arms = spec_of(store, version).arm_names
    decisions: dict[int, Row] = {}
    for event in all_events(store, version.id):
        if event.kind == kinds.ASK:
            decisions |= _asked(version, name, arms, event)
        elif event.decision in decisions:
            _told(decisions[event.decision], event)
    yield from decisions.values()


def _asked(
    version: VersionRow, name: str, arms: Sequence[str], event: Event
) -> Iterable[tuple[int, Row]]:
    wanted, first = wanted_of(event), event.decision or 0
    if wanted.batch:
        return []
    available = None if wanted.available is None else [arms[arm] for arm in wanted.available]
    return [
        (
            number,
            {
                "experiment": name,
                "version": version.number,
                "id": public_id(version.uid, number),
                "key": event.key,
                "asked_at": event.at,
                "arm": choice.arm,
                "name": arms[choice.arm],
                "reason": choice.reason,
                "propensity": choice.propensity,
                "available": available,
                "outcome": "pending",
                "reward": None,
                "told_at": None,
            },
        )
        for number, choice in enumerate(choices_of(event), start=first)
    ]


def _told(row: Row, event: Event) -> None:
    if event.kind == kinds.LATE:
        row["outcome"], row["reward"], row["told_at"] = "told late", event.value, event.at
    elif event.kind in OUTCOMES:
        row["outcome"], row["reward"], row["told_at"] = OUTCOMES[event.kind], event.value, event.at


def _ndjson(rows: Iterable[Row]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _parquet(rows: Sequence[Row]) -> bytes:
    with needs("An export as Parquet", extra="simulate", otherwise="; .ndjson needs nothing more"):
        import pyarrow
        import pyarrow.parquet

    text, whole, real = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    types = [text, whole, text, text, whole, whole, text, text, real]
    types += [pyarrow.list_(text), text, real, whole]
    schema = pyarrow.schema(list(zip(COLUMNS, types, strict=True)))
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows), schema=schema), sink)
    return bytes(sink.getvalue())


def archive(store: Store, folder: Path) -> list[Path]:
    """Move the rows of all closed versions into a folder; `store` must be owned. Return the files."""
    make_folder(folder)
    experiments = {row.id: row.name for row in store.experiments()}
    made = []
    for row in store.versions():
        if row.closed == CLOSED:
            path = folder / f"{experiments[row.experiment]}-version-{row.number}.parquet"
            _move(store, row, path)
            made.append(path)
    return made


def _move(store: Store, row: VersionRow, path: Path) -> None:
    if path.exists():
        raise OutputError(f"{path}: there is such a file already; nothing was moved")
    events = list(all_events(store, row.id))
    damage = next(damages(events, 0, first_link(row.uid)), None)
    if damage is not None:
        raise StoreError(f"{path}: {damage.what}; nothing was moved. `verify` says more")
    write_whole(path, _events_as_parquet(events))
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    if read_archive(path) != list(all_events(store, row.id)):
        raise StoreError(f"{path}: what was written is not what was read back; nothing was deleted")
    store.commit(Changes(closed=[(ARCHIVED, row.id)]))


def _events_as_parquet(events: list[Event]) -> bytes:
    with needs("An archive", extra="simulate"):
        import pyarrow
        import pyarrow.parquet

    text, whole = pyarrow.string(), pyarrow.int64()
    types = [whole, text, whole, whole, whole, whole, pyarrow.float64(), text, text]
    types.append(pyarrow.binary())
    schema = pyarrow.schema(list(zip(Event._fields, types, strict=True)))
    rows = [event._asdict() for event in events]
    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), sink)
    return bytes(sink.getvalue())


def read_archive(path: Path) -> list[Event]:
    """Return the rows of an archived version."""
    with needs("An archive", extra="simulate"):
        import pyarrow.parquet

    return [Event(**row) for row in pyarrow.parquet.read_table(path).to_pylist()]
