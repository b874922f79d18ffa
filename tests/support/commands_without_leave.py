"""Plays commands in one process, one after the other: what each says, and how it ends.

Reads cases as JSON from its input and prints a line of JSON for each. It takes locks on the stores that
are to be in use, by a process of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from click.testing import CliRunner
from support.full_disk import full_disk

from structured_bandits.cli.commands import main

PATIENCE = 30  # seconds for a command that should be refused at once


class StillRunningError(BaseException):
    """A command that should have been refused goes on."""


def _give_up(*_: object) -> None:
    raise StillRunningError


@contextmanager
def at(folder: str) -> Iterator[None]:
    """Work in a folder; a store that is to be in use is."""
    os.chdir(folder)
    with open("busy.db.lock", "w") as lock:
        lock.write("process 1 on elsewhere")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def play(case: dict[str, Any]) -> dict[str, Any]:
    """Play a command; return its exit code, what it says and, if it has raised something, that."""
    tempfile.tempdir = None  # is looked for again
    with ExitStack() as stack:
        stack.enter_context(at(case["folder"]))
        if case["room"] is not None:
            stack.enter_context(full_disk(case["room"]))
        signal.alarm(PATIENCE)
        result = CliRunner().invoke(main, case["arguments"])
        signal.alarm(0)
    raised = ""
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raised = "".join(traceback.format_exception(result.exception)[-3:])
    return {"code": result.exit_code, "said": result.output, "raised": raised}


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _give_up)
    sqlite3.connect = partial(sqlite3.connect, timeout=0.1)  # type: ignore[assignment]
    for each in json.loads(sys.stdin.read()):
        print(json.dumps(play(each)), flush=True)
