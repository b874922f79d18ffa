"""Bodies of requests: how long and deep they may be, how long they may take, and no key twice.

The application sees a body only once it is there as a whole and within the limits; a request that is
refused here has reached nothing else. How many items a list may have, its type says
(`service/wire.py`).

Readers differ in which of two equal keys of an object counts, so a proxy and this service could see
different requests in the same bytes. msgspec takes the last one and does not say so.

All of this is plain ASGI, a few microseconds a request.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from structured_bandits.base.checks import checked_count
from structured_bandits.base.extras import needs
from structured_bandits.service.http.problems import (
    Malformed,
    TooLarge,
    TooSlow,
    send_problem,
)
from structured_bandits.service.refusals import Refusal

with needs("The service", extra="serve"):
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2**20
MOST_SECONDS = 10.0
MOST_DEPTH = 8

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
    structured_bandits.service.http.problems.Malformed: The body is nested more than 2 deep, or its
    brackets do not match.
    """
    if body.count(b"[") + body.count(b"{") <= most:
        return
    brackets = _STRING.sub(b"", body).translate(_AS_SQUARE, _NO_BRACKETS)
    for _ in range(most):
        brackets = brackets.replace(b"[]", b"")  # the innermost ones
    if brackets:
        raise Malformed(f"The body is nested more than {most} deep, or its brackets do not match.")


def check_doubled(body: bytes) -> None:
    """Refuse a body if an object in it has a key twice; what is no JSON at all, its reader refuses.

    >>> check_doubled(b'[{"id": 1}, {"id": 1}]')
    >>> check_doubled(b'{"reward": 1, "reward": 0}')
    Traceback (most recent call last):
    ...
    structured_bandits.service.http.problems.Malformed: The key 'reward' is given twice in an object.
    """
    try:
        _read(body.decode())
    except (json.JSONDecodeError, UnicodeDecodeError):
        return


def _checked(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise Malformed(f"The key {key[:100]!r} is given twice in an object.")
        seen.add(key)


_read = json.JSONDecoder(
    object_pairs_hook=_checked, parse_int=str, parse_float=str, strict=False
).decode


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
        except Refusal as problem:
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
