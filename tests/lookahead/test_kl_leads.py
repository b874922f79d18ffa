"""KL indices: who leads, and the bounds on which plans rest."""

from __future__ import annotations

import math

import numpy as np
import pytest

from structured_bandits.base.confidence import Data
from structured_bandits.base.kl import kl_upper
from structured_bandits.lookahead.convex_condition import NOWHERE, stays_within
from structured_bandits.lookahead.kl_margin import (
    StaysAbove,
    decisions_within,
    most_misses,
    surest_reach,
)
from structured_bandits.policies.indices import (
    Front,
    Growth,
    bernstein_upper,
    budget_at,
    front_of,
    kl_front,
    newton_bound,
)


@pytest.mark.parametrize("growth", [Growth(1.0, 0.0), Growth(4.0, 0.0), Growth(1.0, 3.0)])
def test_the_budget_stays_within_and_not_much_longer(growth: Growth) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        time = float(int(10.0 ** rng.uniform(0, 9)))
        log_time = math.log(time)
        budget = budget_at(growth, log_time) + 10.0 ** rng.uniform(-6, 1)
        more = decisions_within(growth, time, log_time, budget)
        rounding = 1e-14 * (1.0 + budget)
        assert budget_at(growth, math.log(time + more)) <= budget + rounding
        # The second tangent leaves little, unless log s was below 1, where tangents are steep.
        if log_time > 1.0:
            assert budget_at(growth, math.log(time + 1.05 * more)) > budget - 0.05
        if growth.repeated == 0.0:
            assert budget_at(growth, math.log(time + more * (1.0 + 1e-6))) >= budget - rounding


def test_a_smaller_budget_is_never_within() -> None:
    assert decisions_within(Growth(1.0, 3.0), 100.0, math.log(100.0), 1.0) == 0.0


def test_bounds_of_the_index() -> None:
    rng = np.random.default_rng(2)
    tight = 0
    for _ in range(2000):
        mean, budget, level = rng.random(), 10.0 ** rng.uniform(-6, 1), rng.random()
        index = kl_upper(mean, budget)
        assert bernstein_upper(mean, budget) >= index - 1e-15
        bound = newton_bound(mean, budget, level)
        assert bound == level or index - 1e-15 <= bound < level
        tight += bound < level
    assert tight > 200
    assert bernstein_upper(0.0, 0.5) >= kl_upper(0.0, 0.5)
    assert bernstein_upper(1.0, 0.5) == 1.0


def test_the_front_is_that_of_all_indices() -> None:
    """The arm is the very one, on ties the lowest; the second index may be overestimated."""
    rng = np.random.default_rng(3)
    ties = 0
    for _ in range(3000):
        arms = int(rng.integers(1, 9))
        pulls = rng.integers(1, int(rng.choice([3, 50, 10_000])), arms)
        data = Data(pulls, rng.binomial(pulls, rng.choice([0.0, 0.02, 0.5, 0.98, 1.0])) * 1.0)
        means = data.sums / data.pulls
        budget = float(rng.choice([0.0, 0.5, 9.0, 60.0]))
        playable = np.flatnonzero(rng.random(arms) < 0.8)
        if len(playable) == 0:
            continue
        indices = np.array([kl_upper(means[i], budget / pulls[i]) for i in range(arms)])
        true, front = front_of(indices, playable), kl_front(data, means, playable, budget)
        assert (front.arm, front.highest) == (true.arm, true.highest)
        assert true.second - 1e-15 <= front.second <= front.highest
        ties += true.second == true.highest
    assert ties > 300


def test_arms_without_a_pull_come_first() -> None:
    data = Data(np.array([3, 0, 0]), np.array([3.0, 0.0, 0.0]))
    front = kl_front(data, np.array([1.0, 0.0, 0.0]), np.arange(3), 2.0)
    assert front == Front(1, math.inf, math.inf)
    assert front_of(np.array([1.0, math.inf, math.inf]), np.arange(3)).arm == 1


def test_the_most_misses_are_the_most() -> None:
    """It is a first guess, so one miss more or less is nothing; further off plans would be short."""
    rng = np.random.default_rng(4)
    above = 0
    for _ in range(1000):
        pulls = float(int(10.0 ** rng.uniform(0, 6)))
        ones = float(rng.binomial(int(pulls), rng.random()))
        condition = StaysAbove(pulls, ones, rng.uniform(0.01, 0.99), 10.0 ** rng.uniform(-1, 2))
        misses = most_misses(condition)
        if misses < 0:
            assert not condition.stays(None, 0, 0.0, 0.0)
            continue
        above += 1
        slack = 2.0 + 0.02 * misses
        assert condition.stays(None, 0, 0.0, max(0.0, misses - slack))
        assert not condition.stays(None, 0, 0.0, misses + slack)
    assert above > 300


def test_a_reach_bears_what_its_corners_say() -> None:
    """However many misses are proposed, the condition holds with those that are granted."""
    rng = np.random.default_rng(5)
    granted = 0
    for _ in range(500):
        pulls = float(rng.integers(1, 1000))
        ones = float(rng.binomial(int(pulls), rng.random()))
        condition = StaysAbove(pulls, ones, rng.uniform(0.01, 0.99), 10.0 ** rng.uniform(-1, 1))
        reach = surest_reach(condition, None, 0, 500, int(rng.integers(0, 1000)))
        if reach != NOWHERE:
            granted += 0 < reach.misses < 500
            assert stays_within(condition, None, 0, reach.length, reach.misses)
        else:
            assert not condition.stays(None, 0, 0.0, 0.0)
    assert granted > 50
