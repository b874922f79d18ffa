"""A disk that fails, is full, slow, or loses its power: what was acknowledged is there all the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.disk_attacks import (
    end_at,
    fail_at_the_end,
    fail_once,
    fill_by_limit,
    held_commits,
    slow_commits,
)
from support.faulty_disk import FAIL, KILL, SYNC, TEAR, WRITE
from support.service_load import MANY

from structured_bandits.service.store.writer import MOST_QUEUED


@pytest.mark.parametrize(
    ("calls", "after"),
    [(SYNC, 0), (SYNC, 25), (WRITE, 0), (WRITE, 120)],
    ids=["sync-0", "sync-25", "write-0", "write-120"],
)
def test_a_failed_write_or_sync_is_told_and_not_tried_again(
    tmp_path: Path, calls: int, after: int
) -> None:
    found = fail_once(tmp_path, seed=after, calls=calls, after=after)
    assert found.problems == []
    assert found.met == 1
    assert found.refused() >= 1


@pytest.mark.parametrize(
    ("action", "after"),
    [(KILL, 40), (TEAR, 41)],
    ids=["kill", "tear"],
)
def test_a_write_that_was_cut_off_takes_nothing_with_it(
    tmp_path: Path, action: int, after: int
) -> None:
    found = end_at(tmp_path, seed=after, action=action, after=after)
    assert found.problems == []
    assert found.met == 1


@pytest.mark.parametrize(
    ("action", "after"), [(FAIL, 0), (TEAR, 3), (KILL, 12)], ids=["fail", "tear", "kill"]
)
def test_an_end_that_fails_leaves_what_was_acknowledged(
    tmp_path: Path, action: int, after: int
) -> None:
    found = fail_at_the_end(tmp_path, seed=after, action=action, after=after)
    assert found.problems == []
    assert found.met == 1


def test_a_full_disk_stops_writing_only_and_only_as_long_as_it_is_full(tmp_path: Path) -> None:
    found = fill_by_limit(tmp_path, seed=1)
    assert found.problems == []
    assert found.met > 10


def test_a_slow_disk_makes_the_service_slow_and_nothing_else(tmp_path: Path) -> None:
    found = slow_commits(tmp_path, seed=1, seconds=2.0)
    assert found.problems == []
    assert found.met > 0


def test_a_disk_that_hangs_has_a_bounded_queue(tmp_path: Path) -> None:
    """The service looks at the queue before it takes a request, so one more may be in it."""
    found, waiting = held_commits(tmp_path, seed=1)
    assert found.problems == []
    assert found.refused() > 0
    assert waiting <= MOST_QUEUED + MANY
