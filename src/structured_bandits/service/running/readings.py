"""How the server stands, for its metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.running.metrics import (
    MOST_ARMS,
    ArmReading,
    ExperimentReading,
    ServerReading,
)
from structured_bandits.service.running.running_experiment import RunningExperiment

if TYPE_CHECKING:
    from structured_bandits.service.running.registry import Keeper


def server_reading(owner: Keeper) -> ServerReading:
    """Return how the server stands."""
    experiments = [_experiment(owner, served) for served in owner.served.values()]
    return ServerReading(owner.writer.queued, owner.refusal is not None, experiments)


def _experiment(owner: Keeper, served: RunningExperiment) -> ExperimentReading:
    state, now = served.state, owner.clock.now()
    agent = state.agent
    names = state.spec.arm_names
    arms = []
    if len(names) <= MOST_ARMS:
        for name, pulls, total in zip(names, agent.pulls, agent.sums, strict=True):
            arms.append(ArmReading(name, int(pulls), float(total / pulls) if pulls else None))
    saved = served.current.snapshot_at
    return ExperimentReading(
        name=served.name,
        pending=agent.pending_count,
        active_arms=len(agent.active_arms),
        held=len(state.held),
        oldest_pending_seconds=oldest_seconds(served, now),
        alarms=[alarm.kind for alarm in alarms_of(owner, served)],
        snapshot_age_seconds=None if saved is None else (now - saved) / 1000.0,
        replay_seconds=served.current.replay_seconds,
        epoch=owner.epoch,
        arms=arms,
    )


def oldest_seconds(served: RunningExperiment, now: int) -> float | None:
    """Return the age of the oldest decision whose reward is out."""
    oldest = served.state.agent.oldest_out
    return None if oldest is None else max(0.0, (now - served.state.times.time_of(oldest)) / 1000.0)
