"""Why a request is refused: an exception for each status, answered as a problem (RFC 9457).

Whatever the service cannot do, it says with one of these, so that all refusals look alike. `problem_of`
turns errors of the library into them. An error that it does not know is a bug of the service: the caller
gets a 500 without its text, which may hold what no stranger should read.
"""

# ruff: noqa: N818 (they are named after what went wrong: raise NotFound(...))
from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

import msgspec

from structured_bandits.base.extras import needs
from structured_bandits.errors import (
    DecisionError,
    FileFormatError,
    ParameterError,
    RewardError,
    StructuredBanditsError,
    StructureError,
)
from structured_bandits.service.store import StoreError
from structured_bandits.wire import Problem

with needs("The service", extra="serve"):
    from starlette.types import Send

MEDIA_TYPE = "application/problem+json"
#: What a type begins with. It is a name to compare and no address: none is public yet.
TYPE_PREFIX = "urn:structured-bandits:problem:"
MOST_WORDS = 2_000  # characters of a detail: it may quote what the caller sent

_encode = msgspec.json.Encoder().encode


class HttpProblem(StructuredBanditsError):
    """Base class: `detail` is a whole sentence for whoever sent the request.

    `retry_after` are the seconds after which the same request may succeed.
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

    def body(self) -> bytes:
        """Return that record as JSON."""
        return _encode(self.problem())

    def headers(self) -> dict[str, str]:
        """Return the headers of the answer, without its length."""
        headers = {"content-type": MEDIA_TYPE, "cache-control": "no-store"}
        if self.retry_after is not None:
            headers["retry-after"] = str(max(1, math.ceil(self.retry_after)))
        return headers


class Malformed(HttpProblem):
    """The body is no JSON, or a header cannot be read."""

    status = 400
    kind = "malformed"
    title = "The request cannot be read."


class Unauthorised(HttpProblem):
    """The request has no token, or none that is known."""

    status = 401
    kind = "unauthorised"
    title = "A token is needed."

    def headers(self) -> dict[str, str]:
        """Add how to send a token."""
        return {**super().headers(), "www-authenticate": 'Bearer realm="structured-bandits"'}


class Forbidden(HttpProblem):
    """The token is known, but may not do this."""

    status = 403
    kind = "forbidden"
    title = "This is not allowed."


class NotFound(HttpProblem):
    """There is no such experiment, decision or page."""

    status = 404
    kind = "not-found"
    title = "There is no such thing."


class NotAllowed(HttpProblem):
    """The path exists, but not for this method; `allow` are those that it has."""

    status = 405
    kind = "method"
    title = "This path has no such method."

    def __init__(self, detail: str, *, allow: str = "") -> None:
        super().__init__(detail)
        self.allow = allow

    def headers(self) -> dict[str, str]:
        """Add the methods that the path has."""
        return {**super().headers(), "allow": self.allow}


class TooSlow(HttpProblem):
    """The body did not arrive in time; the connection is closed."""

    status = 408
    kind = "too-slow"
    title = "The request took too long to arrive."

    def headers(self) -> dict[str, str]:
        """Close the connection: the rest of the body may still come."""
        return {**super().headers(), "connection": "close"}


class Conflict(HttpProblem):
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


class TooLarge(HttpProblem):
    """The body is longer than the service reads; the connection is closed."""

    status = 413
    kind = "too-large"
    title = "The request is too large."

    def headers(self) -> dict[str, str]:
        """Close the connection: the rest of the body is not read."""
        return {**super().headers(), "connection": "close"}


class Misdirected(HttpProblem):
    """The Host header names another server."""

    status = 421
    kind = "misdirected"
    title = "This server does not answer for that host."


class Refused(HttpProblem):
    """The request can be read, but its content is not acceptable."""

    status = 422
    kind = "refused"
    title = "The content is not acceptable."


class TooMany(HttpProblem):
    """More requests came than this caller may send."""

    status = 429
    kind = "too-many"
    title = "Too many requests."


class Unavailable(HttpProblem):
    """The service cannot do this now: its queue is full, or it may not write."""

    status = 503
    kind = "unavailable"
    title = "The service cannot do this now."


#: The first class that fits counts. A decision that the library refuses was told or cancelled before:
#: ids that were never handed out are found by the service itself, which raises NotFound.
_OF_LIBRARY: tuple[tuple[type[Exception], type[HttpProblem]], ...] = (
    (RewardError, Refused),
    (ParameterError, Refused),
    (StructureError, Refused),
    (FileFormatError, Refused),
    (DecisionError, Conflict),
    (msgspec.ValidationError, Refused),
    (msgspec.DecodeError, Malformed),
    (UnicodeDecodeError, Malformed),
    (StructuredBanditsError, Refused),  # such as a program that no solver solves
)


def problem_of(error: Exception) -> HttpProblem:
    """Return the problem that an error is; one that is not known is a bug, and says nothing."""
    if isinstance(error, HttpProblem):
        return error
    if isinstance(error, StoreError):  # its text names files and servers, so it is for the log
        return Unavailable("The store cannot be read now.", retry_after=1.0)
    for known, problem in _OF_LIBRARY:
        if isinstance(error, known):
            return problem(str(error))
    return HttpProblem("This is a bug of the service; its log says more.")


_OF_STATUS: dict[int, type[HttpProblem]] = {
    kind.status: kind
    for kind in (
        Malformed,
        Unauthorised,
        Forbidden,
        NotFound,
        NotAllowed,
        TooSlow,
        Conflict,
        TooLarge,
        Misdirected,
        Refused,
        TooMany,
        Unavailable,
    )
}


def problem_of_status(status: int, detail: str, allow: str = "") -> HttpProblem:
    """Return the problem with a status, such as a 404 or 405 of the web framework."""
    if status == NotAllowed.status:
        return NotAllowed(detail, allow=allow)
    return _OF_STATUS.get(status, HttpProblem)(detail)


async def send_problem(
    send: Send, problem: HttpProblem, more_headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer an ASGI request with a problem: for what stands before the web framework."""
    body = problem.body()
    headers = [(name.encode(), value.encode()) for name, value in problem.headers().items()]
    headers.append((b"content-length", b"%d" % len(body)))
    await send(
        {
            "type": "http.response.start",
            "status": problem.status,
            "headers": [*headers, *more_headers],
        }
    )
    await send({"type": "http.response.body", "body": body})
