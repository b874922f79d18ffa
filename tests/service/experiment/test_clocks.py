"""A clock that jumps, stands still or goes backwards closes no window too early, and replay reads none."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.owned import NAME, TABLE, Shop

from structured_bandits.service.experiment.experiment_state import ExperimentState
from structured_bandits.service.experiment.saved_state import saved_content
from structured_bandits.service.running.alarms import alarms_of
from structured_bandits.service.store_protocol import all_events

DAY = 86_400.0
WINDOW = 3_600.0
SPEC = {
    "structure": TABLE,
    "policy": {"kind": "SAE"},
    "horizon": 10_000,
    "reward": {"window": WINDOW, "missing": 0.0},
}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    shop.create(SPEC)
    return shop


def rings(shop: Shop) -> bool:
    return any(each.kind == "clock" for each in alarms_of(shop.registry.find(NAME)))


def pass_slowly(shop: Shop, seconds: float) -> None:
    """Let time pass as a server lives through it: it looks again and again."""
    for _ in range(int(seconds // 50)):
        shop.time.pass_by(50.0)
        shop.settle()


@pytest.mark.parametrize("jump", [DAY, -DAY, 61.0, -61.0, 400 * DAY])
def test_no_window_closes_after_a_jump(shop: Shop, jump: float) -> None:
    asked = shop.ask_one()
    shop.settle()
    shop.time.wall += jump
    shop.settle()
    assert rings(shop)
    assert shop.life().agent.pending_count == 1
    assert shop.tell((asked.id, 1.0)).content.outcomes[0].status == "held"
    assert shop.life().agent.rewards == 0
    shop.close()


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_ten_minutes_of_agreement_are_enough(shop: Shop, jump: float) -> None:
    shop.ask(n=3)
    shop.settle()
    shop.time.wall += jump
    shop.settle()
    pass_slowly(shop, 550.0)
    assert rings(shop)
    assert shop.life().agent.pending_count == 3
    pass_slowly(shop, 100.0)
    assert not rings(shop)
    left = 0 if jump > 0 else 3  # by the new time the window is over, or far from it
    assert shop.life().agent.pending_count == left
    shop.close()


def test_somebody_who_looked_may_confirm(shop: Shop) -> None:
    shop.ask()
    shop.settle()
    shop.time.wall += DAY
    shop.settle()
    assert rings(shop)
    shop.registry.clock.confirm()
    assert not rings(shop)
    shop.settle()
    assert shop.life().agent.pending_count == 0
    shop.close()


def test_a_clock_that_jumps_there_and_back_closes_nothing(shop: Shop) -> None:
    asked = shop.ask_one()
    for jump in (DAY, -DAY, DAY, -DAY):
        shop.settle()
        shop.time.wall += jump
        shop.settle()
        pass_slowly(shop, 100.0)
    assert shop.life().agent.pending_count == 1
    pass_slowly(shop, 700.0)
    assert not rings(shop)
    assert shop.tell((asked.id, 1.0)).status == 200
    pass_slowly(shop, WINDOW)
    assert shop.life().agent.rewards == 1
    assert shop.life().agent.sums.sum() == 1.0
    shop.close()


def test_while_the_clock_stands_still_nothing_closes(shop: Shop) -> None:
    shop.ask()
    for _ in range(100):
        shop.time.stopwatch += 50.0  # the stopwatch goes on
        shop.settle()
    assert rings(shop)
    assert shop.life().agent.pending_count == 1
    shop.close()


def test_a_stopwatch_that_stands_still_closes_nothing(shop: Shop) -> None:
    """As on a machine that slept: the clock has gone on, the stopwatch has not."""
    shop.ask()
    shop.settle()
    shop.time.wall += 2 * WINDOW
    shop.settle()
    assert rings(shop)
    assert shop.life().agent.pending_count == 1
    shop.close()


def test_small_steps_are_no_jumps(shop: Shop) -> None:
    shop.ask()
    for step in (5.0, -5.0, 30.0, -30.0):
        shop.time.wall += step
        shop.settle()
        assert not rings(shop)
    shop.close()


def test_a_step_by_step_drift_does_not_close_windows_a_day_too_early(shop: Shop) -> None:
    """Each step is small; all together they are not."""
    shop.ask()
    for _ in range(200):
        shop.time.wall += 50.0
        shop.settle()
    assert shop.life().agent.pending_count == 1
    assert rings(shop)
    shop.close()


def test_times_of_rows_never_fall(shop: Shop) -> None:
    for jump in (0.0, -DAY, 2 * DAY, -DAY):
        shop.time.wall += jump
        shop.tell((shop.ask_one().id, 0.5))
    rows = list(all_events(shop.registry.store, shop.registry.find(NAME).current.row.id))
    times = [row.at for row in rows]
    assert times == sorted(times)
    shop.close()


def test_windows_of_decisions_after_a_fall_are_not_shorter(shop: Shop) -> None:
    """Rows after a fall have the later time of the row before; their windows end later, never sooner."""
    shop.ask()
    shop.time.wall -= DAY
    second = shop.ask_one()
    shop.registry.clock.confirm()
    pass_slowly(shop, WINDOW + 100.0)
    assert shop.life().agent.pending_count == 2
    assert shop.tell((second.id, 1.0)).status == 200
    shop.close()


@pytest.mark.parametrize("jump", [DAY, -DAY])
@pytest.mark.parametrize("in_order", [True, False])
def test_a_jump_between_two_processes(shop: Shop, jump: float, in_order: bool) -> None:
    """No stopwatch spans a restart, so the new process believes its clock; rewards are not lost by it."""
    asked = shop.ask(n=2).content.decisions
    shop.tell((asked[0].id, 1.0))
    shop.time.wall += jump
    shop.time.stopwatch = 0.0
    shop.restart(in_order)
    shop.settle()
    agent = shop.life().agent
    if jump > 0:
        assert (agent.rewards, agent.sums.sum(), agent.pending_count) == (2, 1.0, 0)
    else:
        assert (agent.rewards, agent.pending_count) == (0, 2)
    assert all(verdict.exit_code == 0 for verdict in shop.verdicts())
    shop.close()


@pytest.mark.parametrize("jump", [DAY, -DAY, 0.0])
def test_replay_reads_no_clock(shop: Shop, jump: float) -> None:
    for number in range(6):
        asked = shop.ask(n=2).content.decisions
        shop.tell((asked[0].id, 0.25 * (number % 4)))
        shop.time.pass_by(WINDOW / 3)
        shop.settle()
    shop.time.wall += jump
    shop.settle()
    version = shop.registry.find(NAME).current
    assert version.state is not None
    fresh = ExperimentState(version.state.spec, version.uid)
    for event in all_events(shop.registry.store, version.row.id):
        fresh.replay(event, derive=True)
    assert saved_content(fresh) == saved_content(version.state)
    assert shop.life().agent.rewards > 0
    shop.close()
