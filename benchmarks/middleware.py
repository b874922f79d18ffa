"""What the middlewares of the service cost a request, around an application that does nothing.

Each number is the CPU time in the best of five rounds, less that of the bare application. No socket is
involved.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from structured_bandits.service.http.api import protected
from structured_bandits.service.http.authentication import Authentication
from structured_bandits.service.http.bodies import BodyLimit
from structured_bandits.service.http.rate_limit import Buckets
from structured_bandits.service.http.request_metrics import RequestMetrics
from structured_bandits.service.http.trusted_hosts import Hosts, Proxies
from structured_bandits.service.running.metrics import Metrics, ServerReading
from structured_bandits.service.running.tokens import Tokens, new_token

REQUESTS, ROUNDS = 20_000, 5
TEXT, TOKEN = new_token("benchmark", "ask")
BODY = b'{"id": "a8b2c3d4-123", "reward": 1.0}'
HEADERS = [
    (b"host", b"localhost:8321"),
    (b"user-agent", b"benchmark"),
    (b"accept-encoding", b"identity"),
    (b"content-type", b"application/json"),
    (b"content-length", str(len(BODY)).encode()),
    (b"authorization", b"Bearer " + TEXT.encode()),
]
FORWARDED = [(b"x-forwarded-for", b"192.0.2.7"), (b"x-forwarded-proto", b"https")]


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """Read the body and answer."""
    await receive()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})


async def receive() -> dict[str, Any]:
    return {"type": "http.request", "body": BODY, "more_body": False}


async def send(message: Any) -> None:
    pass


async def best(app: Any, headers: list[tuple[bytes, bytes]]) -> float:
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in range(REQUESTS):
            scope = {"type": "http", "method": "POST", "path": "/", "scheme": "http"}
            await app(scope | {"headers": headers, "client": ("127.0.0.1", 1)}, receive, send)
        rounds.append((time.process_time() - began) / REQUESTS)
    return 1e6 * min(rounds)


def main() -> None:
    tokens, hosts = Tokens([TOKEN]), Hosts("127.0.0.1")
    metrics = Metrics(lambda: ServerReading(0, False, []))
    parts = {"tokens": tokens, "hosts": hosts, "metrics": metrics, "buckets": Buckets(1e9, 10**9)}
    apps = {
        "guard": Authentication(bare, tokens, hosts),
        "body": BodyLimit(bare),
        "watch": RequestMetrics(bare, metrics),
        "all, with a token": protected(bare, **parts),
        "all, open": protected(bare, **parts | {"tokens": Tokens()}),
        "all, behind a proxy": protected(bare, **parts, proxies=Proxies(["127.0.0.1"])),
    }
    nothing = asyncio.run(best(bare, HEADERS))
    for name, app in apps.items():
        headers = HEADERS + FORWARDED * ("proxy" in name)
        print(f"{name:20} {asyncio.run(best(app, headers)) - nothing:5.1f} µs")


if __name__ == "__main__":
    main()
