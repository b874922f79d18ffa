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
    from structured_bandits.service.running.registry import Registry


def server_reading(registry: Registry) -> ServerReading:
    """Return how the server stands."""
    experiments = [_experiment(each) for each in registry.experiments.values()]
    return ServerReading(registry.writer.queued, registry.refusal is not None, experiments)


def _experiment(experiment: RunningExperiment) -> ExperimentReading:
    state, now = experiment.state, experiment.registry.clock.now()
    agent = state.agent
    names = state.spec.arm_names
    arms = []
    if len(names) <= MOST_ARMS:
        for name, pulls, total in zip(names, agent.pulls, agent.sums, strict=True):
            arms.append(ArmReading(name, int(pulls), float(total / pulls) if pulls else None))
    saved = experiment.current.snapshot_at
    return ExperimentReading(
        name=experiment.name,
        pending=agent.pending_count,
        active_arms=len(agent.active_arms),
        held=len(state.held),
        oldest_pending_seconds=oldest_seconds(experiment, now),
        alarms=[alarm.kind for alarm in alarms_of(experiment)],
        snapshot_age_seconds=None if saved is None else (now - saved) / 1000.0,
        replay_seconds=experiment.current.replay_seconds,
        epoch=experiment.registry.epoch,
        decided=None if state.spec.stop is None else agent.settled_arm is not None,
        arms=arms,
    )


def oldest_seconds(experiment: RunningExperiment, now: int) -> float | None:
    """Return the age of the oldest decision whose reward is out."""
    oldest = experiment.state.agent.oldest_out
    return (
        None
        if oldest is None
        else max(0.0, (now - experiment.state.times.time_of(oldest)) / 1000.0)
    )
