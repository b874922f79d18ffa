"""The service on PostgreSQL: killed, with a database that crashes, and replaced while it stood still."""

from __future__ import annotations

from pathlib import Path

from support.crash_attacks import crash_the_database, kill_under_load
from support.postgres_server import Server
from support.rival_attacks import take_over


def test_crashes_under_load_on_postgresql(tmp_path: Path, postgres: Server) -> None:
    found = kill_under_load(tmp_path, seed=1, cycles=4, store=postgres.schema())
    assert found.problems == []
    assert found.acknowledged > 100


def test_a_database_that_crashes_is_found_again(tmp_path: Path, postgres: Server) -> None:
    found = crash_the_database(tmp_path, seed=3, cycles=1, server=postgres)
    assert found.problems == []
    assert found.refused() > 0


def test_an_owner_that_was_replaced_while_it_stood_still_writes_nothing_and_ends(
    tmp_path: Path, postgres: Server
) -> None:
    found = take_over(tmp_path, seed=4, store=postgres.schema())
    assert found.problems == []
    assert found.met == 1
