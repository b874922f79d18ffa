"""Roles hold: every endpoint, for every role, on the own experiment, another one and an unknown one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.asgi import Reply, answer, scope_of

from structured_bandits.service.http.api import application
from structured_bandits.service.http.endpoints import ENDPOINTS, Endpoint
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.lifecycle import create
from structured_bandits.service.running.registry import Registry
from structured_bandits.service.running.tokens import ROLES, Role
from structured_bandits.service.store.sqlite import SqliteStore

SPEC = {
    "structure": {"kind": "finite", "means": [[0.8, 0.3], [0.2, 0.7]]},
    "policy": {"kind": "SUCB"},
    "horizon": 1_000,
}
RANK = {role: rank for rank, role in enumerate(ROLES)}
HEALTH = [endpoint for endpoint in ENDPOINTS if endpoint.role is None]
OF_ONE = [endpoint for endpoint in ENDPOINTS if "{name}" in endpoint.path]
OF_ALL = [each for each in ENDPOINTS if each not in HEALTH + OF_ONE and each.label != "list"]
REFUSED = (401, 403)


class Server(NamedTuple):
    app: Any
    registry: Registry
    tokens: dict[tuple[Role, str | None], str]

    def send(
        self, endpoint: Endpoint, name: str = "", token: str | None = None, body: bytes = b"{}"
    ) -> Reply:
        path = endpoint.path.format(name=name, batch="x", token="x")
        headers = [("host", "localhost")]
        if token is not None:
            headers.append(("authorization", f"Bearer {token}"))
        scope = scope_of(method=endpoint.method, path=path, headers=headers)
        return asyncio.run(answer(self.app, scope, [body]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two experiments, and a token of each role for one of them and for all."""
    folder: Path = tmp_path_factory.mktemp("roles")
    registry = Registry(SqliteStore(folder / "bandits.db"))
    registry.open()
    for name in ("mine", "other"):
        create(registry, name, SPEC)
    tokens = {
        (role, only): registry.add_token(f"{role} {only}", role, None if only is None else [only])[
            0
        ]
        for role in ROLES
        for only in ("mine", None)
    }
    registry.writer.write_now()
    yield Server(application(registry, Hosts("127.0.0.1")), registry, tokens)
    registry.close()


def by_label(endpoint: Endpoint) -> str:
    return endpoint.label


def test_the_table_is_whole() -> None:
    assert len(HEALTH) + len(OF_ONE) + len(OF_ALL) + 1 == len(ENDPOINTS)
    assert {endpoint.label for endpoint in HEALTH} == {"live", "ready"}


@pytest.mark.parametrize("endpoint", OF_ONE, ids=by_label)
def test_endpoints_of_an_experiment(server: Server, endpoint: Endpoint) -> None:
    assert endpoint.role is not None
    for (role, only), token in server.tokens.items():
        enough = RANK[role] >= RANK[endpoint.role]
        mine = server.send(endpoint, "mine", token, b"[]")  # no record is a list without items
        assert (mine.status in REFUSED) is not enough, (role, only)
        for name in ("other", "unknown"):
            status = server.send(endpoint, name, token, b"[]").status
            assert (status == 403) is not (enough and only is None), (role, only, name)


@pytest.mark.parametrize("endpoint", OF_ALL, ids=by_label)
def test_endpoints_of_the_whole_server(server: Server, endpoint: Endpoint) -> None:
    assert endpoint.role is not None
    for (role, only), token in server.tokens.items():
        enough = RANK[role] >= RANK[endpoint.role] and only is None
        assert (server.send(endpoint, "", token, b"[]").status in REFUSED) is not enough


@pytest.mark.parametrize("endpoint", OF_ONE + OF_ALL, ids=by_label)
@pytest.mark.parametrize("token", [None, "", "sb_" + "0" * 12 + "_" + "0" * 64])
def test_nobody_comes_in_without_a_token(
    server: Server, endpoint: Endpoint, token: str | None
) -> None:
    reply = server.send(endpoint, "mine", token)
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("endpoint", HEALTH, ids=by_label)
def test_health_needs_no_token(server: Server, endpoint: Endpoint) -> None:
    assert server.send(endpoint).status == 200


def test_what_may_not_be_known_looks_like_what_does_not_exist(server: Server) -> None:
    """The answers differ in the name alone."""
    token = server.tokens["admin", "mine"]
    for endpoint in OF_ONE:
        other = server.send(endpoint, "other", token).body
        unknown = server.send(endpoint, "unknown", token).body
        assert other.replace(b"'other'", b"'unknown'") == unknown


def test_a_list_shows_what_the_token_may_see(server: Server) -> None:
    (listing,) = [endpoint for endpoint in ENDPOINTS if endpoint.label == "list"]

    def names(token: str | None) -> list[str]:
        shown = json.loads(server.send(listing, token=token).body)["experiments"]
        return [each["name"] for each in shown]

    assert names(server.tokens["read", "mine"]) == ["mine"]
    assert names(server.tokens["read", None]) == ["mine", "other"]
    assert server.send(listing).status == 401


def test_the_metrics_tell_of_all_experiments(server: Server) -> None:
    metrics = ENDPOINTS[0]._replace(method="GET", path="/metrics")
    assert server.send(metrics).status == 401
    assert server.send(metrics, token=server.tokens["admin", "mine"]).status == 403
    assert server.send(metrics, token=server.tokens["read", None]).status == 200


def test_a_revoked_token_is_refused_from_the_next_request_on(server: Server) -> None:
    (state,) = [endpoint for endpoint in ENDPOINTS if endpoint.label == "state"]
    text, token = server.registry.add_token("short", "read", None)
    assert server.send(state, "mine", text).status == 200
    server.registry.revoke_token(token.id)
    assert server.send(state, "mine", text).status == 401


def test_the_first_token_can_make_others(tmp_path: Path) -> None:
    registry = Registry(SqliteStore(tmp_path / "bandits.db"))
    registry.open()
    server = Server(application(registry, Hosts("127.0.0.1")), registry, {})
    (making,) = [endpoint for endpoint in ENDPOINTS if endpoint.label == "new token"]
    for first in ({"role": "ask"}, {"role": "admin", "experiments": ["mine"]}):
        assert server.send(making, body=json.dumps({"name": "a"} | first).encode()).status == 422
        assert registry.tokens.open
    made = server.send(making, body=b'{"name": "a", "role": "admin"}')
    text = json.loads(made.body)["text"]
    assert server.send(making, body=b'{"name": "b", "role": "ask"}').status == 401
    assert server.send(making, token=text, body=b'{"name": "b", "role": "ask"}').status == 201
    registry.close()
