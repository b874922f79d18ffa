"""A decision of a service."""

from __future__ import annotations

from typing import NamedTuple

from structured_bandits.wire import Decision

UNREACHABLE = "unreachable"


class RemoteDecision(NamedTuple):
    """An arm to pull; tell its reward under `id`.

    `reason` says why this arm was chosen: "plan", "extra" or "restricted" as in `Decision`, "control"
    (the share on a fixed arm), "audit" (the share on arms that were dropped), "fallback" (the rewards
    refuted the structure), "paused", or "unreachable": the service did not answer, the agent chose its
    control by itself, and `id` is None. `propensity` is the probability with which the arm was chosen,
    None where it is not known.
    """

    id: str | None
    arm: int
    name: str
    extra: bool
    reason: str
    propensity: float | None


def remote_decision(said: Decision) -> RemoteDecision:
    """Return a decision of a service as its client has it."""
    extra = said.reason == "extra"
    return RemoteDecision(said.id, said.arm, said.name, extra, said.reason, said.propensity)
