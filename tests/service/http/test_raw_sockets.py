"""A real server, met by clients that are slow, endless, or no HTTP clients at all."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn
from support.asgi import hello

from structured_bandits.service.http import bodies
from structured_bandits.service.http.authentication import Authentication
from structured_bandits.service.http.slow_clients import SlowClientProtocol
from structured_bandits.service.http.trusted_hosts import Hosts
from structured_bandits.service.running.tokens import Tokens

PATIENCE = 0.3  # seconds that a test lets the server wait
LONG = 600.0  # seconds that it waits otherwise, and uvicorn anyway
HOST = b"Host: localhost\r\n"
OK = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"


class Protocol(SlowClientProtocol):
    head_seconds = LONG
    head_bytes = 2**12


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["path"] == "/slow":
        await asyncio.sleep(2 * PATIENCE)
    await hello(scope, receive, send)


@pytest.fixture(scope="module")
def connect() -> Iterator[Callable[[], socket.socket]]:
    """A running server; the function makes a connection to it."""
    calm = bodies.BodyLimit(app, most_bytes=1_000, most_seconds=LONG)
    hasty = bodies.BodyLimit(app, most_bytes=1_000, most_seconds=PATIENCE)

    async def either(scope: Any, receive: Any, send: Any) -> None:
        await (hasty if scope["path"] == "/hasty" else calm)(scope, receive, send)

    server = uvicorn.Server(
        uvicorn.Config(
            Authentication(either, Tokens(), Hosts("127.0.0.1")),
            http=Protocol,
            log_config=None,
            lifespan="off",
            access_log=False,
            timeout_keep_alive=int(LONG),
        )
    )
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    address = listening.getsockname()
    yield lambda: socket.create_connection(address, timeout=120.0)
    server.should_exit = True
    thread.join(120.0)
    listening.close()
    assert not thread.is_alive()


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that makes the server impatient from now on; before, a busy machine may dawdle."""
    return lambda: monkeypatch.setattr(Protocol, "head_seconds", PATIENCE)


def rest(connection: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    received = b""
    while True:
        try:
            part = connection.recv(2**16)
        except ConnectionResetError:  # it closed while we were still sending
            return received
        if not part:
            return received
        received += part


def answer_on(connection: socket.socket) -> bytes:
    """Return one answer, to its last chunk; the connection stays open."""
    received = b""
    while not received.endswith(b"\r\n0\r\n\r\n"):
        part = connection.recv(2**16)
        assert part, received
        received += part
    return received


def status_of(received: bytes) -> int:
    found = re.match(rb"HTTP/1.1 (\d+) ", received)
    assert found is not None, received[:100]
    return int(found[1])


def test_a_request_is_answered(connect: Any) -> None:
    with connect() as connection:
        connection.sendall(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = rest(connection)
    assert status_of(received) == 200
    assert b"content-security-policy" in received


def send_until_closed(connection: socket.socket, part: bytes, pause: float) -> None:
    """Send a part again and again, until the server has closed the connection."""
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        try:
            connection.sendall(part)
        except (ConnectionResetError, BrokenPipeError):
            return
        time.sleep(pause)
    raise AssertionError("the server took it all")


@pytest.mark.parametrize(
    "begins", [b"", b"G", b"GET / HTTP/1.1\r\n" + HOST, b"\r\n", OK + b"GET /"]
)
def test_a_head_that_does_not_end_is_not_waited_for(
    connect: Any, hurry: Callable[[], None], begins: bytes
) -> None:
    """Here nobody else would close the connection before the test gives up."""
    hurry()
    began = time.monotonic()
    with connect() as connection:
        connection.sendall(begins)
        rest(connection)
    assert time.monotonic() - began > PATIENCE * 0.9


def test_an_empty_line_does_not_make_a_connection_live_on(
    connect: Any, hurry: Callable[[], None]
) -> None:
    """It ends uvicorn's wait for the next request, and none begins."""
    with connect() as connection:
        connection.sendall(OK)
        assert status_of(answer_on(connection)) == 200
        hurry()
        connection.sendall(b"\r\n")
        rest(connection)


def test_a_head_that_trickles_is_not_waited_for(connect: Any, hurry: Callable[[], None]) -> None:
    hurry()
    with connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        send_until_closed(connection, b"x", pause=0.05)


def test_an_answer_that_takes_longer_is_not_cut_off(
    connect: Any, hurry: Callable[[], None]
) -> None:
    slow = OK.replace(b"GET /", b"GET /slow")
    with connect() as connection:
        connection.sendall(OK)
        assert status_of(answer_on(connection)) == 200
        hurry()
        connection.sendall(slow + b"GET /")  # with the beginning of the next
        assert status_of(answer_on(connection)) == 200


def test_a_head_without_an_end_is_refused(connect: Any) -> None:
    """Long before its time is up."""
    with connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + HOST)
        send_until_closed(connection, b"X-Long: " + b"x" * 1_000 + b"\r\n", 0.001)


def test_chunks_beyond_the_limit_are_refused(connect: Any) -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"
    with connect() as connection:
        connection.sendall(head + b"".join([b"64\r\n" + b"x" * 100 + b"\r\n"] * 11))
        assert status_of(rest(connection)) == 413


def test_a_slow_body_is_refused(connect: Any) -> None:
    head = b"POST /hasty HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\n"
    with connect() as connection:
        connection.sendall(head + b"x")
        assert status_of(rest(connection)) == 408


def test_a_length_and_chunks_together_are_refused(connect: Any) -> None:
    """Two servers that read such a request differently could be made to see different requests."""
    head = (
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    with connect() as connection:
        connection.sendall(head + b"0\r\n\r\n" + OK)
        assert status_of(rest(connection)) == 400


@pytest.mark.parametrize(
    "garbage", [b"\0" * 100, b"\x16\x03\x01\x02\x00\x01\x00", b"SSH-2.0-OpenSSH\r\n", b"{}\r\n\r\n"]
)
def test_what_is_not_http_is_refused(connect: Any, garbage: bytes) -> None:
    with connect() as connection:
        connection.sendall(garbage)
        assert status_of(rest(connection)) == 400
