"""The real command `structured-bandits serve`, as a process of its own that tests may treat badly."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import structured_bandits
from structured_bandits.service.experiment.replay import LogVerdict
from structured_bandits.service.server import open_store
from structured_bandits.service.store.checking import check_store

SOURCES = str(Path(structured_bandits.__file__).parents[1])
PATIENCE = 300.0  # seconds in which a process must answer or end; usually one is enough

#: A table of two models; the second is the truth of the rewards that the tests tell.
MEANS = [[0.75, 0.5, 0.25], [0.25, 0.5, 0.75]]
SHOP: dict[str, Any] = {
    "structure": {"kind": "finite", "means": MEANS, "arms": ["tea", "coffee", "milk"]},
    "policy": {"kind": "SAE"},
    "horizon": 10_000_000,
    "alarm": {"fallback": "none"},
}


class Answer(NamedTuple):
    """An answer of the service."""

    status: int
    content: Any  # what its JSON says; text if it is something else
    headers: Mapping[str, str]


class LostError(Exception):
    """No answer came: nobody knows whether the request was heard."""


class Client:
    """One connection, which is opened again when it was lost."""

    def __init__(self, url: str, timeout: float = PATIENCE) -> None:
        self._address = urlsplit(url).netloc
        self._timeout = timeout
        self._connection: HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.hang_up()

    def call(self, method: str, path: str, content: Any = None, **headers: str) -> Answer:
        """Send a request and wait for its answer; raises LostError if none comes."""
        self.send(method, path, content, **headers)
        return self.receive()

    def post(self, path: str, content: Any) -> Answer:
        """Send what changes something."""
        return self.call("POST", path, content)

    def get(self, path: str, **headers: str) -> Answer:
        """Read something."""
        return self.call("GET", path, **headers)

    def send(self, method: str, path: str, content: Any = None, **headers: str) -> None:
        """Send a request; its answer may be left unread by `hang_up`."""
        if self._connection is None:
            self._connection = HTTPConnection(self._address, timeout=self._timeout)
        body = None if content is None else json.dumps(content)
        try:
            self._connection.request(
                method, path, body, {"Content-Type": "application/json", **headers}
            )
        except (OSError, HTTPException) as error:
            self.hang_up()
            raise LostError(repr(error)) from error

    def receive(self) -> Answer:
        """Return the answer to the request that was sent."""
        assert self._connection is not None
        try:
            response = self._connection.getresponse()
            body = response.read()
        except (OSError, HTTPException) as error:
            self.hang_up()
            raise LostError(repr(error)) from error
        kind = response.headers.get("content-type", "").partition(";")[0]
        plain: Any = body.decode()
        if kind == "application/x-ndjson":
            plain = [json.loads(line) for line in body.splitlines()]
        elif kind.endswith("json"):
            plain = json.loads(body)
        return Answer(response.status, plain, dict(response.headers))

    def hang_up(self) -> None:
        """Close the connection, whatever the other side is doing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class ServiceProcess:
    """A server with its store in a folder; it can be killed and started again.

    `store` is the address of another place for it, and `options` are added to the command,
    such as files in the folder.
    `environment` is added to that of the test, such as LD_PRELOAD. What the server says is in `said`.
    """

    def __init__(
        self,
        folder: Path,
        *,
        store: str | None = None,
        options: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.store = store or str(folder / "bandits.db")
        self.said = folder / "said.txt"
        self.url = ""
        self.greeting: list[str] = []  # the lines that it prints until it serves
        self.environment = dict(environment or {})
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """The id of the process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> float:
        """Start the command and wait until it serves; return how many seconds that took."""
        assert self._process is None
        began = time.monotonic()
        self._process = self.launch()
        try:
            self.url = self._url_of(self._process)
        except BaseException:  # nobody would end it then
            self.kill()
            raise
        return time.monotonic() - began

    def launch(self) -> subprocess.Popen[str]:
        """Start the command, without waiting."""
        command = [sys.executable, "-m", "structured_bandits", "serve"]
        command += ["--store", self.store, "--port", "0", *self._options]
        environment = {**os.environ, "PYTHONPATH": SOURCES, **self.environment}
        with self.said.open("a") as said:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )

    def _url_of(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None
        self.greeting = []
        for line in _lines(process, time.monotonic() + PATIENCE):
            self.greeting.append(line)
            if line.startswith("serving on "):
                return line.removeprefix("serving on ").strip()
        raise AssertionError(f"the service did not start: {self.said.read_text()[-2000:]}")

    def client(self, timeout: float = PATIENCE) -> Client:
        """Return a new connection."""
        return Client(self.url, timeout)

    def kill(self) -> None:
        """End the process as a loss of power would: it can do nothing about it."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End the process as an operator would; return its exit code."""
        return self._end(signal.SIGTERM)

    def wait(self) -> int:
        """Wait for the end of a process that ends by itself."""
        return self._end(None)

    def _end(self, number: signal.Signals | None) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        if number is not None:
            process.send_signal(number)
        try:
            return process.wait(PATIENCE)
        finally:
            process.kill()
            assert process.stdout is not None
            process.stdout.close()

    def memory(self) -> int:
        """Return the memory of the process in bytes: what is resident now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def verdicts(self) -> list[LogVerdict]:
        """Check the whole log: its chain, its accounting and every decision."""
        store = open_store(self.store, readonly=True)
        try:
            return [checked.verdict for checked in check_store(store, (), decisions=True)]
        finally:
            store.close()


def _lines(process: subprocess.Popen[str], end: float) -> Iterator[str]:
    """Yield lines as they come, until the process ends or the time is over.

    Reads the pipe itself: a line that Python has read ahead would not be seen by `select`.
    """
    assert process.stdout is not None
    pipe, begun = process.stdout.fileno(), b""
    while (left := end - time.monotonic()) > 0:
        if select.select([pipe], [], [], left)[0]:
            read = os.read(pipe, 65536)
            if not read:
                return
            *lines, begun = (begun + read).split(b"\n")
            yield from (f"{line.decode()}\n" for line in lines)
