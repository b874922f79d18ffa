"""A version of an experiment in memory, and what is answered about one that is closed."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.refusals import Conflict, NotFound
from structured_bandits.service.rows import ARCHIVED, EXPIRE, TELL, Event, VersionRow, public_id
from structured_bandits.service.store.log_index import LogIndex


def new_uid() -> str:
    """Return the name of a version that no other has, in any database."""
    return secrets.token_hex(6)


@dataclass
class RunningVersion:
    """A version: what the store says of it, and its state unless it is closed."""

    row: VersionRow
    log: LogIndex
    state: ExperimentState | None
    cost: float = 0.0  # seconds that a restart would take to replay what follows the last snapshot
    snapshot_cost: float = 0.0  # seconds that the last snapshot took
    snapshot_at: int | None = None
    replay_seconds: float | None = None

    @property
    def uid(self) -> str:
        """What the ids of its decisions begin with."""
        return self.row.uid


class DecisionPlace(NamedTuple):
    """A decision, found: the version and its number there."""

    version: RunningVersion
    decision: int


def closed_status(place: DecisionPlace, reward: float) -> str:
    """Return what becomes of a reward for a closed version, of which nothing is out."""
    outcome = check_closed(place, unchanged=(TELL, EXPIRE))
    late = place.version.log.late(place.decision) if outcome.kind == EXPIRE else None
    told = late or outcome
    if told.kind != EXPIRE and told.value == reward:
        return "duplicate"
    name = public_id(place.version.uid, place.decision)
    raise Conflict(f"Decision {name} is settled.", recorded=told.value)


def check_closed(place: DecisionPlace, unchanged: Sequence[str]) -> Event:
    """Return what became of a decision of a closed version; raises unless it is one of these."""
    name = public_id(place.version.uid, place.decision)
    if place.version.row.closed == ARCHIVED:
        raise Conflict(f"Decision {name} is of a version that was archived: all is settled.")
    outcome = place.version.log.outcome(place.decision)
    if outcome is None and place.decision < 0:
        raise Conflict(f"Decision {name} was made in a pause of a version that is closed.")
    if outcome is None:
        raise NotFound(f"Decision {name} was never handed out by itself.")
    if outcome.kind not in unchanged:
        raise Conflict(f"Decision {name} is settled.", recorded=outcome.value)
    return outcome
