"""Where a service is, and connections to it that stay open between requests, for many threads."""

from __future__ import annotations

import os
import ssl
import weakref
from contextlib import suppress
from http.client import (
    HTTPConnection,
    HTTPMessage,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
)
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from structured_bandits.errors import ParameterError

PORTS = {"http": 80, "https": 443}
ACCEPTED = (
    "expected the address of a service, such as http://127.0.0.1:8321 or https://shop.test/bandits"
)


class Address(NamedTuple):
    """The parts of a URL; `prefix` is what stands before all paths, without a slash at its end."""

    secure: bool
    host: str
    port: int
    prefix: str

    def __str__(self) -> str:
        scheme = "https" if self.secure else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[scheme] else f":{self.port}"
        return f"{scheme}://{host}{port}{self.prefix}"


def checked_address(url: Any) -> Address:
    """Return the parts of a URL.

    >>> checked_address("https://shop.test/bandits/")
    Address(secure=True, host='shop.test', port=443, prefix='/bandits')
    >>> str(checked_address("http://[::1]:8321"))
    'http://[::1]:8321'
    """
    if not isinstance(url, str):
        raise ParameterError(f"url={url!r}: {ACCEPTED}")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ParameterError(f"url={url!r}: {error}; {ACCEPTED}") from None
    if parts.username is not None or parts.password is not None:  # they are not shown: secrets
        raise ParameterError(f"url: it has a user or a password in it; pass token=…; {ACCEPTED}")
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in PORTS or not host or parts.query or parts.fragment or not plain:
        raise ParameterError(f"url={url!r}: {ACCEPTED}")
    return Address(
        parts.scheme == "https", host, port or PORTS[parts.scheme], parts.path.rstrip("/")
    )


MOST_IDLE = 16  # connections that are kept open
SHORTEST = 0.001  # seconds: a timeout of 0 would mean not to wait at all
CHUNK = 1 << 16  # bytes that are read at once


class Request(NamedTuple):
    """What is sent; the body is empty if it is None."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]


class Reply(NamedTuple):
    """What comes back, as it is."""

    status: int
    headers: HTTPMessage
    body: bytes


class Connections:
    """Sends requests, each over a connection that no other request uses meanwhile.

    A process that is forked begins with no connections: answers to two processes on one connection would
    be mixed up.
    """

    def __init__(self, address: Address, ssl_context: ssl.SSLContext | None) -> None:
        self._address = address
        self._ssl_context = ssl_context
        self._owner = os.getpid()
        self._lock = Lock()
        self._idle: list[HTTPConnection] = []
        weakref.finalize(self, _close_all, self._idle)  # whoever forgets to close it

    def exchange(self, request: Request, timeout: float) -> Reply:
        """Send a request and return the reply; raise OSError or HTTPException if there is none.

        The service may have closed a connection while it was idle, which shows only when it is used. So
        if one that was kept fails, the request is sent once more, over a new one.
        """
        deadline = monotonic() + timeout
        kept = self._take()
        if kept is not None:
            try:
                return self._exchange_over(kept, request, deadline)
            except (ConnectionError, ssl.SSLEOFError):
                pass
        return self._exchange_over(self._connection(), request, deadline)

    def close(self) -> None:
        """Close the connections that are idle; the next request opens another one."""
        _close_all(self._idle)

    def _take(self) -> HTTPConnection | None:
        """Return the connection that was used last, None if none is idle."""
        if self._owner != os.getpid():  # forked: closed here, they stay open where they are used
            self._owner = os.getpid()
            self._lock = Lock()
            self.close()
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _keep(self, connection: HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _connection(self) -> HTTPConnection:
        """Return a connection that is not open yet."""
        _, host, port, _ = self._address
        if self._address.secure:
            return HTTPSConnection(host, port, context=self._ssl_context)
        return HTTPConnection(host, port)

    def _exchange_over(
        self, connection: HTTPConnection, request: Request, deadline: float
    ) -> Reply:
        left = max(deadline - monotonic(), SHORTEST)
        try:
            connection.timeout = left
            if connection.sock is not None:
                connection.sock.settimeout(left)
            connection.request(request.method, request.path, request.body, request.headers)
            with connection.getresponse() as response:
                body = _read(response, deadline)
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return Reply(response.status, response.headers, body)


def _close_all(idle: list[HTTPConnection]) -> None:
    """Close connections and forget them, whoever takes some of them meanwhile."""
    while idle:
        with suppress(IndexError):
            idle.pop().close()


def _read(response: HTTPResponse, deadline: float) -> bytes:
    """Return the body; a timeout of the socket alone would let a slow one take for ever."""
    chunks = []
    while chunk := response.read1(CHUNK):
        chunks.append(chunk)
        if monotonic() > deadline:
            raise TimeoutError("timed out")
    body = b"".join(chunks)
    if response.length:  # the connection was closed before all of it came
        raise IncompleteRead(body, response.length)
    return body
