"""The closed forms of planning: each condition really holds as long as its tangent says.

Random data of an arm; every number of further pulls up to the length is checked by the definition, in
60 digits. The lengths are also long: close to the longest for which the condition holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from structured_bandits.base.intervals import Hoeffding
from structured_bandits.lookahead.prospect import Prospect
from structured_bandits.lookahead.tangents import (
    FOREVER,
    Tangents,
    limits_for,
    pulls_above_floor,
    pulls_below_ceiling,
    pulls_close_enough,
    pulls_refuted,
    pulls_unreached,
    tangents,
)

MP = mpmath.MPContext()
MP.dps = 40
CASES, MOST = 400, 60


class After:
    """What can have happened after j more pulls: the ends of the mean, the radius, the budget."""

    def __init__(self, at: Tangents, j: int) -> None:
        count = MP.mpf(at.pulls) + j
        self.budget = MP.mpf(at.factor) * MP.log(MP.mpf(at.time) + j)
        self.radius = MP.sqrt(self.budget / count)
        self.lowest = (MP.mpf(at.total) + j * MP.mpf(at.bottom)) / count
        self.highest = (MP.mpf(at.total) + j * MP.mpf(at.top)) / count


Question = tuple[Callable[[Tangents, float], float], Callable[[After, Any], bool]]
QUESTIONS: dict[str, Question] = {
    "below": (pulls_below_ceiling, lambda a, mean: a.lowest + a.radius > mean),
    "above": (pulls_above_floor, lambda a, mean: a.highest - a.radius < mean),
    "close": (
        lambda at, mean: pulls_close_enough(at, abs(mean) / 4),
        lambda a, m: 2 * a.radius > abs(m) / 4,
    ),
    "out of reach": (
        pulls_unreached,
        lambda a, mean: a.highest + a.radius <= mean or a.lowest - a.radius >= mean,
    ),
    "refuted": (
        lambda at, mean: pulls_refuted(at, math.sqrt(2.0 * at.factor * (1.0 + abs(mean)))),
        lambda a, mean: True,  # replaced below: it needs the factor
    ),
}


def draw(rng: np.random.Generator) -> tuple[Tangents, float]:
    bottom = float(rng.choice([0.0, 0.0, -5.0]))
    top = bottom + float(rng.choice([1.0, 1.0, 25.0]))
    t = int(10 ** rng.uniform(0.7, 7.0))
    pulls = int(np.ceil(t * 10 ** rng.uniform(-4.0, 0.0)))
    share = rng.random() * pulls
    total = bottom * pulls + (top - bottom) * (np.floor(share) if rng.random() < 0.7 else share)
    factor = (top - bottom) ** 2 * float(10 ** rng.uniform(-2.0, 0.7))
    prospect = Prospect(t, t, factor, Hoeffding(factor * math.log(t + 1)), bottom, top)
    at = tangents(prospect, pulls, float(total))
    near = at.mean + at.radius * rng.choice([-1.0, 1.0, rng.normal(), 3.0 * rng.normal()])
    return at, float(near + 0.05 * at.radius * rng.normal())


def test_conditions_hold_as_long_as_their_tangents_say() -> None:
    rng = np.random.default_rng(0)
    positive = dict.fromkeys(QUESTIONS, 0)
    for _ in range(CASES):
        at, mean = draw(rng)
        for name, (length, holds) in QUESTIONS.items():
            sure = length(at, mean)
            positive[name] += sure >= 1.0
            last = int(min(sure, 10**9))
            for j in {*range(1, min(last, MOST) + 1), last // 2, last} - {0}:
                after = After(at, j)
                if name == "refuted":
                    excess = 2.0 * at.factor * (1.0 + abs(mean))
                    assert after.budget <= excess, (at, j)
                else:
                    assert holds(after, MP.mpf(mean)), (name, at, mean, j)
    assert min(positive.values()) >= 40, positive


def test_lengths_are_not_much_shorter_than_they_could_be() -> None:
    """Where a condition ends at some length, the tangent gives at least a third of it, in the median.

    Not so between protectors, whose tangent ends at twice the arm's pulls at the latest.
    """
    rng = np.random.default_rng(1)
    shares: dict[str, list[float]] = {name: [] for name in ("below", "above", "out of reach")}
    for _ in range(CASES):
        at, mean = draw(rng)
        for name in shares:
            length, holds = QUESTIONS[name]
            sure = length(at, mean)
            if 3.0 <= sure < FOREVER:
                longest = int(sure)
                while longest < 100 * sure and holds(After(at, longest + 1), MP.mpf(mean)):
                    longest += max(1, longest // 16)
                shares[name].append(int(sure) / longest)
    for name, found in shares.items():
        assert len(found) > 20, name
        assert np.median(found) > 1 / 3, (name, np.median(found))


def test_what_holds_for_a_length_does() -> None:
    """The same conditions turned round, just inside each end of `Limits`, at every moment until then."""
    rng = np.random.default_rng(3)
    for _ in range(CASES):
        at, _ = draw(rng)
        length = int(10 ** rng.uniform(0.0, 5.0))
        limits = limits_for(at, float(length))
        for j in {0, 1, length // 3, length}:
            after = After(at, j)
            assert after.lowest + after.radius >= limits.ceiling, (at, j)
            assert 2 * after.radius >= limits.close, (at, j)
            assert (
                after.lowest - after.radius >= MP.mpf(limits.unreached_low)
                or limits.unreached_low < at.bottom
            )
            assert (
                after.highest + after.radius <= MP.mpf(limits.unreached_high)
                or limits.unreached_high > at.top
            )
            assert after.budget <= MP.mpf(limits.strength) ** 2, (at, j)


def test_means_outside_the_rewards_are_reached_at_the_start_if_at_all() -> None:
    """Such a mean may be within the radius now and out of it later."""
    at = tangents(Prospect(9, 100, 1.0, Hoeffding(math.log(10.0)), 0.0, 1.0), 2, 2.0)
    assert at.mean + at.radius > 1.5
    assert limits_for(at, 50.0).unreached_high >= at.mean + at.radius
