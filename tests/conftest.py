"""Says at the end of a run if tests had no browser to open pages in, or no PostgreSQL to start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import find_browser
from support.postgres_server import find_postgres

BROWSER = (
    "the page was not opened in a browser: none found. "
    "Debian: apt-get install chromium; elsewhere install Chrome, or set CHROMIUM=/path/to/it"
)
POSTGRES = (
    "the store in PostgreSQL was not tested: no server found. "
    "Debian: apt-get install postgresql; elsewhere put its initdb on PATH"
)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after the summaries of all others
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    yield
    if find_browser() is None:
        terminalreporter.write_line(BROWSER, yellow=True)
    if find_postgres() is None:
        terminalreporter.write_line(POSTGRES, yellow=True)
