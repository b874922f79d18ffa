"""Older versions of an experiment: rewards that still come for them go on to the current one.

Each version tests its own decisions, in the order of asking. So what is forwarded counts for the policy
alone, and an alarm is handed on if the structure is still the same.
"""

from __future__ import annotations

from structured_bandits.service.experiment.accounting import by_name, results_of_rewards
from structured_bandits.service.experiment.experiment_state import Results
from structured_bandits.service.rows import CLOSED
from structured_bandits.service.running.registry import Keeper
from structured_bandits.service.running.running_experiment import Served, Version


def follow(keeper: Keeper, served: Served, version: Version, at: int) -> None:
    """Forward rewards and the alarm of an older version, and close it when it is done."""
    life = version.life
    if life is None or not life.retired:
        return
    rewards, life.outbox = life.outbox, []
    if rewards:
        results = results_of_rewards(rewards, len(life.spec.arm_names))
        forward(keeper, served, version, forwarded(served, version, results), at)
    if served.life.fallen_at is None and life.refutes(served.life):
        with keeper.changing(served.current, follows=True) as newer:
            newer.fall_back(at, version.row.number)
    if life.close_if_done(at):
        keeper.queue(version)
        keeper.writer.open.closed.append((CLOSED, version.row.id))
        version.row = version.row._replace(head=life.seq, chain=life.chain, closed=CLOSED)
        version.life = None


def forwarded(served: Served, version: Version, results: Results) -> Results | None:
    """Return what the current version learns of results of an older one; None if nothing."""
    life = version.life
    if life is None or not life.retired or not life.forwards:
        return None
    named = by_name(results, life.spec.arm_names, served.life.spec.arm_names)
    return named if any(named.pulls) else None


def forward(
    keeper: Keeper, served: Served, version: Version, results: Results | None, at: int
) -> None:
    """Let the current version learn what came late for an older one."""
    if results is not None:
        with keeper.changing(served.current, follows=True) as life:
            life.forward(results, version.row.number, at)
