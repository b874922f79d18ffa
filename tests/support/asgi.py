"""Plain ASGI requests: what a middleware is given, and what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


def scope_of(
    method: str = "GET",
    path: str = "/",
    headers: Iterable[tuple[str, str]] = (("host", "localhost"),),
    client: str = "127.0.0.1",
    scheme: str = "http",
) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": path,
        "query_string": b"",
        "scheme": scheme,
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        "client": (client, 50_000),
    }


async def answer(app: Any, scope: dict[str, Any], parts: Iterable[bytes] = ()) -> Reply:
    """Send a request whose body comes in these parts; wait for the answer."""
    chunks = list(parts) or [b""]
    coming = [
        {"type": "http.request", "body": chunk, "more_body": number + 1 < len(chunks)}
        for number, chunk in enumerate(chunks)
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return coming.pop(0) if coming else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return reply_of(sent)


def reply_of(sent: list[Any]) -> Reply:
    start = sent[0]
    assert [message["type"] for message in sent].count("http.response.start") == 1
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return Reply(start["status"], headers, body)


def request(app: Any, parts: Iterable[bytes] = (), **about: Any) -> Reply:
    """Like `answer`, for tests that run no event loop of their own."""
    return asyncio.run(answer(app, scope_of(**about), parts))


async def hello(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers everything with the body that it was sent."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
