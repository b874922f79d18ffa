"""The door: hosts, origins, tokens and headers, as requests meet them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asgi import Reply, hello, request, scope_of

from structured_bandits.service.http.authentication import (
    Authentication,
    Caller,
    caller_of,
    session_cookie,
)
from structured_bandits.service.http.problems import Forbidden, Unauthorised
from structured_bandits.service.http.trusted_hosts import Hosts, Proxies
from structured_bandits.service.running.tokens import Tokens, new_token

TEXT, TOKEN = new_token("shop", "ask", experiments=["tea"])
HOST = ("host", "localhost:8321")
BEARER = ("authorization", f"Bearer {TEXT}")
COOKIE = ("cookie", f"theme=dark; sb_token={TEXT}")
OWN = ("origin", "http://localhost:8321")
FOREIGN = ("origin", "https://evil.example")


async def who(scope: Any, receive: Any, send: Any) -> None:
    """Answer with what the guard found out."""
    token, is_open, address, https = caller_of(scope)
    said = json.dumps([token and token.name, is_open, address, https]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": said})


def seen(*headers: tuple[str, str], tokens: bool = True, proxies: Any = (), **about: Any) -> Any:
    book = Tokens([TOKEN] if tokens else [])
    guard = Authentication(who, book, Hosts("127.0.0.1"), Proxies(proxies))
    reply = request(guard, headers=[HOST, *headers], **about)
    return json.loads(reply.body) if reply.status == 200 else reply.status


def test_a_token_names_its_caller() -> None:
    assert seen(BEARER) == ["shop", False, "127.0.0.1", False]
    assert seen(("authorization", f"bearer  {TEXT} ")) == ["shop", False, "127.0.0.1", False]
    assert seen(COOKIE) == ["shop", False, "127.0.0.1", False]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("authorization", "")],
        [("authorization", TEXT)],
        [("authorization", f"Basic {TEXT}")],
        [("authorization", "Bearer sb_é_ÿ")],
        [("authorization", "Bearer x"), COOKIE],  # the header counts
        [BEARER, BEARER],
        [("cookie", f"sb_token2={TEXT}")],
        [("cookie", f"__Host-sb_token={TEXT}")],  # which is read over TLS only
        [("cookie", f'sb_token="{TEXT}"')],
        [("cookie", ";;;=;sb_token")],
    ],
)
def test_without_a_valid_token_nobody_is_named(headers: Any) -> None:
    assert seen(*headers) == [None, False, "127.0.0.1", False]


@pytest.mark.parametrize("headers", [[], [HOST, HOST], [("host", "evil.example")], [("host", "")]])
def test_requests_for_other_servers_are_misdirected(headers: Any) -> None:
    guard = Authentication(who, Tokens([TOKEN]), Hosts("127.0.0.1"))
    assert request(guard, headers=[*headers, BEARER]).status == 421


@pytest.mark.parametrize(
    ("headers", "tokens", "status"),
    [
        ([COOKIE, OWN], True, 200),
        ([COOKIE, FOREIGN], True, 403),
        ([COOKIE, ("origin", "null")], True, 403),
        ([COOKIE, ("origin", "http://localhost:3000")], True, 403),
        ([COOKIE, OWN, FOREIGN], True, 403),
        ([COOKIE], True, 403),
        ([BEARER], True, 200),
        ([BEARER, FOREIGN], True, 200),  # no browser adds this header by itself
        ([FOREIGN], True, 403),  # a page that tries to log a browser in
        ([], False, 200),  # a program, on an open server
        ([OWN], False, 200),
        ([FOREIGN], False, 403),  # any page that this machine's browser shows
    ],
)
def test_pages_of_others_change_nothing(headers: Any, tokens: bool, status: int) -> None:
    found = seen(*headers, tokens=tokens, method="POST")
    assert (200 if isinstance(found, list) else found) == status


def test_reading_needs_no_origin() -> None:
    assert seen(COOKIE, FOREIGN, method="GET")[0] == "shop"


def test_an_open_server_does_not_answer_through_a_proxy() -> None:
    assert seen(tokens=False) == [None, True, "127.0.0.1", False]
    assert seen(("x-forwarded-for", "7.7.7.7"), tokens=False) == 403
    assert seen(("forwarded", "for=7.7.7.7"), tokens=False) == 403


def test_forwarded_headers_count_from_trusted_proxies_only() -> None:
    forwarded = (("x-forwarded-for", "7.7.7.7"), ("x-forwarded-proto", "HTTPS"))
    assert seen(*forwarded, client="10.0.0.1") == [None, False, "10.0.0.1", False]
    assert seen(*forwarded, client="10.0.0.1", proxies=["10.0.0.1"]) == [
        None,
        False,
        "7.7.7.7",
        True,
    ]
    twice = (("x-forwarded-for", "7.7.7.7"), ("x-forwarded-for", "8.8.8.8"))
    assert seen(*twice, client="10.0.0.1", proxies=["10.0.0.1"])[2] == "8.8.8.8"


def test_over_tls_the_cookie_has_a_name_that_no_other_host_can_set() -> None:
    proxied = {"client": "10.0.0.1", "proxies": ["10.0.0.1"]}
    by_tls = ("x-forwarded-proto", "https")
    assert seen(by_tls, ("cookie", f"__Host-sb_token={TEXT}"), **proxied)[0] == "shop"
    assert seen(by_tls, COOKIE, **proxied)[0] is None


def test_a_cookie_is_for_this_server_alone() -> None:
    assert session_cookie("sb_x", https=True) == (
        "__Host-sb_token=sb_x; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure"
    )
    ended = session_cookie("", https=False)
    assert ended == "sb_token=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"


NAMES = ["host", "authorization", "cookie", "origin", "x-forwarded-for", "x-forwarded-proto"]
PIECES = [
    "localhost",
    ":",
    "[",
    "]",
    "::1",
    ",",
    ";",
    "=",
    "sb_token",
    "Bearer ",
    TEXT,
    "http://",
    "\xff",
    "\t",
    "9",
]
VALUES = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@settings(max_examples=300, deadline=None)
@given(
    headers=st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=6),
    tokens=st.booleans(),
    method=st.sampled_from(["GET", "POST"]),
)
def test_no_headers_make_the_guard_stumble(headers: Any, tokens: bool, method: str) -> None:
    """And none but a whole token in its place names a caller."""
    found = seen(*headers, tokens=tokens, method=method, proxies=["127.0.0.1"])
    if isinstance(found, int):
        assert found in (403, 421)
    elif found[0] is not None:
        assert any(TEXT in value for name, value in headers if name in ("authorization", "cookie"))


def answers() -> list[Reply]:
    guard = Authentication(hello, Tokens([TOKEN]), Hosts("127.0.0.1"))
    return [request(guard, headers=[HOST]), request(guard, headers=[("host", "evil.example")])]


@pytest.mark.parametrize("reply", answers(), ids=["let in", "refused"])
def test_every_answer_keeps_browsers_careful(reply: Reply) -> None:
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "same-origin"
    assert not [name for name in reply.headers if name.startswith("access-control")]
    assert reply.headers["cache-control"] in ("private, no-cache", "no-store")


def test_web_sockets_are_closed_and_the_lifespan_passes() -> None:
    sent: list[Any] = []
    reached: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["type"])

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Authentication(app, Tokens(), Hosts("127.0.0.1"))
    asyncio.run(guard({**scope_of(), "type": "websocket"}, None, send))
    asyncio.run(guard({"type": "lifespan"}, None, send))
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert reached == ["lifespan"]


def test_callers_without_the_role_are_refused() -> None:
    known = Caller(TOKEN, open=False, address="", https=False)
    stranger = Caller(None, open=False, address="", https=False)
    known.require("ask", "tea")
    with pytest.raises(Forbidden, match="'shop' has not the role 'admin' for the experiment 'tea'"):
        known.require("admin", "tea")
    with pytest.raises(Forbidden, match="all experiments"):
        known.require("read", None)
    with pytest.raises(Unauthorised, match="Bearer"):
        stranger.require("read", "tea")
    assert not stranger.may("read", "tea")
    Caller(None, open=True, address="", https=False).require("admin", None)
