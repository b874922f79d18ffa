"""The lemma of corners, by brute force: every path that a streak can take."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from structured_bandits.lookahead.convex_condition import (
    NOWHERE,
    Reach,
    likely_misses,
    longest_reach,
    stays_within,
    stopping_streak,
)
from structured_bandits.lookahead.kl_margin import StaysAbove

FRACTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Affine(NamedTuple):
    """ones * a + misses * b <= bound."""

    a: float
    b: float
    bound: float

    def stays(self, state: Any, arm: int, ones: float, misses: float) -> bool:
        return self.a * ones + self.b * misses <= self.bound


class Exponentials(NamedTuple):
    """The sum of exp(c + ones * a + misses * b) over some triples is at most 1."""

    parts: tuple[tuple[float, float, float], ...]

    def stays(self, state: Any, arm: int, ones: float, misses: float) -> bool:
        return sum(math.exp(c + a * ones + b * misses) for a, b, c in self.parts) <= 1.0


class Logarithm(NamedTuple):
    """a * ones + b * misses - log(pulls + ones + misses) is at most a bound."""

    a: float
    b: float
    pulls: float
    bound: float

    def stays(self, state: Any, arm: int, ones: float, misses: float) -> bool:
        value = self.a * ones + self.b * misses - math.log(self.pulls + ones + misses)
        return value <= self.bound


def draw_condition(rng: np.random.Generator) -> Any:
    a, b = rng.normal(0.0, 0.5, 2)
    kind = rng.integers(4)
    if kind == 0:
        return Affine(a, b, rng.normal(0.5, 0.5))
    if kind == 1:
        return Exponentials(tuple(map(tuple, rng.normal((0, 0, -2), 0.5, (3, 3)))))
    if kind == 2:
        return Logarithm(a / 4, b / 4, rng.uniform(1, 9), rng.normal(0.0, 0.5) - 1.5)
    pulls = float(rng.integers(1, 9))
    return StaysAbove(pulls, pulls * rng.random(), rng.uniform(0.1, 0.95), rng.uniform(0.0, 2.0))


def places(length: int, misses: int, rewards: tuple[float, ...]) -> set[tuple[float, float]]:
    """Sums of ones and of misses before each further pull of a streak, over all paths.

    A streak of 1 + length pulls stops once there are more than `misses` rewards below 1.
    """
    reached = {(0.0, 0.0)}
    for path in product(rewards, repeat=length):
        ones = missed = 0.0
        left = misses
        for reward in path:
            ones, missed, left = ones + reward, missed + 1.0 - reward, left - (reward < 1.0)
            if left < 0:
                break
            reached.add((ones, missed))
    return reached


SHAPES = [(k, z) for k in range(5) for z in range(k + 2)]
COINS = {shape: places(*shape, rewards=(0.0, 1.0)) for shape in SHAPES}
SHARES = {shape: places(*shape, rewards=FRACTIONS) for shape in SHAPES}


def test_a_condition_that_holds_at_the_corners_holds_on_every_path() -> None:
    """And on no fewer: with rewards of 0 and 1 the corners themselves are reached."""
    rng = np.random.default_rng(1)
    answers = []
    for number in range(4000):
        condition, shape = draw_condition(rng), SHAPES[number % len(SHAPES)]
        answer = stays_within(condition, None, 0, *shape)
        assert answer == all(condition.stays(None, 0, *place) for place in COINS[shape]), condition
        if answer:
            assert all(condition.stays(None, 0, *place) for place in SHARES[shape]), condition
        answers.append(answer)
    assert 1000 < sum(answers) < 3000, "both answers have to be common"


@pytest.mark.parametrize("shape", [(4, 2), (7, 3), (5, 1)])
@pytest.mark.parametrize("number", range(4))
def test_no_corner_can_be_left_out(shape: tuple[int, int], number: int) -> None:
    """For each corner there are conditions that fail at it and nowhere else among all places."""
    length, misses = shape
    corners = [(0, 0), (length, 0), (length - misses, misses), (0, misses)]
    ones, missed = corners[number]
    rng = np.random.default_rng(number)
    found = 0
    reached = COINS[shape] if shape in COINS else places(length, misses, (0.0, 1.0))
    for _ in range(4000):
        a, b = rng.normal(size=2)
        values = sorted(a * o + b * z for o, z in reached)
        if a * ones + b * missed == values[-1] > values[-2]:
            condition = Affine(a, b, 0.5 * (values[-1] + values[-2]))
            assert not stays_within(condition, None, 0, length, misses)
            found += 1
    assert found > 100


def test_more_misses_than_pulls_are_no_more_than_all() -> None:
    condition = Affine(0.0, 1.0, 3.5)
    assert stays_within(condition, None, 0, 3, 1000)
    assert not stays_within(condition, None, 0, 4, 1000)


def test_the_longest_reach_is_one() -> None:
    rng = np.random.default_rng(2)
    lengths = []
    for _ in range(500):
        condition = draw_condition(rng)
        reach = longest_reach(condition, None, 0, int(rng.integers(0, 40)), rng.random())
        lengths.append(reach.length)
        if reach != NOWHERE:
            assert stays_within(condition, None, 0, reach.length, reach.misses)
    assert 50 < sum(length > 0 for length in lengths) < 450


def test_a_reach_that_needs_no_cut_is_not_cut() -> None:
    assert longest_reach(Affine(0.0, 0.0, 1.0), None, 0, 1000, 0.5).length == 1000


def test_likely_misses_are_rarely_exceeded() -> None:
    rng = np.random.default_rng(3)
    for length, mean in ((10, 0.5), (1000, 0.95), (1000, 0.1), (5, 1.0), (5, 0.0)):
        misses = length - rng.binomial(length, mean, 4000)
        assert (misses > likely_misses(length, mean)).mean() < 0.05
        assert likely_misses(length, mean) <= length * (1.0 - mean) + math.sqrt(length) + 1.0


def test_a_streak_without_a_look_at_rewards_is_as_short_as_the_misses() -> None:
    streak = stopping_streak(2, Reach(9, 3), 1.0)
    assert (streak.surely, streak.length, streak.misses, streak.hit) == (4, 10, 3, 1.0)
    assert stopping_streak(2, Reach(2, 3), 1.0).surely == 3
