"""Why the service refuses a command: what does not exist, contradicts, is not acceptable, or must wait.

Each refusal carries the status, kind and title of a problem (RFC 9457), so that all of them look
alike to whoever sent the command. How one is sent, and what only HTTP can refuse, is in
`http/problems.py`.
"""

# ruff: noqa: N818 (they are named after what went wrong: raise NotFound(...))
from __future__ import annotations

from typing import ClassVar

import msgspec

from structured_bandits.errors import StructuredBanditsError
from structured_bandits.service.wire import Problem

#: What a type begins with. It is a name to compare and no address: none is public yet.
TYPE_PREFIX = "urn:structured-bandits:problem:"
MOST_WORDS = 2_000  # characters of a detail: it may quote what the caller sent


class Refusal(StructuredBanditsError):
    """Base class: `detail` is a whole sentence for whoever sent the command.

    `retry_after` are the seconds after which the same command may succeed.
    """

    status: ClassVar[int] = 500
    kind: ClassVar[str] = "bug"
    title: ClassVar[str] = "The service made a mistake."

    def __init__(self, detail: str, *, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after = retry_after

    def problem(self) -> Problem:
        """Return the record that the caller gets."""
        return Problem(
            type=TYPE_PREFIX + self.kind,
            title=self.title,
            status=self.status,
            detail=self.detail[:MOST_WORDS],
        )


class NotFound(Refusal):
    """There is no such experiment, decision or page."""

    status = 404
    kind = "not-found"
    title = "There is no such thing."


class Conflict(Refusal):
    """The request contradicts what is recorded; `recorded` is the reward that stands."""

    status = 409
    kind = "conflict"
    title = "This contradicts what is recorded."

    def __init__(self, detail: str, *, recorded: float | None = None) -> None:
        super().__init__(detail)
        self.recorded = recorded

    def problem(self) -> Problem:
        """Add the reward that stands."""
        return msgspec.structs.replace(super().problem(), recorded=self.recorded)


class Refused(Refusal):
    """The request can be read, but its content is not acceptable."""

    status = 422
    kind = "refused"
    title = "The content is not acceptable."


class Unavailable(Refusal):
    """The service cannot do this now: its queue is full, or it may not write."""

    status = 503
    kind = "unavailable"
    title = "The service cannot do this now."
