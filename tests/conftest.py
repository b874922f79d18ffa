"""Says at the end of a run if the tests that open pages had no browser to open them in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import find_browser

ADVICE = (
    "the page was not opened in a browser: none found. "
    "Debian: apt-get install chromium; elsewhere install Chrome, or set CHROMIUM=/path/to/it"
)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after the summaries of all others
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    yield
    if find_browser() is None:
        terminalreporter.write_line(ADVICE, yellow=True)
