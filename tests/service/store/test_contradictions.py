"""A row that contradicts the store stops its experiment; it is no bad disk, and the others go on.

Found with a damaged index of outcomes: the store was read-only and opened anew, again and again, whenever
one reward was sent.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest
from support.asgi import answer, scope_of
from support.owned import NAME, Shop
from support.postgres_server import find_postgres
from support.told_life import SPEC

from structured_bandits.service.http.api import application
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.store.postgres import PostgresStore

OTHER = "prices"
KINDS = ["sqlite", *(["postgres"] if find_postgres() else [])]
Send = Callable[[str, str, Any], Awaitable[tuple[int, Any]]]


class Damaged(NamedTuple):
    """An owner of two experiments, and what lets another hand write into its store."""

    shop: Shop
    run: Callable[[str], None]


@pytest.fixture(params=KINDS)
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Damaged]:
    if request.param == "sqlite":
        shop = Shop(tmp_path)

        def run(statement: str) -> None:
            with closing(sqlite3.connect(shop.path, isolation_level=None)) as store:
                store.execute(statement)
    else:
        address = request.getfixturevalue("postgres").schema()
        shop = Shop(tmp_path, make=lambda: PostgresStore(address))

        def run(statement: str) -> None:
            with psycopg.connect(address) as store:
                store.execute(statement)

    for name in (NAME, OTHER):
        shop.create(SPEC, name)
        shop.ask(name, n=4)
    yield Damaged(shop, run)
    shop.drop()


#: An index that is damaged such that it forbids what is right: a second reward of the first log.
ONE_TELL = "CREATE UNIQUE INDEX odd ON event(version) WHERE kind = 'tell' AND version = 1"


def forge(number: int, kind: str = "tell") -> str:
    """Return what writes a row far beyond the end of the first log, about a decision."""
    return (
        "INSERT INTO event(version, seq, kind, at, decision, arm, value, chain) "
        f"VALUES (1, {1000 + number}, '{kind}', 0, {number}, 0, 1.0, '')"
    )


def play(shop: Shop, does: Callable[[Send], Awaitable[None]]) -> None:
    """Let a coroutine send requests to the service."""
    app = application(shop.registry, Hosts("127.0.0.1"))

    async def send(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        scope = scope_of(method=method, path=f"/v1/{path}", headers=[("host", "127.0.0.1")])
        reply = await answer(app, scope, [b"" if body is None else json.dumps(body).encode()])
        return reply.status, json.loads(reply.body)

    asyncio.run(does(send))


def reward(shop: Shop, name: str, decision: int) -> tuple[str, str, Any]:
    uid = shop.registry.find(name).current.uid
    told = {"id": f"{uid}-{decision}", "reward": 0.5}
    return "POST", f"experiments/{name}/tell", told


def test_only_the_experiment_that_contradicts_the_store_stops(
    damaged: Damaged, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, run = damaged
    run(ONE_TELL)
    assert shop.tell((f"{shop.registry.find(NAME).current.uid}-0", 0.5)).status == 200
    opened: list[None] = []
    monkeypatch.setattr(shop.registry.store, "reopen", lambda: opened.append(None))

    async def does(send: Send) -> None:
        first, second, third = await asyncio.gather(
            send(*reward(shop, NAME, 1)),
            send(*reward(shop, OTHER, 0)),
            send(*reward(shop, NAME, 2)),  # of the same experiment: all or nothing
        )
        assert (first[0], second[0], third[0]) == (503, 200, 503)
        assert "structured-bandits verify" in first[1]["detail"]
        for _ in range(2):
            status, said = await send(*reward(shop, NAME, 1))
            assert status == 503
            assert "structured-bandits verify" in said["detail"]
            assert (await send(*reward(shop, OTHER, 1)))[0] == 200
        status, state = await send("GET", f"experiments/{NAME}")
        assert (status, state["rewards"]) == (200, 1)
        assert [each["kind"] for each in state["alarms"]] == ["stopped"]
        assert "structured-bandits verify" in state["alarms"][0]["text"]
        status, state = await send("GET", f"experiments/{OTHER}")
        assert (status, state["rewards"], state["alarms"]) == (200, 2, [])

    play(shop, does)
    assert shop.registry.refusal is None
    assert opened == []
    shop.restart(in_order=False)
    assert shop.life().agent.rewards == 1
    assert shop.life(OTHER).agent.rewards == 2


def test_what_is_queued_behind_a_contradiction_is_refused_with_it(damaged: Damaged) -> None:
    """It was decided in a state that the store does not have."""
    shop, run = damaged
    run(forge(0))

    async def does(send: Send) -> None:
        first = asyncio.create_task(send(*reward(shop, NAME, 0)))
        while shop.registry.writer._writing is None:
            await asyncio.sleep(0)
        later = await asyncio.gather(send(*reward(shop, NAME, 1)), send(*reward(shop, OTHER, 0)))
        assert [(await first)[0], *(each[0] for each in later)] == [503, 503, 200]

    play(shop, does)
    assert len(shop.registry.writer.open) == 0
    assert shop.life(OTHER).agent.rewards == 1


def test_an_experiment_that_cannot_be_read_again_keeps_its_place(damaged: Damaged) -> None:
    shop, run = damaged
    run("UPDATE event SET value = NULL, body = 'x' WHERE version = 1 AND seq = 2")
    run(forge(0))

    async def does(send: Send) -> None:
        assert (await send(*reward(shop, NAME, 0)))[0] == 503
        status, said = await send("GET", f"experiments/{NAME}")
        assert status == 503
        assert "structured-bandits verify" in said["detail"]
        for name, wanted in ((NAME, 503), ("new", 201)):
            made = await send("PUT", f"experiments/{name}", {"spec": SPEC})
            assert made[0] == wanted, made
        assert (await send(*reward(shop, OTHER, 0)))[0] == 200

    play(shop, does)
    assert [row.id for row in shop.registry.store.experiments()] == [1, 2, 3]


def test_a_new_experiment_that_contradicts_the_store_is_not_there(damaged: Damaged) -> None:
    shop, run = damaged
    run(
        "INSERT INTO version SELECT 3, 9, 1, 'u', spec, structure, 0, 0, chain, 0 FROM version WHERE id = 1"
    )

    async def does(send: Send) -> None:
        asked = asyncio.gather(
            send("PUT", "experiments/new", {"spec": SPEC}), send(*reward(shop, OTHER, 0))
        )
        assert [each[0] for each in await asked] == [503, 200]
        assert (await send("GET", "experiments/new"))[0] == 404

    play(shop, does)
    assert shop.registry.stopped == {}


def test_a_token_that_contradicts_the_store_is_refused(damaged: Damaged) -> None:
    shop, run = damaged
    run("INSERT INTO token VALUES ('0123456789ab', 'Ann', 'hash', 'admin', 'null', 0, NULL)")
    run("CREATE UNIQUE INDEX names ON token(name)")

    async def does(send: Send) -> None:
        assert (await send("POST", "tokens", {"name": "Ann", "role": "admin"}))[0] == 503

    play(shop, does)
    assert [token.id for token in shop.registry.tokens] == ["0123456789ab"]
