"""What is answered about decisions of versions that are closed: nothing is out, nothing changes."""

from __future__ import annotations

from collections.abc import Sequence

from structured_bandits.service.refusals import Conflict, NotFound
from structured_bandits.service.rows import ARCHIVED, EXPIRE, TELL, Event, public_id
from structured_bandits.service.running.running_experiment import Place


def closed_status(place: Place, reward: float) -> str:
    """Return what becomes of a reward for a closed version, of which nothing is out."""
    outcome = check_closed(place, unchanged=(TELL, EXPIRE))
    late = place.version.past.late(place.decision) if outcome.kind == EXPIRE else None
    told = late or outcome
    if told.kind != EXPIRE and told.value == reward:
        return "duplicate"
    name = public_id(place.version.uid, place.decision)
    raise Conflict(f"Decision {name} is settled.", recorded=told.value)


def check_closed(place: Place, unchanged: Sequence[str]) -> Event:
    """Return what became of a decision of a closed version; raises unless it is one of these."""
    name = public_id(place.version.uid, place.decision)
    if place.version.row.closed == ARCHIVED:
        raise Conflict(f"Decision {name} is of a version that was archived: all is settled.")
    outcome = place.version.past.outcome(place.decision)
    if outcome is None and place.decision < 0:
        raise Conflict(f"Decision {name} was made in a pause of a version that is closed.")
    if outcome is None:
        raise NotFound(f"Decision {name} was never handed out by itself.")
    if outcome.kind not in unchanged:
        raise Conflict(f"Decision {name} is settled.", recorded=outcome.value)
    return outcome
