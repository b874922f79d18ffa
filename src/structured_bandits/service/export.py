"""A row for each decision: what was asked, what was given and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from structured_bandits.base.extras import needs
from structured_bandits.base.writing import write_whole
from structured_bandits.errors import ParameterError
from structured_bandits.service import events as kinds
from structured_bandits.service.choosing import choices_of, wanted_of
from structured_bandits.service.events import Event, public_id
from structured_bandits.service.served import spec_of
from structured_bandits.service.store import ARCHIVED, Store, VersionRow, all_events

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
