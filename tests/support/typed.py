"""What somebody types who follows a page of the documentation: its files, its commands, its requests."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple, Self

from click.testing import CliRunner
from support.service_process import PATIENCE, SOURCES, Answer, Client, ServiceProcess

from structured_bandits.cli.commands import main

ADDRESS = "http://127.0.0.1:8321"  # of the server on all pages; in tests it has another port
#: A block, and the file that it is the content of if the line before it says "`name`: …".
BLOCK = re.compile(r"(?:`([\w.-]+)`:[^\n`]*\n\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A block of a page."""

    file: str  # empty if it is no file
    kind: str
    text: str


def blocks_of(page: Path) -> list[Block]:
    """Return all blocks of a page, in order."""
    return [Block(*found) for found in BLOCK.findall(page.read_text())]


def request_of(command: str) -> tuple[str, str, Any, dict[str, str]]:
    """Return method, path, content and headers of a request that a line with curl sends.

    >>> request_of("curl --json '{}' http://127.0.0.1:8321/v1/a")
    ('POST', '/v1/a', {}, {})
    """
    method, content, path, headers = "", None, "", {}
    words = iter(shlex.split(command)[1:])
    for word in words:
        if word == "--request":
            method = next(words)
        elif word == "--json":
            content = json.loads(next(words))
        elif word == "--header":
            name, value = next(words).split(": ")
            headers[name] = value
        else:
            assert word.startswith(f"{ADDRESS}/"), command
            path = word.removeprefix(ADDRESS)
    return method or ("GET" if content is None else "POST"), path, content, headers


class Typist:
    """Somebody with a folder and some terminals; `said` is what the last command printed.

    A command that runs longer than `patience` seconds fails.
    """

    def __init__(self, folder: Path, patience: float = PATIENCE) -> None:
        self.folder = folder
        self.said = ""
        self.answer: Answer | None = None
        self.token = ""
        self.patience = patience
        self._server: ServiceProcess | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._server is not None:
            self._server.kill()

    def type(self, command: str) -> None:
        """Run a command as the page shows it."""
        words = shlex.split(command)
        if words[0] == "curl":
            self.answer = self.send(*request_of(command))
        elif words[:2] == ["structured-bandits", "serve"]:
            self.end_server()
            self._server = ServiceProcess(self.folder, options=tuple(words[2:]))
            self._server.start()
            self.said = "".join(self._server.greeting).replace(self._server.url, ADDRESS)
        elif words[:2] == ["structured-bandits", "explore"]:
            self.said = self._glance([*words[1:], "--no-browser"])
        elif words[0] == "structured-bandits":
            self.said = self._command(words[1:])
        else:
            assert words[0] == "python", command
            script = self.folder / words[1]
            script.write_text(script.read_text().replace(ADDRESS, self.url))
            self.said = self._run(words[1:])

    def send(self, method: str, path: str, content: Any, headers: dict[str, str]) -> Answer:
        """Send a request to the server."""
        client = Client(self.url)
        if self.token:
            headers = {"Authorization": f"Bearer {self.token}", **headers}
        try:
            return client.call(method, path, content, **headers)
        finally:
            client.hang_up()

    def end_server(self) -> None:
        """Press Ctrl-C, as it were."""
        if self._server is not None:
            assert self._server.stop() == 0
            self._server = None

    @property
    def url(self) -> str:
        """The address of the server."""
        assert self._server is not None, "no server runs"
        return self._server.url

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": SOURCES}

    def _command(self, arguments: list[str]) -> str:
        """Run a command that ends by itself; in this process, since a new one takes a second to start."""
        with chdir(self.folder):
            done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, (arguments, done.output)
        return done.stdout

    def _run(self, arguments: list[str]) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=self.patience,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout

    def _glance(self, arguments: list[str]) -> str:
        """Start a command that runs until Ctrl-C; return its first line, and end it."""
        command = [sys.executable, "-m", "structured_bandits", *arguments]
        process = subprocess.Popen(
            command, cwd=self.folder, env=self._environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], PATIENCE)[0], command
            return process.stdout.readline()
        finally:
            process.terminate()
            process.wait(PATIENCE)
            assert process.stdout is not None
            process.stdout.close()


def shape_of(content: Any) -> Any:
    """Return the keys of JSON, without its values: what an example and a real answer share."""
    if isinstance(content, dict):
        return {key: shape_of(value) for key, value in content.items()}
    return [shape_of(content[0])] if isinstance(content, list) and content else None
