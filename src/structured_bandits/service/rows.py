"""The rows that the service keeps: of logs, with the chain of hashes that links them, and of tables.

The log of a version of an experiment is its truth: whatever the service knows follows from these rows.
Each row holds a hash of itself and of the row before it, so a row that was changed, lost or moved is
found by reading the log once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import json

CHAIN_BYTES = 16

#: Kinds of rows. Each says below what its columns mean; columns that are not named are null.
START = "start"  # a process took over; body: its code, and from where it replayed
ASK = "ask"  # decision: the first; n; arm if n is 1, else body; key; body: see choosing.ask_body
TELL = "tell"  # decision, arm, value; key
CANCEL = "cancel"  # decision, arm
EXPIRE = "expire"  # decision, arm; value: what counts instead of its reward, null for none
SETTLE = "settle"  # decision: rewards of all before it now count; n: how many there were
LATE = "late"  # decision, arm, value: the reward of a decision that was cancelled counts after all
ACTIVATE = "activate"  # decision: it was shown
LEARN = "learn"  # key; body: pulls, sums, squares
RESULTS = "results"  # decision: the first of the batch; key; body: pulls, sums, squares
PARK = "park"  # arm; n: 1 for parked, 0 for not
PAUSE = "pause"
RESUME = "resume"
FALLBACK = "fallback"  # the structure is refuted; body: what is played now, by which older version
CARRY = "carry"  # body: pulls, sums, squares, where they are from, and `tested`
FORWARD = "forward"  # body: pulls, sums, squares of late rewards of an older version, and `tested`
RETIRE = "retire"  # another version is asked from now on; n: what it is handed, as in `NOTHING`
CLOSE = "close"  # no reward is out any more; nothing will follow
MARK = "mark"  # a snapshot was saved with this row; n: 1 if it is an anchor, which stays

# `tested` says which of the results count in the test of the structure: false for none, else their
# pulls, sums and squares. Without it all do: what a specification says to begin with, and rows of the
# first stores.

#: Of each decision there is at most one row of these kinds.
OUTCOMES = (TELL, CANCEL, EXPIRE)


class Event(NamedTuple):
    """A row of the log."""

    seq: int
    kind: str
    at: int  # milliseconds since 1970; never lower than in the row before
    decision: int | None = None
    n: int | None = None
    arm: int | None = None
    value: float | None = None
    key: str | None = None
    body: str | None = None  # JSON
    chain: bytes = b""

    def content(self) -> dict[str, Any]:
        """Return the body as a record; empty if there is none."""
        return json.decode(self.body) if self.body else {}


def body_of(content: dict[str, Any]) -> str | None:
    """Return a record as the body of a row: JSON without what is None."""
    said = {name: value for name, value in content.items() if value is not None}
    return json.encode(said).decode() if said else None


def public_id(uid: str, decision: int) -> str:
    """Return the id of a decision for clients: no other version has the same.

    >>> public_id("0123456789ab", 17), public_id("0123456789ab", -3)
    ('0123456789ab-17', '0123456789ab-p3')
    """
    return f"{uid}-{decision}" if decision >= 0 else f"{uid}-p{-decision}"


def first_link(uid: str) -> bytes:
    """Return what the first row of a version is linked to: no two versions have the same chain."""
    return hashlib.blake2b(uid.encode(), digest_size=CHAIN_BYTES).digest()


def link(before: bytes, event: Event) -> bytes:
    """Return the hash of a row and of all before it.

    Texts are the last two parts and come with their lengths, so that different rows never give the same
    bytes. The value counts as it will be read: as a plain number, and zero without a sign.
    """
    seq, kind, at, decision, n, arm, value, key, body, _ = event
    if value is not None:
        value = float(value) + 0.0
    lengths = f"{-1 if key is None else len(key)}|{-1 if body is None else len(body)}"
    text = f"{seq}|{kind}|{at}|{decision}|{n}|{arm}|{value!r}|{lengths}|{key or ''}|{body or ''}"
    return hashlib.blake2b(before + text.encode(), digest_size=CHAIN_BYTES).digest()


class Damage(NamedTuple):
    """A place where the log is not what was written."""

    seq: int
    what: str


def damages(events: Iterable[Event], seq: int, chain: bytes) -> Iterator[Damage]:
    """Yield where rows are not linked to the ones before; the first follows row `seq` with `chain`."""
    for event in events:
        if event.seq != seq + 1:
            yield Damage(event.seq, f"row {seq + 1} is missing: row {event.seq} follows row {seq}")
        elif link(chain, event) != event.chain:
            yield Damage(event.seq, f"row {event.seq} ({event.kind}) is not what was written")
        seq, chain = event.seq, event.chain


#: Nothing follows a closed version; the rows of archived ones are away.
OPEN, CLOSED, ARCHIVED = range(3)


class ExperimentRow(NamedTuple):
    """An experiment: its name and the version that is asked."""

    id: int
    name: str
    current: int  # id of a version


class VersionRow(NamedTuple):
    """A version of an experiment, and the end of its log."""

    id: int
    experiment: int
    number: int  # from 1
    uid: str
    spec: str  # JSON, without its structure
    structure: str  # the hash of the description of its structure
    made_at: int
    head: int  # the number of the last row
    chain: bytes  # its hash
    closed: int = 0  # OPEN, CLOSED or ARCHIVED


class Saved(NamedTuple):
    """A snapshot: the state after row `seq`."""

    version: int
    seq: int
    digest: bytes
    state: bytes
    anchor: int = 0  # 1: the first one after the code has changed: never thinned out


class TokenRow(NamedTuple):
    """A token; of its secret only a hash is kept."""

    id: str
    name: str
    hash: str
    role: str
    experiments: str  # JSON: a list of names, or null for all
    made_at: int
    revoked_at: int | None = None


@dataclass
class Changes:
    """What one transaction writes."""

    events: list[tuple[int, Event]] = field(default_factory=list)  # with the id of the version
    experiments: list[ExperimentRow] = field(
        default_factory=list
    )  # new, or another current version
    versions: list[VersionRow] = field(default_factory=list)
    structures: list[tuple[str, str]] = field(default_factory=list)  # hash, JSON
    closed: list[tuple[int, int]] = field(
        default_factory=list
    )  # CLOSED or ARCHIVED, and the version
    snapshots: list[Saved] = field(default_factory=list)
    tokens: list[TokenRow] = field(default_factory=list)  # new, or revoked

    def __len__(self) -> int:
        return sum(map(len, vars(self).values()))

    def archived(self) -> list[tuple[int]]:
        """Return the versions whose rows and snapshots leave the store."""
        return [(version,) for state, version in self.closed if state == ARCHIVED]

    def parts(self, experiment_of: Mapping[int, int]) -> dict[int | None, Changes]:
        """Return the changes of each experiment by itself; under None those of none, such as tokens.

        `experiment_of` says which experiment a version belongs to that is in the store already.
        """
        owner = {**experiment_of, **{row.id: row.experiment for row in self.versions}}
        parts: dict[int | None, Changes] = {}

        def part(experiment: int | None) -> Changes:
            return parts.setdefault(experiment, Changes())

        for row in self.experiments:
            part(row.id).experiments.append(row)
        bodies = dict(self.structures)
        for version in self.versions:
            found = part(version.experiment)
            found.versions.append(version)
            found.structures.append((version.structure, bodies[version.structure]))
        for event in self.events:
            part(owner[event[0]]).events.append(event)
        for closed in self.closed:
            part(owner[closed[1]]).closed.append(closed)
        for saved in self.snapshots:
            part(owner[saved.version]).snapshots.append(saved)
        if self.tokens:
            part(None).tokens += self.tokens
        return parts

    @classmethod
    def joined(cls, parts: Iterable[Changes]) -> Changes:
        """Return all changes of several parts."""
        whole = cls()
        for part in parts:
            for name, rows in vars(part).items():
                getattr(whole, name).extend(rows)
        return whole

    def heads(self) -> dict[int, tuple[int, bytes]]:
        """Return the last row of each version: its number and hash."""
        return {version: (event.seq, event.chain) for version, event in self.events}
