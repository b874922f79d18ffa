"""An experiment in memory: the version that is asked, and those that still wait for rewards."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.refusals import NotFound
from structured_bandits.service.rows import ExperimentRow, VersionRow
from structured_bandits.service.store.log_index import LogIndex

#: As `public_id` writes them, and in no other way: without zeros before the number.
ID = re.compile(r"([0-9a-f]{12})-(?:p([1-9][0-9]{0,17})|(0|[1-9][0-9]{0,17}))")


def new_uid() -> str:
    """Return the name of a version that no other has, in any database."""
    return secrets.token_hex(6)


class Place(NamedTuple):
    """A decision, found: the version and its number there."""

    version: RunningVersion
    decision: int


@dataclass
class RunningVersion:
    """A version: what the store says of it, and its state unless it is closed."""

    row: VersionRow
    past: LogIndex
    state: ExperimentState | None
    cost: float = 0.0  # seconds that a restart would take to replay what follows the last snapshot
    snapshot_cost: float = 0.0  # seconds that the last snapshot took
    snapshot_at: int | None = None
    replay_seconds: float | None = None

    @property
    def uid(self) -> str:
        """What the ids of its decisions begin with."""
        return self.row.uid


@dataclass
class RunningExperiment:
    """An experiment."""

    row: ExperimentRow
    versions: list[RunningVersion] = field(default_factory=list)  # oldest first
    warnings: list[str] = field(default_factory=list)  # of the last restart

    @property
    def name(self) -> str:
        """Its name."""
        return self.row.name

    @property
    def current(self) -> RunningVersion:
        """The version that is asked."""
        return self.versions[-1]

    def is_whole(self) -> bool:
        """Return whether there is a version that can be asked."""
        return bool(self.versions) and self.current.state is not None

    @property
    def state(self) -> ExperimentState:
        """The state of the version that is asked."""
        state = self.current.state
        assert state is not None  # the current version is never closed
        return state

    def find(self, public_id: str) -> Place:
        """Return the decision with a public id; raises NotFound."""
        form = ID.fullmatch(public_id)
        for version in self.versions:
            if form and version.uid == form[1]:
                return Place(version, int(form[3]) if form[3] else -int(form[2]))
        raise NotFound(f"There is no decision {public_id!r} in the experiment {self.name!r}.")

    def find_key(self, key: str) -> Place:
        """Return the decision that was asked for with a key, in the newest version that knows it."""
        for version in reversed(self.versions):
            event = version.past.by_key(key)
            if event is None:
                continue
            if event.kind != "ask" or event.n != 1 or event.decision is None:
                raise NotFound(
                    f"The key {key!r} is not that of an ask for one decision; name it by its id."
                )
            return Place(version, event.decision)
        raise NotFound(f"Nothing was asked with the key {key!r} in the experiment {self.name!r}.")
