"""A store in which everything has happened, and all that a service answers from it.

Two experiments, three versions of one of them (archived, closed and played), tokens, batches, windows,
late rewards, snapshots. `answers` starts the service on a store and sends it every kind of request, old
keys included; what it returns is equal for equal stores.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from support.asgi import Reply, answer, scope_of
from support.first_store import WINDOWED, play_windowed
from support.owned import NAME, Shop, Time
from support.told_life import SPEC, play, snapshot

from structured_bandits.service import wire
from structured_bandits.service.http.api import application
from structured_bandits.service.http.endpoints import ENDPOINTS, ONE
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.chores import settle
from structured_bandits.service.running.lifecycle import new_version
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.server import pages_of
from structured_bandits.service.store.export import archive
from structured_bandits.service.store_protocol import Store

LATER = 5_000.0  # seconds after the store was begun at which the service is started again
PAGES = ("/", f"/experiments/{NAME}", f"/experiments/{NAME}/explore", "/tokens")
UNSTEADY = re.compile(rb".*(seconds|bytes|process_|python_|build_info).*\n")  # in the metrics


class Told(NamedTuple):
    """What the clients of a store have: texts of tokens, and requests that they may send again."""

    tokens: dict[str, str]
    again: list[tuple[str, str, Any]]  # method, path and body


def build(shop: Shop, folder: Path) -> Told:
    """Let everything happen in a store that was just begun; archives go into the folder."""
    told = Told({}, [])
    shop.create(SPEC)
    _play_version(shop, told, "first", 0.5)
    _next_version(shop, told)
    _play_version(shop, told, "second", 1.0)
    archive(shop.registry.store, folder)
    shop.restart()
    _next_version(shop, told)
    _play_version(shop, told, "third", 0.25)
    shop.call(lambda registry: registry.find(NAME).park(wire.Park(arm="cocoa")))
    shop.call(lambda registry: registry.find(NAME).pause(True))
    shop.ask(key="in the pause")
    shop.call(lambda registry: registry.find(NAME).pause(False))
    snapshot(shop)
    play(shop, 2)
    _ask(shop, told, NAME, "is out")
    play_windowed(shop)
    for role, names in (("admin", None), ("read", [NAME]), ("ask", None)):
        told.tokens[role], token = shop.registry.add_token(role, role, names)
    shop.registry.writer.write_now()
    shop.call(lambda registry: registry.revoke_token(token.id))  # the last one
    shop.close()
    return told


def _ask(shop: Shop, told: Told, name: str, key: str) -> str:
    decision = shop.ask_one(name, key=key)
    told.again.append(("POST", f"{name}/ask", {"key": key}))
    return str(decision.id)


def _play_version(shop: Shop, told: Told, key: str, reward: float) -> None:
    """Let most things happen in a version, such that no reward is out at its end."""
    play(shop, 2, reward)
    asked = _ask(shop, told, NAME, key)
    shop.tell((asked, reward))
    for each in (reward, 0.1):
        told.again.append(("POST", f"{NAME}/tell", {"id": asked, "reward": each}))
    gone = shop.ask_one()
    shop.call(lambda registry: registry.find(NAME).cancel(wire.Named(id=gone.id)))
    told.again.append(("POST", f"{NAME}/cancel", {"id": gone.id}))
    learned = {"pulls": [2, 1, 0], "sums": [1.0, 0.5, 0.0], "key": f"learned {key}"}
    shop.call(lambda registry: registry.find(NAME).learn(wire.Learn(**learned)))
    told.again.append(("POST", f"{NAME}/learn", learned))
    batch = shop.call(lambda registry: registry.find(NAME).hand_out(wire.HandOut(limit=5))).content
    results = {
        "pulls": batch.pulls,
        "sums": [0.5 * each for each in batch.pulls],
        "key": f"r {key}",
    }
    shop.call(lambda registry: registry.find(NAME).results(batch.id, wire.BatchResults(**results)))
    told.again.append(("POST", f"{NAME}/batches/{batch.id}", results))


def _next_version(shop: Shop, told: Told) -> None:
    """Change the policy; the version before is closed, because nothing is out."""
    kind = "SUCB" if shop.registry.find(NAME).current.row.number == 1 else "SAE"
    request = {"spec": {**SPEC, "policy": {"kind": kind}}, "key": f"a change to {kind}"}
    shop.call(lambda registry: new_version(registry.find(NAME), wire.NewVersion(**request)))
    told.again.append(("POST", f"{NAME}/versions", request))


Said = list[tuple[str, int, bytes]]


def answers(make: Callable[[], Store], told: Told) -> Said:
    """Start the service on a store and return all that it answers; raises StoreError if it refuses."""
    time = Time()
    time.pass_by(LATER)
    registry = Registry(make(), time.clock())
    registry.open()
    try:
        return asyncio.run(_answers(registry, told))
    finally:
        registry.writer.close()
        registry.store.close()


async def _answers(registry: Registry, told: Told) -> Said:
    app = application(registry, Hosts("127.0.0.1"), pages=pages_of(registry))
    said: Said = []

    async def send(
        method: str, path: str, body: Any = None, role: str = "admin", query: str = ""
    ) -> Reply:
        headers = [("host", "127.0.0.1")]
        if role:
            headers.append(("authorization", f"Bearer {told.tokens[role]}"))
        scope = scope_of(method=method, path=path, headers=headers)
        scope["query_string"] = query.encode()
        content = b"" if body is None else msgspec.json.encode(body)
        reply = await answer(app, scope, [content])
        text = UNSTEADY.sub(b"", reply.body) if path == "/metrics" else reply.body
        said.append((f"{method} {path}?{query} {role} {body}", reply.status, text))
        return reply

    async def read_all() -> None:
        for each in ENDPOINTS:
            if each.method == "GET":
                for name in (NAME, WINDOWED) if ONE in each.path else ("",):
                    await send("GET", each.path.replace("{name}", name))
        for number in (1, 2, 3):
            await send("GET", f"/v1/experiments/{NAME}/events", query=f"version={number}")
        for path in (*PAGES, "/metrics"):
            await send("GET", path)

    await read_all()
    for role in ("read", "ask", ""):  # the last two are let in nowhere
        await send("GET", "/v1/experiments", role=role)
        await send("GET", f"/v1/experiments/{WINDOWED}", role=role)
        await send("POST", f"/v1/experiments/{NAME}/pause", {}, role=role)
    for method, path, body in told.again:
        await send(method, f"/v1/experiments/{path}", body)
    while settle(registry):
        await registry.written()
    for name in (NAME, WINDOWED):
        for number in range(4):
            key = {"key": f"anew {number}"}
            await send("POST", f"/v1/experiments/{name}/ask", key)
            await send("POST", f"/v1/experiments/{name}/tell", {**key, "reward": 0.5})
    await read_all()
    return said
