"""The oracles of guarded and of late play themselves, on rules simple enough to follow by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from oracles.guarded import Choice, Rule, guarded, klucb_choice, sucb_choice, ucb_choice
from oracles.indices import klucb
from oracles.kl_sets import sucb_kl
from oracles.late import data_with_guesses, delayed_agent, largest_log_e
from oracles.misfit import log_e_table
from oracles.policies import sucb, ucb
from oracles.structures import MP, Curves, Models, Real, Trace, log

F = Fraction
TABLE = [[F(1, 10), F(4, 10), F(3, 10)], [F(6, 10), F(2, 10), F(5, 10)]]
LINE = Curves([(0, 1, [F(1, 8), F(5, 8), F(1, 2)], [F(7, 8), F(3, 8), F(1, 2)])])
HORIZON = 300


def tape(means: Sequence[Any], length: int = HORIZON) -> list[list[int]]:
    rng = np.random.default_rng(5)
    return [(rng.random(length) < float(mean)).astype(int).tolist() for mean in means]


def only(arm: int) -> Choice:
    return Choice(lambda game, s: arm)


def quiet(pulls: Sequence[int], sums: Sequence[Fraction]) -> Real:
    return -MP.inf


ZEROS = [[0] * HORIZON] * 3


# ------------------------------------------------------------------------------ single decisions


@pytest.mark.parametrize(
    ("choice", "game"),
    [
        (ucb_choice(3, 0.5), lambda tape: ucb(3, tape, HORIZON, 0.5)),
        (klucb_choice(3, 3.0), lambda tape: klucb(3, tape, HORIZON, 3.0)),
        (sucb_choice(Models(TABLE), 0.5), lambda tape: sucb(Models(TABLE), tape, HORIZON, 0.5)),
        (
            sucb_choice(Models(TABLE), 0.5, confidence="kl"),
            lambda tape: sucb_kl(Models(TABLE), tape, HORIZON, 0.5),
        ),
        (sucb_choice(LINE, 0.5), lambda tape: sucb(LINE, tape, HORIZON, 0.5)),
    ],
)
def test_single_decisions_make_the_whole_game(
    choice: Choice, game: Callable[[list[list[int]]], Trace]
) -> None:
    rewards = tape([F(1, 5), F(1, 3), F(1, 4)])  # no row of the table: sets are empty now and then
    whole = game(rewards)
    assert guarded(choice, only(0), quiet, 0.01, rewards, HORIZON).arms == whole.arms
    assert choice.coincidences == whole.coincidences
    assert len(choice.ties) == whole.ties
    assert len(set(whole.arms)) > 1


# ----------------------------------------------------------------------------------------- guards


def test_the_alarm_rings_at_a_look_and_for_ever() -> None:
    def loud_from_102_to_150(pulls: Sequence[int], sums: Sequence[Fraction]) -> Real:
        return -log(F(1, 100)) if 102 <= sum(pulls) <= 150 else MP.mpf(0)

    play = guarded(only(0), only(1), loud_from_102_to_150, F(1, 100), ZEROS, 200)
    assert play.rang == 103  # 102 is no look; equality rings
    assert play.arms == [0] * 103 + [1] * 97
    assert play.largest == -log(F(1, 100))
    assert [t for t, _ in play.seen][98:104] == [99, 100, 101, 103, 105, 107]


def test_below_the_level_nothing_rings() -> None:
    play = guarded(only(0), only(1), lambda pulls, sums: MP.log(99), F(1, 100), ZEROS, 120)
    assert play.rang is None
    assert play.arms == [0] * 120


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (0, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 0]),
        (1, [1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1]),
    ],
)
def test_exploring_keeps_every_arm_above_the_logarithm(inner: int, expected: list[int]) -> None:
    # 2 log(t + 1) is 0, 1.4, 2.2, 2.8, 3.2, 3.6, 3.9, 4.2, 4.4, 4.6, 4.8, 4.97, 5.1, 5.3 at t = 0, 1, …
    play = guarded(only(inner), only(0), quiet, 0.01, ZEROS[:2], 14, explore=2.0)
    assert play.arms == expected


def test_after_the_alarm_nothing_is_explored() -> None:
    play = guarded(only(0), only(2), lambda pulls, sums: MP.inf, 0.01, ZEROS, 9, explore=5.0)
    assert (play.rang, play.arms) == (1, [0] + [2] * 8)


def test_a_wrong_table_rings_and_the_fallback_plays_as_if_it_had_always_watched() -> None:
    rewards, table = tape([F(9, 10), F(1, 10), F(9, 10)]), Models(TABLE)
    play = guarded(
        sucb_choice(table),
        klucb_choice(3),
        lambda p, s: log_e_table(TABLE, p, s),
        0.05,
        rewards,
        120,
    )
    assert play.rang is not None
    assert play.largest == max(value for _, value in play.seen) >= MP.log(20)
    before = sucb(table, rewards, play.rang).arms
    assert play.arms[: play.rang] == before
    pulls = [before.count(k) for k in range(3)]
    sums = [F(sum(rewards[k][: pulls[k]])) for k in range(3)]
    assert play.arms[play.rang] == klucb_choice(3).choose(pulls, sums, play.rang)


# ------------------------------------------------------------------------------------ late rewards


def test_without_delay_late_play_is_play() -> None:
    rewards = tape([F(1, 5), F(1, 3), F(1, 4)])
    assert delayed_agent(ucb_choice(3), rewards, [0] * 100, 100) == ucb(3, rewards, 100).arms


def test_pending_decisions_count_at_averages() -> None:
    told, out = [(0, F(1)), (0, F(0)), (0, F(0)), (1, F(3))], [0, 0, 2]
    assert data_with_guesses(3, told, out, F(1, 2)) == ([5, 1, 1], [F(5, 3), F(3), F(1, 2)])
    assert data_with_guesses(3, told, out, None) == ([5, 1, 1], [F(5, 3), F(3), F(1)])
    assert data_with_guesses(3, [], [2], None) == ([0, 0, 1], [F(0), F(0), F(0)])


class Diary:
    """A rule that goes round the arms and remembers what it was shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[list[int], list[Fraction], int]] = []

    def choose(self, pulls: Sequence[int], sums: Sequence[Fraction], t: int) -> int:
        self.shown.append((list(pulls), list(sums), t))
        return t % 2


