"""What the service keeps, and what every database under it can do.

One process owns a store. It writes through one connection, in transactions that contain everything that
was decided while the last one was being written. Each transaction checks the store's epoch, which rises
when another process takes over: a process that was replaced cannot write any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.experiment.events import Event

SCHEMA = 2
KEPT_SNAPSHOTS = 3  # of each version; besides those that follow a change of the code
OPEN, CLOSED, ARCHIVED = (
    0,
    1,
    2,
)  # nothing follows a closed version; the rows of archived ones are away
PAGE = 10_000  # rows that are read at once


class StoreError(StructuredBanditsError):
    """The store cannot be used as it is."""


class OwnedElsewhereError(StoreError):
    """Another process owns the store."""


class DamagedError(StoreError):
    """What the store holds is not what was written."""


class ContradictionError(StoreError):
    """What was to be written contradicts a row that is there; nothing of the transaction was written."""


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


class Store(Protocol):
    """A database under the service."""

    where: str  # for people: the file, or the address without a password

    def claim(self) -> int:
        """Become the owner; return the new epoch. Raises OwnedElsewhereError."""

    def commit(self, changes: Changes) -> None:
        """Write everything or nothing; when this returns, it outlives a loss of power.

        Raises OwnedElsewhereError if another process has taken over: then nothing is written, now or
        later. Raises StoreError if it fails; if the connection was lost, only reading after `reopen`
        tells whether it was written.
        """

    def reopen(self) -> None:
        """Drop all connections and open new ones, after a commit that failed; still the owner.

        Raises OwnedElsewhereError if that is not so, StoreError while the database cannot be reached.
        """

    def close(self) -> None:
        """Give the store up."""

    def beat(self) -> None:
        """Say that the owner is alive, where another process watches that.

        Raises as `commit` does: an owner who has nothing to write hears here that it was replaced.
        """

    def is_sealed(self) -> bool:
        """Return whether experiments, versions and tokens are what was written (`seal.py`)."""

    def faults(self) -> list[str]:
        """Return what is wrong with the database itself, in sentences."""

    def experiments(self) -> list[ExperimentRow]:
        """Return all experiments."""

    def versions(self) -> list[VersionRow]:
        """Return all versions, in the order in which they were made."""

    def structure(self, digest: str) -> str:
        """Return the description of a structure as JSON."""

    def events(self, version: int, after: int = 0, limit: int = PAGE) -> list[Event]:
        """Return rows in order, those with higher numbers than `after`."""

    def outcome(self, version: int, decision: int) -> Event | None:
        """Return what became of a decision: the row that tells, cancels or expires it."""

    def late(self, version: int, decision: int) -> Event | None:
        """Return the row with which the reward of a cancelled decision came late."""

    def by_key(self, version: int, key: str) -> Event | None:
        """Return the row with a key."""

    def last_start(self, version: int, seq: int) -> Event | None:
        """Return the last `start` up to row `seq`: it says which code wrote that row."""

    def snapshots(self, version: int) -> list[Saved]:
        """Return the snapshots of a version, the newest first."""

    def tokens(self) -> list[TokenRow]:
        """Return all tokens."""


def all_events(store: Store, version: int, after: int = 0) -> Iterator[Event]:
    """Yield all rows of a version after number `after`, a page at a time.

    Raises DamagedError if their numbers do not rise: a damaged table may lead back to its beginning.
    """
    while page := store.events(version, after):
        for event in page:
            if event.seq <= after:
                raise DamagedError(f"row {event.seq} follows row {after}")
            after = event.seq
            yield event
