"""A PostgreSQL server for all tests of a run; where none is installed, they are left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.postgres_server import Server, find_postgres, running_server

collect_ignore = [] if find_postgres() else ["test_postgres.py"]  # tests/conftest.py says so


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server
