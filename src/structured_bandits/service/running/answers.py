"""Answers to asks, made from their rows: a request that comes again gets the same."""

from __future__ import annotations

from structured_bandits import wire
from structured_bandits.service.experiment.choosing import choices_of
from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.rows import Event


def asked_answer(state: ExperimentState, event: Event, repeated: bool = False) -> wire.Asked:
    """Return the answer to an ask, from its row."""
    names, first = state.spec.arm_names, event.decision or 0
    decisions = tuple(
        wire.Decision(
            id=state.name_of(number),
            arm=choice.arm,
            name=names[choice.arm],
            reason=choice.reason,
            propensity=choice.propensity,
        )
        for number, choice in enumerate(choices_of(event), start=first)
    )
    return wire.Asked(decisions=decisions, repeated=repeated)


def batch_answer(state: ExperimentState, event: Event, repeated: bool = False) -> wire.Batch:
    """Return the answer to a request for a plan, from its row."""
    pulls = tuple(event.content()["pulls"])
    return wire.Batch(id=state.name_of(event.decision or 0), pulls=pulls, repeated=repeated)
