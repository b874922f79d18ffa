"""Older versions of an experiment: rewards that still come for them go on to the current one.

Each version tests its own decisions, in the order of asking. So what is forwarded counts for the policy
alone, and an alarm is handed on if the structure is still the same.
"""

from __future__ import annotations

from structured_bandits.service.experiment.accounting import by_name, results_of_rewards
from structured_bandits.service.experiment.experiment_state import Results
from structured_bandits.service.rows import CLOSED
from structured_bandits.service.running.registry import Keeper
from structured_bandits.service.running.running_experiment import RunningExperiment, RunningVersion


def follow(keeper: Keeper, served: RunningExperiment, version: RunningVersion, at: int) -> None:
    """Forward rewards and the alarm of an older version, and close it when it is done."""
    state = version.state
    if state is None or not state.retired:
        return
    rewards, state.outbox = state.outbox, []
    if rewards:
        results = results_of_rewards(rewards, len(state.spec.arm_names))
        forward(keeper, served, version, forwarded(served, version, results), at)
    if served.state.fallen_at is None and state.refutes(served.state):
        with keeper.changing(served.current, follows=True) as newer:
            newer.fall_back(at, version.row.number)
    if state.close_if_done(at):
        keeper.queue(version)
        keeper.writer.open.closed.append((CLOSED, version.row.id))
        version.row = version.row._replace(head=state.seq, chain=state.chain, closed=CLOSED)
        version.state = None


def forwarded(
    served: RunningExperiment, version: RunningVersion, results: Results
) -> Results | None:
    """Return what the current version learns of results of an older one; None if nothing."""
    state = version.state
    if state is None or not state.retired or not state.forwards:
        return None
    named = by_name(results, state.spec.arm_names, served.state.spec.arm_names)
    return named if any(named.pulls) else None


def forward(
    keeper: Keeper,
    served: RunningExperiment,
    version: RunningVersion,
    results: Results | None,
    at: int,
) -> None:
    """Let the current version learn what came late for an older one."""
    if results is not None:
        with keeper.changing(served.current, follows=True) as state:
            state.forward(results, version.row.number, at)
