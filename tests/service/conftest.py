"""A PostgreSQL server for all tests of a run; where none is installed, they are left out.

So are tests with bad disks where they cannot be made.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.faulty_disk import can_make_disks
from support.postgres_server import Server, find_postgres, running_server

#: tests/conftest.py says so
collect_ignore = [] if find_postgres() else ["test_postgres.py", "test_postgres_crashes.py"]
collect_ignore += [] if can_make_disks() else ["test_bad_disks.py"]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server
