"""What a person should look at, in whole sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structured_bandits.policies.horizons import tuned_horizon
from structured_bandits.service.running.running_experiment import RunningExperiment
from structured_bandits.service.wire import Alarm

if TYPE_CHECKING:
    pass

MOST_WAITING = 1_000  # rewards that wait for an older one before somebody is told

PLAYED = {
    "klucb": "KL-UCB on all arms is played now, which needs no structure, with all data.",
    "control": "The control arm is played now.",
    "none": "The policy goes on as before.",
}


def alarms_of(experiment: RunningExperiment) -> list[Alarm]:
    """Return the alarms that ring for an experiment."""
    state = experiment.state
    found = []
    if experiment.registry.refusal is not None:
        found.append(
            Alarm(kind="read-only", text=f"{experiment.registry.refusal} Nothing is recorded.")
        )
    if experiment.stopped is not None:
        found.append(Alarm(kind="stopped", text=experiment.stopped))
    if state.fallen_at is not None:
        whose = "The rewards" if state.refuted else "The rewards of an older version"
        text = (
            f"{whose} refute the structure: it is wrong, or the rewards have changed. "
            f"{PLAYED[state.spec.fallback]}"
        )
        found.append(Alarm(kind="structure", text=text, since=state.fallen_at))
    elif state.spec.fallback != "none" and not state.spec.is_tested:
        text = (
            "The structure is not tested: rewards that come after the window are learned, and they may "
            "be of another kind than those in time. Make a new version with a longer window, or without "
            "a window."
        )
        found.append(Alarm(kind="untested", text=text))
    if state.spec.rewards.window is not None and not experiment.registry.clock.is_trusted():
        text = (
            "The clock of the machine has jumped. No windows are closed until it is confirmed, or has "
            "agreed with the stopwatch for ten minutes."
        )
        found.append(Alarm(kind="clock", text=text))
    horizon = tuned_horizon(state.spec.policy)
    if horizon is not None and state.agent.rewards + state.agent.pending_count > horizon:
        text = (
            f"The policy was tuned for {horizon:,} pulls and is played beyond them. Make a new version "
            "with a longer horizon."
        )
        found.append(Alarm(kind="horizon", text=text))
    oldest = state.agent.oldest_out
    if state.agent.waiting_count >= MOST_WAITING and oldest is not None:
        text = (
            f"{state.agent.waiting_count:,} rewards are not tested yet, because the reward of an older "
            f"decision, {state.name_of(oldest)}, is missing. The alarm for the structure cannot ring "
            "before it is told or cancelled."
        )
        found.append(Alarm(kind="waiting", text=text))
    if state.agent.empty:
        text = (
            "No model fitted the data at some time: a hint that the structure may be wrong, and no "
            "proof of it."
        )
        found.append(Alarm(kind="empty", text=text))
    found += [Alarm(kind="replay", text=warning) for warning in experiment.warnings]
    return found
