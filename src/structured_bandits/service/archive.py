"""Moving the rows of closed versions out of the store, into Parquet files.

A version is closed when another one is asked and none of its rewards are out. Its log is only needed to
answer repeated rewards and to check it; both end with its rows. So its links are checked for the last
time, and what is archived is written to the disk and read back before anything is deleted.
"""

from __future__ import annotations

import os
from pathlib import Path

from structured_bandits.base.extras import needs
from structured_bandits.base.writing import make_folder, write_whole
from structured_bandits.errors import OutputError
from structured_bandits.service.events import Event, damages, first_link
from structured_bandits.service.store import (
    ARCHIVED,
    CLOSED,
    Changes,
    Store,
    StoreError,
    VersionRow,
    all_events,
)


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
    write_whole(path, _parquet(events))
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    if read_archive(path) != list(all_events(store, row.id)):
        raise StoreError(f"{path}: what was written is not what was read back; nothing was deleted")
    store.commit(Changes(closed=[(ARCHIVED, row.id)]))


def _parquet(events: list[Event]) -> bytes:
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
