"""Requests of JSON that are repeated until they are answered, or time is up.

A request whose answer was lost may have been carried out. Those that are sent here count once however
often they are sent: they carry a key, name what they answer, or only read.
"""

from __future__ import annotations

import random
import ssl
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage
from time import monotonic, sleep
from typing import Any, NamedTuple

import msgspec

from structured_bandits.base.checks import checked_above, checked_count
from structured_bandits.errors import ParameterError, ServiceError
from structured_bandits.service import wire
from structured_bandits.service.client.connections import Connections, Request, checked_address

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
#: What reading an answer may raise: it is torn, says something else, no UTF-8, or nested for ever.
NOT_UNDERSTOOD = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


class Answer(NamedTuple):
    """An answer as it came: granted or refused, by the service or by what stands before it."""

    status: int
    headers: HTTPMessage
    body: bytes

    @property
    def is_granted(self) -> bool:
        """Did the service do what was asked, and does the answer say so in JSON?"""
        return 200 <= self.status < 300 and self.headers.get_content_type() == "application/json"

    @property
    def text(self) -> str:
        """What it says, for messages: cut if it is long."""
        text = self.body.decode(errors="replace")
        return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + "…"

    @property
    def problem(self) -> wire.Problem | None:
        """Why the service refused the request, None if it did not say so itself."""
        if self.headers.get_content_type() == "application/problem+json":
            with suppress(*NOT_UNDERSTOOD):  # cut off, or from what stands before the service
                return msgspec.json.decode(self.body, type=wire.Problem)
        return None

    @property
    def reason(self) -> str:
        """Why a request was refused, in words: by the service, or by what stands before it."""
        problem = self.problem
        if problem is not None:
            return problem.detail or problem.title
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
            body = _encoded(content)
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
        answer = Answer(*reply)
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


def _encoded(content: Any) -> bytes:
    try:
        return msgspec.json.encode(
            content, enc_hook=str
        )  # a text of NumPy, or of a class of its own
    except UnicodeEncodeError as error:  # half a character
        raise ParameterError(f"{error.object!r}: expected a text that UTF-8 can say") from None


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
