"""Starts a PostgreSQL server of the tests' own, from the packages of the machine."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

SECONDS = 120.0  # to start or to stop
DEBIAN = Path("/usr/lib/postgresql")  # where initdb and postgres are, by version, but not on PATH
PASSWORD = "not-to-be-printed"


def find_postgres() -> Path | None:
    """The folder of initdb and postgres: that of Debian's newest version, or on PATH."""
    versions = [path.parent for path in DEBIAN.glob("*/bin/initdb")]
    newest = max(versions, key=lambda path: float(path.parent.name), default=None)
    on_path = shutil.which("initdb")
    return newest or (Path(on_path).resolve().parent if on_path else None)


class Server:
    """A server in a temporary folder; each `schema` of it is a store of its own."""

    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))  # short: for a socket
        self.schemas = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.who: dict[str, Any] = {}
        if os.geteuid() == 0:  # whom PostgreSQL refuses
            nobody = pwd.getpwnam("nobody")
            self.who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            shutil.chown(self.folder, nobody.pw_uid)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        flags = ["-U", "bandits", "-E", "UTF8", "--locale=C", "-A", "scram-sha-256"]
        flags += ["--no-sync", "--wal-segsize=1", f"--pwfile={secret}"]
        command = [self.programs / "initdb", "-D", self.data, *flags]
        subprocess.run(command, check=True, capture_output=True, cwd="/", **self.who)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def address(self) -> str:
        return f"postgresql://bandits:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts the server and waits until it answers; again while the one before still dies."""
        deadline = time.monotonic() + SECONDS
        while True:
            if self.process is None or self.process.poll() is not None:
                self.process = self._launch()
            try:
                psycopg.connect(self.address, connect_timeout=10).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > deadline:
                    log = (self.folder / "log").read_text()[-4000:]
                    raise RuntimeError(f"PostgreSQL does not start\n{log}") from error
                time.sleep(0.05)
            else:
                return

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}"]
        settings += ["fsync=on", "shared_buffers=16MB", "autovacuum=off", "max_wal_senders=0"]
        if (
            sys.platform == "linux"
        ):  # one call after a crash, instead of one for each of a thousand files
            settings += ["recovery_init_sync_method=syncfs"]
        flags = [part for setting in settings for part in ("-c", setting)]
        command = [self.programs / "postgres", "-D", self.data, "-p", str(self.port), *flags]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **self.who)

    def kill(self) -> None:
        """Ends the server as a crash would; its children notice and end as well."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stops the server at once, without waiting for its clients, and removes its folder."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(SECONDS)
        shutil.rmtree(self.folder)

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """Executes a statement as its administrator; the rows, if it gives any."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def schema(self, settings: str = "") -> str:
        """The address of a new, empty schema."""
        self.schemas += 1
        name = f"store{self.schemas}"
        self.run(f"CREATE SCHEMA {name}")
        return f"{self.address}?options=-csearch_path%3D{name}{settings}"


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that runs until the end of the block."""
    programs = find_postgres()
    assert programs is not None, "PostgreSQL is not installed"
    server = Server(programs)
    try:
        server.start()
        yield server
    finally:
        server.stop()
