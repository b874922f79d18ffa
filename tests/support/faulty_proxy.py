"""A proxy that fails on purpose, between a client and any service.

It takes one fault from its list for each request, and hands the request on when the list is empty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support.naive_service import QuietServer, serving

REFUSED = "refused"  # the connection is closed before the service hears of the request
LOST = "lost"  # the service answers, and the connection is closed before the client hears it
SILENT = "silent"  # the request is swallowed, and nothing comes back for a long time
CUT = "cut"  # half of the answer comes
SLOW = "slow"  # the answer comes byte by byte, with pauses
FINE = "fine"


class Canned(NamedTuple):
    """An answer of the proxy's own: the service hears nothing."""

    status: int
    body: str = ""
    headers: Sequence[tuple[str, str]] = ()


class Seen(NamedTuple):
    """A request that came."""

    method: str
    path: str
    headers: Any
    body: bytes


class Proxy(NamedTuple):
    """A proxy that runs; append to `faults`, look at `seen` and at the number of `connections`."""

    url: str
    faults: deque[Any]
    seen: list[Seen]
    connections: list[Any]


class Handler(BaseHTTPRequestHandler):
    """Fails, or hands on."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body go together, or the client waits for the second
    server: FaultyServer

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def setup(self) -> None:
        super().setup()
        self.server.connections.append(self.client_address)

    def do_GET(self) -> None:
        self.handle_request()

    def do_POST(self) -> None:
        self.handle_request()

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(Seen(self.command, self.path, self.headers, body))
        fault = self.server.faults.popleft() if self.server.faults else FINE
        self.close_connection = fault in (REFUSED, LOST, SILENT, CUT, SLOW)
        if fault == SILENT:
            self.server.stopped.wait(30.0)
        elif isinstance(fault, Canned):
            self.write(fault.status, fault.headers, fault.body.encode())
        elif fault != REFUSED:
            status, headers, answer = self.hand_on(body)
            if fault == CUT:
                self.write(status, headers, answer, shown=len(answer) // 2)
            elif fault == SLOW:
                self.write(status, headers, answer, shown=0)
                self.drip(answer)
            elif fault != LOST:
                self.write(status, headers, answer)

    def hand_on(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        target = urlsplit(self.server.target)
        connection = HTTPConnection(str(target.hostname), target.port, timeout=60.0)
        kept = ("authorization", "content-type", "if-none-match", "idempotency-key")
        headers = {name: value for name, value in self.headers.items() if name.lower() in kept}
        try:
            connection.request(self.command, target.path + self.path, body or None, headers)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        wanted = ("content-type", "etag", "retry-after")
        said = [each for each in response.getheaders() if each[0].lower() in wanted]
        return response.status, said, answer

    def write(
        self, status: int, headers: Sequence[tuple[str, str]], body: bytes, shown: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:shown])

    def drip(self, answer: bytes) -> None:
        with suppress(ConnectionError):  # the client need not wait for the end
            for byte in answer:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                self.server.stopped.wait(0.02)


class FaultyServer(QuietServer):
    """Holds what the handlers share."""

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = target
        self.faults: deque[Any] = deque()
        self.seen: list[Seen] = []
        self.connections: list[Any] = []
        self.stopped = Event()


@contextmanager
def faulty_proxy(target: str) -> Iterator[Proxy]:
    """Run a proxy before the service at a URL."""
    server = FaultyServer(target)
    try:
        with serving(server) as running:
            yield Proxy(running.url, server.faults, server.seen, server.connections)
    finally:
        server.stopped.set()
