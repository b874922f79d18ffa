"""What the page of an experiment says, for states that were made by hand."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from support.service_states import NAMES, alarmed, arm, busy, fresh

from structured_bandits.service import rows as events
from structured_bandits.service.rows import Event
from structured_bandits.service.ui.pages.curves import curves, last_at_each_time, lately
from structured_bandits.service.ui.pages.panels import (
    MOST_ARMS,
    arm_rows,
    etag,
    missing_words,
    plan_of,
    tiles,
    versus,
)
from structured_bandits.service.ui.pages.sentences import ALARMS, alarm_meaning, in_words
from structured_bandits.service.ui.pages.view import models_words, possible_reward
from structured_bandits.service.wire import HistoryPoint, ModelsView, RegretView, Side

replace = msgspec.structs.replace


def test_the_tiles_of_a_busy_experiment() -> None:
    shown = {tile.id: (tile.value, tile.note) for tile in tiles(busy())}
    assert shown == {
        "rewards": ("12,993", "on average 0.06621"),
        "pending": ("146", "the oldest for 1 h"),
        "active": ("2 of 5", "2 dropped, 1 parked"),
        "fitting": ("3 of 12", "within all intervals"),
        "regret": ("11.5 – 40.3", "if the structure is right"),
        "evidence": ("3.27", "the alarm rings at 10,000"),
    }


def test_the_tiles_of_a_fresh_experiment_and_of_one_without_structure() -> None:
    shown = {tile.id: (tile.value, tile.note) for tile in tiles(fresh())}
    assert shown["rewards"] == ("0", "none yet")
    assert shown["pending"] == ("0", "none is out")
    assert shown["active"] == ("5 of 5", "none dropped yet")
    bare = replace(fresh(), models=None, misfit=None)
    assert {tile.id for tile in tiles(bare)} == {"rewards", "pending", "active"}


def test_a_regret_that_is_known_is_one_number() -> None:
    known = replace(busy(), regret=RegretView(least=7.0, most=7.0))
    assert next(tile.value for tile in tiles(known) if tile.id == "regret") == "7"


def test_an_e_value_beyond_numbers_is_a_power_of_ten() -> None:
    state = alarmed()
    assert state.misfit is not None
    huge = replace(state, misfit=replace(state.misfit, e_value=None, log10_e=412.3))
    assert next(tile.value for tile in tiles(huge) if tile.id == "evidence") == "10^412.3"


def test_the_rows_of_arms() -> None:
    rows, _, left_out = arm_rows(busy())
    assert [row.view.name for row in rows] == NAMES
    assert [row.best for row in rows] == [True, False, False, False, False]
    assert left_out == 0


def test_of_very_many_arms_the_active_and_most_pulled_are_shown_in_their_order() -> None:
    many = [
        arm(i, f"arm {i}", i, 0.5, status="active" if i % 2 else "dropped") for i in range(1000)
    ]
    rows, _, left_out = arm_rows(replace(fresh(), arms=many))
    assert [row.view.index for row in rows] == list(range(601, 1000, 2))
    assert (len(rows), left_out) == (MOST_ARMS, 800)


def test_the_plan_adds_up() -> None:
    plan = plan_of(busy().arms)
    assert (plan.told, plan.out, plan.left) == (1_938, 146, 566)
    assert plan.told + plan.out + plan.left == sum(each.planned for each in busy().arms)
    beyond = [arm(0, "tea", 3, 0.5, planned=4, wanted=1, out=30)]  # 29 go beyond the plan
    assert plan_of(beyond)[:3] == (3, 1, 0)


@pytest.mark.parametrize(
    ("policy", "control", "said"),
    [
        ((0.5, 0.4, 0.6), (0.45, 0.3, 0.55), "0.05 above .* overlap: it is too early"),
        ((0.5, 0.45, 0.6), (0.3, 0.2, 0.4), "0.2 above .* do not overlap"),
        ((0.2, 0.1, 0.25), (0.3, 0.28, 0.4), "0.1 below .* do not overlap"),
        ((0.5, None, None), (0.3, None, None), "0.2 above that of the control arm.$"),
        ((None, 0.0, 1.0), (0.3, 0.2, 0.4), "nothing to compare"),
    ],
)
def test_control_beside_policy(policy: tuple, control: tuple, said: str) -> None:
    def side(mean: float | None, low: float | None, high: float | None) -> Side:
        return Side(pulls=9, mean=mean, low=low, high=high)

    state = busy()
    assert state.control is not None
    view = replace(state.control, policy=side(*policy), control=side(*control))
    shown = versus(replace(state, control=view))
    assert shown is not None
    assert [name for name, _, _ in shown.sides] == ["policy", "control"]
    assert re.search(said, shown.words)
    assert versus(replace(state, control=None)) is None


def points(*pairs: tuple[int, float]) -> list[HistoryPoint]:
    """A history of so many rewards with these totals, a second apart."""
    return [
        HistoryPoint(at=1000 * i, rewards=n, total=total, fitting=None, active=2, log10_e=None)
        for i, (n, total) in enumerate(pairs)
    ]


def test_the_latest_mean_is_that_of_the_last_tenth() -> None:
    steady = points(*((n, 0.5 * n) for n in range(100, 1001, 100)))
    assert lately(steady) == [(1000.0 * i, 0.5) for i in range(1, 10)]
    jump = points((900, 0.0), (1000, 100.0))  # the last tenth had a reward of 1 each
    assert lately(jump) == [(1000.0, 1.0)]
    few = points((1, 1.0), (30, 9.0), (31, 10.0), (40, 19.0))
    assert lately(few) == [(2000.0, 0.3), (3000.0, 18 / 39)]  # of at least thirty
    assert lately(points((5, 1.0))) == []
    assert lately(points((5, 1.0), (5, 1.0))) == []  # two looks at the same rewards


def test_means_of_few_rewards_are_not_drawn_unless_there_are_no_others() -> None:
    def path_of(*pairs: tuple[int, float]) -> str:
        svg = curves(replace(busy(), history=points(*pairs)))[0].svg
        return re.findall(r'class="line c1"[^>]* d="([^"]*)"', svg)[0]

    assert path_of((1, 1.0), (20, 5.0), (30, 9.0)).count("L") == 0  # the last alone
    assert path_of((1, 1.0), (30, 9.0), (60, 20.0)).count("L") == 1
    assert path_of((1, 1.0), (2, 1.0)).startswith("M1000.0")  # all there is


def test_of_points_within_a_millisecond_the_last_is_drawn() -> None:
    same = points((1, 0.0), (2, 1.0), (3, 1.0))
    same[1] = replace(same[1], at=same[0].at)
    assert [point.rewards for point in last_at_each_time(same)] == [2, 3]


def test_curves_are_drawn_of_what_there_is() -> None:
    assert curves(fresh()) == []
    drawn = [chart.id for chart in curves(busy())]
    assert drawn == ["means", "models", "race", "evidence-over-time"]
    bare = replace(busy(), models=None, misfit=None, history=points((1, 1.0)))
    assert [chart.id for chart in curves(bare)] == ["means", "race"]
    none_told = replace(busy(), history=points((0, 0.0), (0, 0.0)))
    assert curves(none_told) == []


def test_the_curve_of_models_ends_where_the_state_is() -> None:
    models = next(chart for chart in curves(busy()) if chart.id == "models")
    assert 'aria-label="Models that fit: 3 of 12"' in models.svg


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (ModelsView(total=12, fitting=0, names=(), likely=()), "No model is within"),
        (ModelsView(total=12, fitting=1, names=("a",), likely=()), "1 of 12 fits"),
        (ModelsView(total=None, fitting=3, names=(), likely=()), "3 fit"),
        (ModelsView(total=None, fitting=None, names=(), likely=()), "not counted"),
    ],
)
def test_how_many_models_fit(models: ModelsView, said: str) -> None:
    assert models_words(models).startswith(said) or said in models_words(models)


def test_what_becomes_of_missing_rewards() -> None:
    assert "without limit" in missing_words(fresh())
    assert "counts as 0." in missing_words(busy())
    assert "is cancelled" in missing_words(replace(busy(), missing="cancel"))


def test_the_mark_of_a_page_changes_with_what_is_shown_and_only_then() -> None:
    state = busy()
    older = replace(state, oldest_pending_seconds=4_215.0)  # still "1 h"
    assert etag(state, True) == etag(older, True)
    for changed in (
        replace(state, seq=state.seq + 1),
        replace(state, state="paused"),
        replace(state, oldest_pending_seconds=9_000.0),
        replace(state, oldest_pending_seconds=None),
        replace(state, alarms=alarmed().alarms),
    ):
        assert etag(changed, True) != etag(state, True)
    assert etag(state, False) != etag(state, True)


def test_a_possible_reward_is_within_the_range() -> None:
    assert possible_reward(fresh()) == 1.0
    cents = [replace(each, high=0.25) for each in fresh().arms]
    assert possible_reward(replace(fresh(), arms=cents)) == 0.25
    unbounded = [replace(each, low=None, high=None) for each in fresh().arms]
    assert possible_reward(replace(fresh(), arms=unbounded)) == 1.0
    losses = [replace(each, low=-3.0, high=-1.0) for each in fresh().arms]
    assert possible_reward(replace(fresh(), arms=losses)) == -1.0


KINDS = [value for name, value in vars(events).items() if name.isupper() and isinstance(value, str)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_row_is_a_sentence(kind: str) -> None:
    body = '{"pulls": [1, 2]}'
    said = in_words(Event(7, kind, 0, decision=3, n=2, arm=1, value=0.5, body=body), ["a", "b"])
    assert re.fullmatch(r"[A-Z0-9b].* .*\.|Paused\.|Resumed\.", said), said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (Event(1, "ask", 0, decision=3, n=1, arm=1), "Decision 3 (coffee) was asked for."),
        (Event(1, "ask", 0, decision=3, n=64), "64 arms were asked for, decision 3 and on."),
        (Event(1, "expire", 0, decision=3, arm=0, value=0.0), "Decision 3 (tea): no reward came in time; it counts as 0."),
        (Event(1, "expire", 0, decision=3, arm=0), "Decision 3 (tea): no reward came in time; it is cancelled."),
        (Event(1, "settle", 0, decision=3, n=1), "The window closed: 1 reward counts from now on."),
        (Event(1, "park", 0, arm=0, n=0), "tea was unparked."),
        (Event(1, "learn", 0, body='{"pulls": [2, 3]}'), "Logged data: 5 rewards."),
        (Event(1, "novel", 0), "Novel."),
    ],
)  # fmt: skip
def test_rows_in_words(row: Event, said: str) -> None:
    assert in_words(row, ["tea", "coffee"]) == said


def test_the_guide_has_every_alarm() -> None:
    guide = Path(__file__).parents[3].joinpath("docs/guides/operations.md").read_text()
    for meaning in ALARMS.values():
        assert f"| {meaning.title} |" in guide


def test_each_alarm_says_what_it_means_and_what_to_do() -> None:
    for kind in (
        "structure",
        "clock",
        "horizon",
        "read-only",
        "empty",
        "replay",
        "stopped",
        "waiting",
        "untested",
    ):
        meaning = alarm_meaning(kind)
        assert meaning is ALARMS[kind]
        assert all(text.endswith(".") for text in (meaning.means, meaning.do))
    assert alarm_meaning("another").title
