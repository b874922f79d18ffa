"""Clients of an HTTP server, in one process: what they send, and how long the answers take.

One thread and plain sockets (epoll), because the clients must not be slower than the server that they
measure; service.py prints how fast they are against a server that does nothing. Closed loop: each client
sends its next request when it has the answer to its last. With a `rate`, requests come at random times
instead (Poisson), whatever the server does; then an answer's time counts from the moment at which its
request was due, so that waiting for a free connection is not forgotten.

python benchmarks/service_load.py '{"port": 8321, "path": "/v1/experiments/x", "clients": 64, …}'
"""

from __future__ import annotations

import json
import random
import re
import resource
import select
import socket
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
DECISION = re.compile(rb'"id":"([^"]+)","arm":(\d+)')
WARM = 0.1  # share of the seconds that is not counted


@dataclass
class Client:
    """A connection that is kept, and what it does next."""

    socket: socket.socket
    due: float = 0.0  # when the request that is out was to be sent
    asked: tuple[str, int] | None = None  # the decision to tell next
    buffer: bytes = b""


@dataclass
class Load:
    """All clients, and what they have measured."""

    port: int
    path: str
    clients: int
    seconds: float
    means: list[float] | None = None  # of the arms: ask and tell in turn; None: only post
    rate: float | None = None  # requests a second; None: closed loop
    waits: list[float] = field(default_factory=list)
    answered: int = 0
    refused: int = 0

    def run(self) -> dict[str, Any]:
        """Send requests for some seconds; return how many were answered, and how fast."""
        poll = select.epoll()
        clients = {each.socket.fileno(): each for each in map(self._connected, range(self.clients))}
        for number in clients:
            poll.register(number, select.EPOLLIN)
        idle = deque(clients.values())
        begin = time.perf_counter()
        counted, end = begin + WARM * self.seconds, begin + self.seconds
        next_due, used = begin, 0.0
        while (now := time.perf_counter()) < end:
            if not used and now >= counted:
                used = cpu_seconds()
            while idle and next_due <= now:
                self._send(idle.popleft(), next_due if self.rate else now)
                if self.rate:
                    next_due += random.expovariate(self.rate)
            patience = max(next_due - now, 0.0) if idle else 0.1
            for number, _ in poll.poll(min(patience, 0.1)):
                client = clients[number]
                if self._received(client):
                    now = time.perf_counter()
                    if client.due >= counted:
                        self.waits.append(now - client.due)
                    if self.rate:
                        idle.append(client)
                    else:
                        self._send(client, now)
        return self._result(end - counted, cpu_seconds() - used)

    def _connected(self, _: int) -> Client:
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Client(connection)

    def _send(self, client: Client, due: float) -> None:
        client.due = due
        if self.means is None:
            path, body = self.path, '{"reward":1.0}'
        elif client.asked is None:
            path, body = f"{self.path}/ask", "{}"
        else:
            decision, arm = client.asked
            reward = "1.0" if random.random() < self.means[arm] else "0.0"
            path, body = f"{self.path}/tell", f'{{"id":"{decision}","reward":{reward}}}'
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        client.socket.send(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())

    def _received(self, client: Client) -> bool:
        """Read what has come; is the answer complete?"""
        client.buffer += client.socket.recv(65_536)
        head, found, body = client.buffer.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if not found or length is None or len(body) < int(length[1]):
            return False
        client.buffer = b""
        self.answered += 1
        self.refused += not head.startswith(b"HTTP/1.1 200")
        decision = DECISION.search(body) if self.means and client.asked is None else None
        client.asked = None if decision is None else (decision[1].decode(), int(decision[2]))
        return True

    def _result(self, seconds: float, used: float) -> dict[str, Any]:
        waits = sorted(self.waits)
        return {
            "requests": len(waits),  # in `seconds`
            "seconds": seconds,
            "answered": self.answered,  # those that are not counted included
            "refused": self.refused,
            "client_cpu": used,
            "p50": waits[len(waits) // 2],
            "p99": waits[len(waits) * 99 // 100],
        }


def cpu_seconds() -> float:
    """Return the seconds of the processor that this process has had."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(json.dumps(Load(**json.loads(sys.argv[1])).run()))
