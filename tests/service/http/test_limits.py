"""Bodies and rates: what is over a limit is refused before the application sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asgi import answer, hello, reply_of, request, scope_of

import structured_bandits as sb
from structured_bandits.service.http import bodies, rate_limit
from structured_bandits.service.http.authentication import Authentication, Caller
from structured_bandits.service.http.problems import Malformed
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.tokens import Tokens, new_token

LIMIT = bodies.BodyLimit(hello, most_bytes=100, most_seconds=600.0)


async def untouchable(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError("the application was reached")


CLOSED = bodies.BodyLimit(untouchable, most_bytes=100, most_seconds=600.0)


@pytest.mark.parametrize("parts", [[b"x" * 100], [b"x" * 60, b"x" * 40], [b"x"] * 100, [b""]])
def test_bodies_within_the_limit_arrive_whole(parts: list[bytes]) -> None:
    reply = request(LIMIT, parts, method="POST")
    assert (reply.status, reply.body) == (200, b"".join(parts))


@pytest.mark.parametrize("parts", [[b"x" * 101], [b"x" * 60, b"x" * 41], [b"x"] * 101])
def test_bodies_over_the_limit_are_refused_without_a_length_too(parts: list[bytes]) -> None:
    reply = request(CLOSED, parts, method="POST")
    assert reply.status == 413
    assert json.loads(reply.body)["detail"] == "The body is longer than 100 bytes."
    assert reply.headers["connection"] == "close"


def test_no_more_is_read_than_the_limit() -> None:
    """A stream without an end is read only until it is too long."""
    taken: list[int] = []
    sent: list[Any] = []

    async def endless() -> Any:
        taken.append(30)
        return {"type": "http.request", "body": b"x" * 30, "more_body": True}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(CLOSED(scope_of(method="POST"), endless, send))
    assert reply_of(sent).status == 413
    assert sum(taken) == 120


@pytest.mark.parametrize("length", ["101", "1" * 5_000])
def test_a_length_over_the_limit_is_refused_before_anything_is_read(length: str) -> None:
    async def unread() -> Any:
        raise AssertionError("the body was read")

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = scope_of(method="POST", headers=[("content-length", length)])
    asyncio.run(CLOSED(scope, unread, send))
    assert reply_of(sent).status == 413


def test_a_length_that_lies_does_not_help() -> None:
    headers = [("host", "localhost"), ("content-length", "5")]
    assert request(CLOSED, [b"x" * 101], method="POST", headers=headers).status == 413


def test_a_slow_body_is_refused_and_its_connection_closed() -> None:
    async def trickle() -> Any:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    hasty = bodies.BodyLimit(untouchable, most_bytes=1_000_000, most_seconds=0.05)
    asyncio.run(hasty(scope_of(method="POST"), trickle, send))
    reply = reply_of(sent)
    assert reply.status == 408
    assert reply.headers["connection"] == "close"


def test_a_sender_who_goes_away_reaches_nothing() -> None:
    async def gone() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        raise AssertionError("nobody is there")

    asyncio.run(CLOSED(scope_of(method="POST"), gone, send))


def test_what_comes_after_the_body_reaches_the_application() -> None:
    seen: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.extend([(await receive())["type"], (await receive())["type"]])
        await hello(scope, receive, send)

    asyncio.run(answer(bodies.BodyLimit(app), scope_of(method="POST"), [b"{}"]))
    assert seen == ["http.request", "http.disconnect"]


def nested(depth: int, mixed: bool = False) -> bytes:
    value: Any = 1
    for level in range(depth):
        value = (
            {"a": value}
            if mixed and level % 2
            else [value, "[[[[[[[[[[", []][: 1 + 2 * (level > 0)]
        )
    return json.dumps(value).encode()


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("depth", [1, 7, 8, 9, 10, 17, 900])
def test_depth_is_what_a_decoder_would_meet(depth: int, mixed: bool) -> None:
    body = nested(depth, mixed)
    if depth <= 8:
        bodies.check_depth(body)
    else:
        with pytest.raises(Malformed, match="more than 8 deep"):
            bodies.check_depth(body)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


VALUES = st.recursive(
    st.none() | st.integers() | st.text(alphabet='[]{}"\\\n,:é', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text('[{"', max_size=3), inner, max_size=3)
    ),
    max_leaves=25,
)


@settings(max_examples=200, deadline=None)
@given(value=VALUES, most=st.integers(1, 5), ascii_only=st.booleans())
def test_depth_is_that_of_the_value(value: Any, most: int, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    if depth_of(value) <= most:
        bodies.check_depth(body, most)
    else:
        with pytest.raises(Malformed):
            bodies.check_depth(body, most)


@pytest.mark.parametrize(
    "text",
    [
        "[[[[[[[[[",
        "]]]]]]]]]",
        '"',
        '\\"[[[[[[[[[',
        "\\\\",
        '\\\\"',
        "\n\t[",
        "é[",
        "}{}{}{}{}{}{}{}{}{}{",
    ],
)
def test_brackets_inside_strings_do_not_count(text: str) -> None:
    bodies.check_depth(json.dumps({text: [text] * 20}, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 2**20,
        b"[]" * 2**19,
        b"[" * 2**19 + b"]" * 2**19,
        b'"' + b'\\"' * 2**19,
        b'[[[[[[[[["' + b'\\"' * 2**19,
        b'[[[[[[[[["' + b"\\" * 2**20,
        b'[[[[[[[[["' * 100_000,
        b'[["a",' * 150_000,
    ],
    ids=["open", "flat", "deep", "escapes", "open string", "backslashes", "quotes", "lists"],
)
def test_no_body_makes_the_check_slow(body: bytes) -> None:
    """A search that goes back over what it has read would need the square of their length."""
    began = time.process_time()
    with contextlib.suppress(Malformed):
        bodies.check_depth(body)
    assert time.process_time() - began < 2.0


def test_a_deep_body_does_not_reach_the_application() -> None:
    assert request(CLOSED, [b"[" * 20 + b"]" * 20], method="POST").status == 400


# --- rates -----------------------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_a_burst_and_then_its_rate() -> None:
    clock = Clock()
    buckets = rate_limit.Buckets(rate=10.0, burst=5, clock=clock)
    assert [buckets.take("a") for _ in range(5)] == [0.0] * 5
    assert buckets.take("a") == pytest.approx(0.1)
    assert buckets.take("b") == 0.0
    taken = 0
    for _ in range(1_000):  # ten seconds
        clock.now += 0.01
        taken += buckets.take("a") == 0.0
    assert taken == pytest.approx(100, abs=1)
    clock.now += 1_000.0
    assert [buckets.take("a") for _ in range(6)].count(0.0) == 5


def test_waiting_as_long_as_was_said_is_enough() -> None:
    clock = Clock()
    buckets = rate_limit.Buckets(rate=3.0, burst=1, clock=clock)
    buckets.take("a")
    clock.now += buckets.take("a") * (1 + 1e-9)
    assert buckets.take("a") == 0.0


def test_many_callers_do_not_fill_the_memory() -> None:
    clock = Clock()
    buckets = rate_limit.Buckets(rate=1.0, burst=2, most=100, clock=clock)
    answers = [buckets.take(str(number)) for number in range(1_000)]
    assert len(buckets) <= 101
    assert answers[:102] == [0.0] * 102  # the last two of one shared bucket
    assert min(answers[102:]) > 0.0
    clock.now += 10.0  # all are full again
    assert buckets.take("new") == 0.0
    assert len(buckets) == 1


@pytest.mark.parametrize(("rate", "burst"), [(0.0, 1), (float("nan"), 1), (1.0, 0)])
def test_bad_rates_are_named(rate: float, burst: int) -> None:
    with pytest.raises(sb.ParameterError, match=r"rate=|burst="):
        rate_limit.Buckets(rate, burst)


@pytest.mark.parametrize(
    ("address", "payer"),
    [
        ("7.7.7.7", "7.7.7.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("::ffff:7.7.7.7", "7.7.7.7"),
        ("fe80::1%eth0", "fe80::"),
        (":", ":"),
        ("", ""),
    ],
)
def test_addresses_pay_by_household(address: str, payer: str) -> None:
    assert rate_limit.payer_of(Caller(None, False, address, False)) == payer


def test_tokens_pay_for_themselves_and_strangers_by_address() -> None:
    one, two = new_token("one", "ask"), new_token("two", "ask")
    clock = Clock()
    buckets = rate_limit.Buckets(rate=0.5, burst=1, clock=clock)
    limited = rate_limit.RateLimit(hello, buckets)
    app = Authentication(limited, Tokens([one[1], two[1]]), Hosts("127.0.0.1"))

    def status(text: str, client: str = "127.0.0.1") -> int:
        headers = [("host", "localhost"), ("authorization", f"Bearer {text}")]
        return request(app, headers=headers, client=client).status

    assert [status(one[0]), status(one[0]), status(one[0], "127.0.0.2")] == [200, 429, 429]
    assert status(two[0]) == 200
    assert [status("wrong"), status("wronger"), status("wrong", "127.0.0.2")] == [200, 429, 200]
    late = request(app, headers=[("host", "localhost")])
    assert late.headers["retry-after"] == "2"
    assert "x-content-type-options" in late.headers
