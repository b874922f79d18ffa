"""Says at the end of a run if tests had no browser, no PostgreSQL to start, or no bad disks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import find_browser
from support.faulty_disk import can_make_disks
from support.postgres_server import find_postgres

# What is tested is compiled, however short: `simulate` would play some of it in Python.
os.environ["STRUCTURED_BANDITS_PATIENCE"] = "0"

BROWSER = (
    "the page was not opened in a browser: none found. "
    "Debian: apt-get install chromium; elsewhere install Chrome, or set CHROMIUM=/path/to/it"
)
POSTGRES = (
    "the store in PostgreSQL was not tested: no server found. "
    "Debian: apt-get install postgresql; elsewhere put its initdb on PATH"
)
DISKS = (
    "the service was not tested on bad disks: that needs Linux and gcc. Debian: apt-get install gcc"
)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after the summaries of all others
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    yield
    if find_browser() is None:
        terminalreporter.write_line(BROWSER, yellow=True)
    if find_postgres() is None:
        terminalreporter.write_line(POSTGRES, yellow=True)
    if not can_make_disks():
        terminalreporter.write_line(DISKS, yellow=True)
