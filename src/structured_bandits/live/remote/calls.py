"""Requests of JSON that are repeated until they are answered, or time is up.

A request whose answer was lost may have been carried out. Those that are sent here count once however
often they are sent: they carry a key, name what they answer, or only read.
"""

from __future__ import annotations

import json
import random
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage
from time import monotonic, sleep
from typing import Any, NamedTuple

from structured_bandits.checks import checked_above, checked_count
from structured_bandits.errors import ParameterError, ServiceError
from structured_bandits.live.remote.address import checked_address
from structured_bandits.live.remote.connections import Connections, Reply, Request

#: Another attempt may do: the way was slow, too many requests came, or nobody is there at the moment.
PASSING = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
}
FIRST_WAIT = 0.1  # seconds, at most, before the second attempt; twice as long before each further
LONGEST_TEXT = 200  # characters that are shown of an answer that was not understood


class Answer(NamedTuple):
    """An answer; `content` is what its JSON says, None if it has no body or another one."""

    status: int
    headers: HTTPMessage
    content: Any
    text: str  # what it says as it is, for messages

    @property
    def problem(self) -> dict[str, Any] | None:
        """Why the service refused the request, None if it did not say so itself."""
        ours = self.headers.get_content_type() == "application/problem+json"
        return self.content if ours and isinstance(self.content, dict) else None

    @property
    def reason(self) -> str:
        """Why a request was refused, in words: by the service, or by what stands before it."""
        if self.problem is not None:
            return str(self.problem.get("detail") or self.problem.get("title") or self.status)
        return f"the answer was {self.status} {self.headers.get_content_type()}: {self.text!r}"


class Calls:
    """Sends requests to one service, with its token; any number of threads may do so."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout: float,
        retries: int,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        self.address = checked_address(url)
        self._headers = {"Accept": "application/json", **_authorization(token)}
        self._timeout = checked_above("timeout", timeout, 0.0)
        self._retries = checked_count("retries", retries, least=0)
        self._connections = Connections(self.address, ssl_context)

    def call(
        self,
        method: str,
        path: str,
        content: Any = None,
        headers: dict[str, str] | None = None,
        once: bool = False,
    ) -> Answer:
        """Send a request and return the answer, whether it was granted or refused.

        It is repeated after failures that may pass, unless it is to be sent `once`. All attempts and
        waits together take no longer than the timeout. Raise ServiceError if nobody answered.
        """
        request = self._request(method, path, content, headers or {})
        deadline = monotonic() + self._timeout
        further = 0 if once else self._retries  # attempts that are left after the next
        longest = FIRST_WAIT
        while True:
            outcome, asked_wait = self._attempt(request, (deadline - monotonic()) / (further + 1))
            if isinstance(outcome, Answer):
                return outcome
            wait = asked_wait + random.uniform(0.0, longest)  # so that not all come back together
            if not further or monotonic() + wait >= deadline:
                raise outcome
            sleep(wait)
            further -= 1
            longest *= 2.0

    def close(self) -> None:
        """Close the connections that are idle."""
        self._connections.close()

    def _request(self, method: str, path: str, content: Any, headers: dict[str, str]) -> Request:
        body = None
        headers = {**self._headers, **headers}
        if content is not None:
            body = json.dumps(content, allow_nan=False).encode()
            headers["Content-Type"] = "application/json"
        return Request(method, self.address.prefix + path, body, headers)

    def _attempt(self, request: Request, timeout: float) -> tuple[Answer | ServiceError, float]:
        """Return an answer, or why there is none and how long the service asks to wait."""
        try:
            reply = self._connections.exchange(request, timeout)
        except ssl.SSLCertVerificationError as error:
            raise ServiceError(
                f"{self.address}: its certificate is not trusted ({error.verify_message})"
            ) from error
        except (OSError, HTTPException) as error:
            said = str(error) or type(error).__name__
            text = f"{self.address} cannot be reached ({said})"
            failure = ServiceError(text, passing=True)
            failure.__cause__ = error
            return failure, 0.0
        answer = _read(reply)
        if answer.status not in PASSING:
            return answer, 0.0
        text = f"{self.address} does not answer now: {answer.reason}"
        return ServiceError(text, status=answer.status, passing=True), _retry_after(answer.headers)


def _authorization(token: Any) -> dict[str, str]:
    if token is None:
        return {}
    plain = isinstance(token, str) and token.isascii() and token.isprintable()
    if not plain or not token or " " in token:  # the message does not show it
        raise ParameterError("token: expected a text of letters, digits and signs without spaces")
    return {"Authorization": f"Bearer {token}"}


def _read(reply: Reply) -> Answer:
    """Return the answer that a reply is."""
    text = reply.body.decode(errors="replace")
    shown = text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"
    content = None
    if reply.headers.get_content_type() in ("application/json", "application/problem+json"):
        with suppress(ValueError):  # cut off, or not what it is said to be: there is no content
            content = json.loads(text)
    return Answer(reply.status, reply.headers, content, shown)


def _retry_after(headers: HTTPMessage) -> float:
    """Return how many seconds the service asks to wait: it gives their number, or a date."""
    said = headers.get("Retry-After", "").strip()
    if said.isdecimal():
        return float(said)
    try:
        date = parsedate_to_datetime(said)
    except ValueError:
        return 0.0
    if date.tzinfo is None:
        date = date.replace(tzinfo=UTC)
    return max((date - datetime.now(UTC)).total_seconds(), 0.0)
