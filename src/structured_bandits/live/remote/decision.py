"""A decision of a service."""

from __future__ import annotations

from typing import Any, NamedTuple

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


def read_decision(said: Any) -> RemoteDecision:
    """Return the decision that some JSON says."""
    reason, propensity = str(said["reason"]), said["propensity"]
    return RemoteDecision(
        str(said["id"]),
        int(said["arm"]),
        str(said["name"]),
        reason == "extra",
        reason,
        None if propensity is None else float(propensity),
    )
