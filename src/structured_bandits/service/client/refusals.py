"""What the service refuses, as the errors of the library: those that an agent here would raise."""

from __future__ import annotations

from structured_bandits.errors import (
    DecisionError,
    ParameterError,
    RewardError,
    ServiceError,
    StructuredBanditsError,
)
from structured_bandits.service.client.calls import Answer

ABOUT_DECISIONS = ("tell", "cancel", "activate", "batches")  # they name a decision or a batch
ABOUT_REWARDS = ("tell", "learn", "batches")


def refusal(address: str, action: str, answer: Answer) -> StructuredBanditsError:
    """Return the error for an answer that does not grant a request for an action, such as "tell"."""
    status, problem = answer.status, answer.problem
    if status in (401, 403):
        why = "refuses the token" if status == 401 else "does not allow this"
        return ServiceError(f"{address} {why}: {answer.reason}", status=status)
    if 300 <= status < 400:
        return ServiceError(
            f"{address} redirects to {answer.headers.get('Location')!r}, which is not followed, since "
            "the token would go there too; if that is the service, make it the url",
            status=status,
        )
    if status < 300 or status >= 500:
        return ServiceError(f"{address} failed: {answer.reason}", status=status, passing=True)
    if problem is None or status in (405, 421):  # no such method there, or another host is meant
        return ServiceError(
            f"{address} is not a decision service, or the url lacks a part: {answer.reason}",
            status=status,
        )
    if (status == 409 and action != "park") or (status == 404 and action in ABOUT_DECISIONS):
        error = DecisionError(answer.reason)
        error.recorded = problem.recorded
        return error
    kind = RewardError if status == 422 and action in ABOUT_REWARDS else ParameterError
    return kind(answer.reason)
