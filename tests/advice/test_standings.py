"""Who is dropped, and how often the wrong one."""

from __future__ import annotations

import numpy as np
import pytest

from structured_bandits.advice.candidates import BLIND
from structured_bandits.advice.standings import (
    FAILS,
    LOOKS,
    SURVIVES,
    UNCLEAR,
    Standings,
    above_zero,
    is_hopeless,
    level_of_one_test,
)


def standings(
    means: dict[str, float], rng: np.random.Generator, careful: bool = False
) -> Standings:
    """Return exponential regrets with these means, as in the first round."""
    regrets = {
        name: {
            stage: rng.exponential(mean if stage == "inside" else outside, 64)
            for stage, outside in (("inside", mean), ("0.02", 100.0))
        }
        for name, mean in means.items()
    }
    level = level_of_one_test(0.05, len(means))
    return Standings(regrets, ("0.02",), level, 0.025 / LOOKS, careful, list(means))


def test_all_tests_of_a_race_share_half_of_the_level() -> None:
    assert level_of_one_test(0.05, 11) * LOOKS * 10 == pytest.approx(0.025)


def test_who_is_far_worse_is_dropped_at_the_first_look_and_the_best_stays() -> None:
    race = standings({"good": 1.0, "fair": 1.05, "bad": 10.0, BLIND: 5.0}, np.random.default_rng(1))
    race.look()
    assert race.alive == ["good", "fair"]
    assert race.dropped["bad"].startswith("worse than good")
    assert not race.decided


def test_the_best_is_rarely_dropped_even_if_regrets_are_skew() -> None:
    """Exponential regrets, five candidates, six looks: a promise of 5 % for the whole race."""
    lost = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        means = {"best": 1.0, "second": 1.02, "third": 1.02, "fourth": 1.02, BLIND: 1.02}
        race = standings(means, rng)
        for _ in range(6):
            race.look()
            if "best" not in race.alive:
                break
            for name, each in race.regrets.items():
                runs = len(each["inside"])
                each["inside"] = np.append(each["inside"], rng.exponential(means[name], runs))
                each["0.02"] = np.append(each["0.02"], rng.exponential(100.0, runs))
        lost += "best" not in race.alive
    assert lost <= 16  # exceeded with probability 2 % if the promise were just kept


def test_verdicts_compare_with_twice_the_blind_reference() -> None:
    rng = np.random.default_rng(2)
    race = standings({"a": 1.0, "b": 1.0, "c": 1.0, BLIND: 1.0}, rng, careful=True)
    blind = race.regrets[BLIND]["0.02"]
    race.regrets["a"]["0.02"] = 1.5 * blind
    race.regrets["b"]["0.02"] = 2.0 * blind + rng.normal(0.0, 10.0, 64)
    race.regrets["c"]["0.02"] = 3.0 * blind
    assert [race.verdict(name) for name in ("a", "b", "c", BLIND)] == [
        SURVIVES,
        UNCLEAR,
        FAILS,
        SURVIVES,
    ]
    race.regrets["c"]["inside"][:] = 0.0  # would lead, if the structure were sure to be right
    race.look()
    assert race.dropped["c"].startswith("fails")
    assert set(race.eligible()) == {"a", BLIND}
    race.careful = False
    assert set(race.eligible()) == {"a", "b", BLIND}


def test_a_leader_that_may_not_survive_drops_nobody() -> None:
    race = standings(
        {"bold": 1.0, "safe": 10.0, BLIND: 11.0}, np.random.default_rng(3), careful=True
    )
    race.regrets["bold"]["0.02"] = 2.0 * race.regrets[BLIND]["0.02"]
    race.regrets["safe"]["0.02"] = 0.5 * race.regrets[BLIND]["0.02"]
    race.look()
    assert {"bold", "safe"} <= set(race.alive)
    assert "bold" not in race.eligible()


def test_hopeless_is_who_is_worse_for_sure_and_by_half() -> None:
    blind = np.full(16, 10.0) + np.arange(16) % 3
    assert is_hopeless(4.0 * blind, blind, 1e-4)
    assert is_hopeless(4.0 * blind[:4], blind, 1e-4)
    assert not is_hopeless(1.2 * blind, blind, 1e-4)
    assert not is_hopeless(np.array([0.0, 0.0, 0.0, 400.0]), blind, 1e-4)


def test_equal_differences_need_no_variance() -> None:
    assert above_zero(np.full(5, 1.0), 1e-6)
    assert not above_zero(np.zeros(5), 1e-6)
    assert not above_zero(np.ones(1), 0.5)
