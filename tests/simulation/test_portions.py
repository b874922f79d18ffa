"""Blocks of runs: every run once, in order, and sizes that fit what is known of the time of a run."""

from __future__ import annotations

import pytest

from structured_bandits.simulation.workers import Portions, spread


def all_blocks(portions: Portions, seconds_a_run: float) -> list[range]:
    """Take all blocks of a simulation whose runs take equally long."""
    blocks: list[range] = []
    while portions.left:
        blocks.append(portions.take())
        played = sum(map(len, blocks))
        portions.learn(played, played * seconds_a_run)
    return blocks


@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("runs", [range(1), range(5), range(100, 2100)])
@pytest.mark.parametrize("seconds", [0.0, 1e-6, 1e-3, 10.0])
def test_every_run_is_in_one_block(runs: range, workers: int, seconds: float) -> None:
    blocks = all_blocks(Portions(runs, workers), seconds)
    assert [run for block in blocks for run in block] == list(runs)
    assert all(blocks)


def test_quick_runs_come_in_few_blocks_and_slow_ones_in_small_ones() -> None:
    runs = range(2000)
    quick, slow = (all_blocks(Portions(runs, 1), seconds) for seconds in (1e-6, 1.0))
    assert len(quick) == 2
    assert slow == spread(runs, 1)
    assert len(slow[-1]) == 1


def test_the_last_blocks_of_several_workers_are_short_but_not_tiny() -> None:
    blocks = all_blocks(Portions(range(20_000), 2), 1e-4)
    assert max(len(block) for block in blocks[-4:]) <= 200  # runs in 0.02 s
    assert min(len(block) for block in blocks[:-1]) >= 25  # an eighth of that