def test_rewards_are_told_when_they_are_due() -> None:
    diary: Rule = (seen := Diary())
    arms = delayed_agent(diary, [[1, 0, 1], [0, 1, 1]], [2, 0, 0, 1, 9, 9], 6)
    assert arms == [0, 1, 0, 1, 0, 1]
    half = F(1, 2)
    assert seen.shown == [
        ([0, 0], [0, 0], 0),
        ([1, 0], [half, 0], 1),  # decision 0 is out until before decision 3
        ([1, 1], [half, 0], 2),  # decision 1 was told at once: 0
        ([2, 1], [1, 0], 3),  # decisions 0 and 2 paid 1 and 0
        ([2, 2], [1, 0], 4),  # decision 3 counts at arm 1's average
        ([3, 2], [F(3, 2), 1], 5),  # decision 3 paid 1; decision 4 counts at arm 0's average
    ]


def test_cold_asks_without_an_answer_are_shared() -> None:
    arms = delayed_agent(ucb_choice(3), tape([F(1, 2)] * 3), [HORIZON] * HORIZON, 90)
    assert [arms.count(k) for k in range(3)] == [30, 30, 30]


def test_the_e_value_waits_for_the_oldest_reward() -> None:
    def log_e(pulls: Sequence[int], sums: Sequence[Any]) -> Real:
        return log_e_table([[F(1, 2), F(1, 4)]], pulls, sums)

    decisions = [(1, 1), (0, 1), (1, 1), (1, 0)]
    now = [
        log_e([0, 1], [0, 1]),
        log_e([1, 1], [1, 1]),
        log_e([1, 2], [1, 2]),
        log_e([1, 3], [1, 2]),
    ]
    assert now[2] == max(now)
    told = [[False, True, True, True], [True, False, True, True], [True] * 4]
    largest = [largest_log_e(log_e, 2, decisions, known) for known in told]
    assert largest == [-MP.inf, now[0], now[2]]
