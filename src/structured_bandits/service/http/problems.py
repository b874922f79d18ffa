"""How a refusal is answered over HTTP, as a problem (RFC 9457), and what only HTTP can refuse.

`problem_of` turns errors of the library into refusals. An error that it does not know is a bug of the
service: the caller gets a 500 without its text, which may hold what no stranger should read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

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
from structured_bandits.service.refusals import Conflict, NotFound, Refusal, Refused, Unavailable
from structured_bandits.service.store_protocol import StoreError

with needs("The service", extra="serve"):
    from starlette.types import Send

MEDIA_TYPE = "application/problem+json"

_encode = msgspec.json.Encoder().encode


class HttpProblem(Refusal):
    """What only HTTP can refuse; without a class of its own it is a bug of the service."""

    def more_headers(self) -> dict[str, str]:
        """Return the headers of the answer that other problems do not have."""
        return {}


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

    def more_headers(self) -> dict[str, str]:
        """Add how to send a token."""
        return {"www-authenticate": 'Bearer realm="structured-bandits"'}


class Forbidden(HttpProblem):
    """The token is known, but may not do this."""

    status = 403
    kind = "forbidden"
    title = "This is not allowed."


class NotAllowed(HttpProblem):
    """The path exists, but not for this method; `allow` are those that it has."""

    status = 405
    kind = "method"
    title = "This path has no such method."

    def __init__(self, detail: str, *, allow: str = "") -> None:
        super().__init__(detail)
        self.allow = allow

    def more_headers(self) -> dict[str, str]:
        """Add the methods that the path has."""
        return {"allow": self.allow}


class TooSlow(HttpProblem):
    """The body did not arrive in time; the connection is closed."""

    status = 408
    kind = "too-slow"
    title = "The request took too long to arrive."

    def more_headers(self) -> dict[str, str]:
        """Close the connection: the rest of the body may still come."""
        return {"connection": "close"}


class TooLarge(HttpProblem):
    """The body is longer than the service reads; the connection is closed."""

    status = 413
    kind = "too-large"
    title = "The request is too large."

    def more_headers(self) -> dict[str, str]:
        """Close the connection: the rest of the body is not read."""
        return {"connection": "close"}


class Misdirected(HttpProblem):
    """The Host header names another server."""

    status = 421
    kind = "misdirected"
    title = "This server does not answer for that host."


class TooMany(HttpProblem):
    """More requests came than this caller may send."""

    status = 429
    kind = "too-many"
    title = "Too many requests."


#: The first class that fits counts. A decision that the library refuses was told or cancelled before:
#: ids that were never handed out are found by the service itself, which raises NotFound.
_OF_LIBRARY: tuple[tuple[type[Exception], type[Refusal]], ...] = (
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


def problem_of(error: Exception) -> Refusal:
    """Return the problem that an error is; one that is not known is a bug, and says nothing."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StoreError):  # its text names files and servers, so it is for the log
        return Unavailable("The store cannot be read now.", retry_after=1.0)
    for known, problem in _OF_LIBRARY:
        if isinstance(error, known):
            return problem(str(error))
    return HttpProblem("This is a bug of the service; its log says more.")


_OF_STATUS: dict[int, type[Refusal]] = {
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


def problem_of_status(status: int, detail: str, allow: str = "") -> Refusal:
    """Return the problem with a status, such as a 404 or 405 of the web framework."""
    if status == NotAllowed.status:
        return NotAllowed(detail, allow=allow)
    return _OF_STATUS.get(status, HttpProblem)(detail)


def body_of(problem: Refusal) -> bytes:
    """Return the record of a problem as JSON."""
    return _encode(problem.problem())


def headers_of(problem: Refusal) -> dict[str, str]:
    """Return the headers of the answer, without its length."""
    headers = {"content-type": MEDIA_TYPE, "cache-control": "no-store"}
    if problem.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(problem.retry_after)))
    more = problem.more_headers() if isinstance(problem, HttpProblem) else {}
    return {**headers, **more}


async def send_problem(
    send: Send, problem: Refusal, more_headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Answer an ASGI request with a problem: for what stands before the web framework."""
    body = body_of(problem)
    headers = [(name.encode(), value.encode()) for name, value in headers_of(problem).items()]
    headers.append((b"content-length", b"%d" % len(body)))
    await send(
        {
            "type": "http.response.start",
            "status": problem.status,
            "headers": [*headers, *more_headers],
        }
    )
    await send({"type": "http.response.body", "body": body})
