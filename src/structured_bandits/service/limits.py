"""How much a caller may send: the length, depth and time of a body, and requests a second.

The application sees a body only once it is there as a whole and within the limits; a request that is
refused here has reached nothing else. How many items a list may have, its type says (`wire.py`).

All of this is plain ASGI, a few microseconds a request.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import re
import time
from collections.abc import Callable

from structured_bandits.base.checks import checked_count
from structured_bandits.base.extras import needs
from structured_bandits.errors import ParameterError
from structured_bandits.service.guard import Caller, caller_of
from structured_bandits.service.problems import (
    HttpProblem,
    Malformed,
    TooLarge,
    TooMany,
    TooSlow,
    send_problem,
)

with needs("The service", extra="serve"):
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2**20
MOST_SECONDS = 10.0
MOST_DEPTH = 8
MOST_BUCKETS = 10_000

# A string may lack its closing quote: then it is the rest. The repeats are possessive, so that no text
# makes the search go back.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_AS_SQUARE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def check_depth(body: bytes, most: int = MOST_DEPTH) -> None:
    """Refuse JSON whose lists and objects are nested more than `most` deep.

    >>> check_depth(b'[[1, "]]]]"], {}]', most=2)
    >>> check_depth(b'[[[]]]', most=2)
    Traceback (most recent call last):
    ...
    structured_bandits.service.problems.Malformed: The body is nested more than 2 deep, or its brackets
    do not match.
    """
    if body.count(b"[") + body.count(b"{") <= most:
        return
    brackets = _STRING.sub(b"", body).translate(_AS_SQUARE, _NO_BRACKETS)
    for _ in range(most):
        brackets = brackets.replace(b"[]", b"")  # the innermost ones
    if brackets:
        raise Malformed(f"The body is nested more than {most} deep, or its brackets do not match.")


class BodyLimit:
    """The middleware that reads bodies: whole, in time, not too long and not too deep."""

    def __init__(
        self,
        app: ASGIApp,
        most_bytes: int = MOST_BYTES,
        most_seconds: float = MOST_SECONDS,
        most_depth: int = MOST_DEPTH,
    ) -> None:
        self.app = app
        self.most_bytes = checked_count("most_bytes", most_bytes)
        self.most_seconds = most_seconds
        self.most_depth = checked_count("most_depth", most_depth)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, then let the application have it; or answer why not."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        try:
            self._check_length(scope)
            async with asyncio.timeout(self.most_seconds):
                body = await self._read(receive)
            if body is None:
                return
            check_depth(body, self.most_depth)
        except TimeoutError:
            late = TooSlow(f"The body did not arrive within {self.most_seconds:g} seconds.")
            await send_problem(send, late)
            return
        except HttpProblem as problem:
            await send_problem(send, problem)
            return
        await self.app(scope, _then(body, receive), send)

    def _check_length(self, scope: Scope) -> None:
        """Refuse what says that it is too long, before any of it is read."""
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit():
                if len(value) > 15 or int(value) > self.most_bytes:
                    raise self._too_large()
                return

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the body; None if its sender has gone away."""
        message = await receive()
        if message["type"] != "http.request":
            return None
        body: bytes = message.get("body", b"")
        if not message.get("more_body", False) and len(body) <= self.most_bytes:
            return body
        parts, length = [body], len(body)
        while length <= self.most_bytes and message.get("more_body", False):
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            length += len(parts[-1])
        if length > self.most_bytes:
            raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> TooLarge:
        return TooLarge(f"The body is longer than {self.most_bytes:,} bytes.")


def _then(body: bytes, receive: Receive) -> Receive:
    """Return what the application receives: the body, then whatever comes."""
    first: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def receive_again() -> Message:
        nonlocal first
        if first is None:
            return await receive()
        message, first = first, None
        return message

    return receive_again


class Buckets:
    """How many requests each caller may still send: `rate` a second, `burst` at once.

    A caller's bucket is full at first; each request takes one from it. Buckets that have had time to
    fill up again are thrown away when there are many, and no more than `most` are kept: then new callers
    share one.
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        most: int = MOST_BUCKETS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not rate > 0:
            raise ParameterError(f"rate={rate!r}: expected a number of requests a second above 0")
        self.rate = rate
        self.burst = checked_count("burst", burst)
        self._most = most
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}  # how many, and when that was
        self._next_clearing = -math.inf

    def take(self, caller: str) -> float:
        """Take a request; return 0, or the seconds to wait if there is none left."""
        now = self._clock()
        known = self._left.get(caller)
        if known is None:
            caller = self._place_for(caller, now)
            known = self._left.get(caller, (float(self.burst), now))
        left = min(self.burst, known[0] + (now - known[1]) * self.rate)
        if left < 1.0:
            return (1.0 - left) / self.rate
        self._left[caller] = (left - 1.0, now)
        return 0.0

    def _place_for(self, caller: str, now: float) -> str:
        """Return the bucket of a new caller, which is shared if there are too many."""
        if len(self._left) >= self._most and now >= self._next_clearing:
            self._next_clearing = now + 1.0  # it looks at all of them
            full = self.burst / self.rate  # seconds after which every bucket is full again
            self._left = {
                each: (left, then) for each, (left, then) in self._left.items() if now - then < full
            }
        return caller if len(self._left) < self._most else "everybody else"

    def __len__(self) -> int:
        return len(self._left)


class RateLimit:
    """The middleware that counts requests, by token or else by address; it stands behind the guard."""

    def __init__(self, app: ASGIApp, buckets: Buckets) -> None:
        self.app = app
        self.buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request in, or answer when to come back."""
        if scope["type"] == "http":
            seconds = self.buckets.take(payer_of(caller_of(scope)))
            if seconds:
                limit = f"{self.buckets.rate:g} requests a second, {self.buckets.burst} at once"
                problem = TooMany(f"The limit is {limit}.", retry_after=seconds)
                await send_problem(send, problem)
                return
        await self.app(scope, receive, send)


def payer_of(caller: Caller) -> str:
    """Return whose bucket a request takes from: the token's, or the address's.

    An IPv6 network of 64 bits counts as one address: a single household has that many.
    """
    if caller.token is not None:
        return caller.token.id
    if ":" not in caller.address:
        return caller.address
    try:
        address = ipaddress.IPv6Address(caller.address.partition("%")[0])
    except ValueError:
        return caller.address
    return str(address.ipv4_mapped or ipaddress.IPv6Address(int(address) >> 64 << 64))
