"""Streaks of UCB and UCB-C are right at every pull: the leader leads whatever they still allow.

Random data in which several indices are close, as UCB makes them. Before pull j + 1 of a streak the
worst that can have come are as many misses as it allows, and hits for the rest. Then the index of each
arm is computed from the definition, in 40 digits.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import mpmath
import numpy as np
import pytest
from support.stretches import Player

import structured_bandits as sb
from structured_bandits.base.confidence import Data, width_budget
from structured_bandits.base.intervals import Hoeffding
from structured_bandits.lookahead.competitive import leader_streak
from structured_bandits.lookahead.index_margin import Lead, likely_length
from structured_bandits.lookahead.streaks import Streak
from structured_bandits.policies.indices import highest_index

MP = mpmath.MPContext()
MP.dps = 40
CASES = 600
TIE = MP.mpf(10) ** -12


def draw_data(rng: np.random.Generator, alpha: float) -> tuple[Any, Any]:
    """Pulls of some arms and their means in [0, 1], by which the first arm has just the highest index."""
    arms = int(rng.integers(2, 6))
    pulls = np.ceil(10 ** rng.uniform(0.3, 5.5) * 10 ** rng.uniform(-3.0, 0.0, arms))
    pulls[0] = max(pulls[0], pulls.max() * 10 ** rng.uniform(-1.0, 0.5)).round()
    radii = np.sqrt(alpha * math.log(pulls.sum() + 1) / pulls)
    mean = rng.random() ** rng.choice([0.1, 1.0, 10.0])
    gaps = 10 ** rng.uniform(-2.0, 2.5) / pulls[0] * rng.exponential(1.0, arms)
    means = mean + radii[0] - gaps - radii
    means[0] = mean
    return pulls.astype(np.int64), np.clip(means, 0.0, 1.0)


def worst_moments(streak: Streak) -> list[tuple[int, int]]:
    """Hits and misses before some pulls of a streak: as many misses as it allows, and all misses."""
    moments = [(0, j) for j in {1, streak.surely // 2, streak.surely - 1} if j < streak.surely]
    for j in np.unique(np.geomspace(1, max(streak.length - 1, 1), 12).astype(np.int64)).tolist():
        credit = streak.misses + streak.spare + streak.earned * j
        misses = min(j, math.floor(credit / (1.0 + streak.earned)))
        while misses > streak.misses + streak.spare + streak.earned * (j - misses):
            misses -= 1
        if j < streak.length and misses >= 0:
            moments.append((j - misses, misses))
    return moments


def margin_after(policy: Any, pulls: Any, sums: Any, arm: int, hits: int, misses: int) -> Any:
    """By how much an arm leads after these rewards of its own."""
    counts, totals = pulls.tolist(), [MP.mpf(total) for total in sums]
    counts[arm] += hits + misses
    totals[arm] += hits * MP.mpf(policy.top) + misses * MP.mpf(policy.bottom)
    root = 2 * MP.mpf(policy.sigma) * MP.sqrt(policy.alpha * MP.log(sum(counts) + 1))
    index = [total / n + root / MP.sqrt(n) for total, n in zip(totals, counts, strict=True)]
    own = index.pop(arm)
    return own - max(index)


def of_ucb(policy: sb.UCB, pulls: Any, sums: Any, limit: int, rng: np.random.Generator) -> Streak:
    """The streak of UCB, whose earlier streaks had any lengths."""
    player = Player(policy, pulls, sums)
    player.memory.latest[:] = rng.integers(1, 10 ** rng.integers(1, 6))
    return player.streak(sb.Now(int(pulls.sum()), limit), rng)


def of_ucbc(policy: sb.UCB, pulls: Any, sums: Any, limit: int, rng: np.random.Generator) -> Streak:
    """The streak of UCB-C with the same parameters while all arms are competitive."""
    factor = width_budget(policy.alpha, policy.sigma, 1.0)
    level = Hoeffding(factor * math.log(pulls.sum() + 1))
    data, now = Data(pulls, sums), sb.Now(int(pulls.sum()), limit)
    leader = highest_index(data, level, np.ones(len(pulls), np.bool_))
    return leader_streak(policy, leader, data, level.budget, now)


@pytest.mark.parametrize("streak_of", [of_ucb, of_ucbc])
def test_the_leader_leads_at_every_pull_of_its_streak(streak_of: Any) -> None:
    rng = np.random.default_rng(11)
    seen: Counter[str] = Counter()
    for _ in range(CASES):
        bottom = float(rng.choice([0.0, 0.0, -5.0]))
        top = bottom + float(rng.choice([1.0, 1.0, 25.0]))
        alpha = float(10 ** rng.uniform(-1.5, 0.5))
        pulls, means = draw_data(rng, alpha)
        sums = (bottom + (top - bottom) * means) * pulls
        policy = sb.UCB(len(pulls), alpha, reward_range=(bottom, top))
        limit = int(10 ** rng.uniform(0.5, 6.0))
        streak = streak_of(policy, pulls, sums, limit, rng)
        assert max(streak.length, streak.surely) <= limit
        for hits, misses in worst_moments(streak):
            margin = margin_after(policy, pulls, sums, streak.arm, hits, misses)
            assert margin > -TIE, (policy, pulls, sums, streak, hits, misses)
        seen["hits earn misses"] += streak.earned > 0.0
        seen["hits cost misses"] += streak.earned < 0.0
        seen["many misses"] += streak.earned == 0.0 and streak.misses < streak.length - 1
    assert len(seen) == 3, seen
    assert min(seen.values()) >= 5, seen


def test_a_long_lead_lasts_for_the_likely_length() -> None:
    """The mean, the radius at a clock that stands still, and rivals that rise steadily."""
    rng = np.random.default_rng(12)
    both = set()
    for _ in range(CASES):
        pulls, mean = int(10 ** rng.uniform(0.0, 7.0)), rng.random() ** rng.choice([0.1, 1.0, 10.0])
        fall = float(10 ** rng.uniform(-3.0, 0.0))
        drift = fall * (1.0 + rng.exponential())
        room = (mean + drift) * float(10 ** rng.uniform(0.0, 4.0))
        lead = Lead(0, pulls, room, mean, 1.0 - mean, fall)
        length, misses = likely_length(lead, drift)
        both.add(lead.hit > drift)
        for j in {1, int(misses), int(length / 3), int(length)}:
            zeros = min(j, int(misses))
            count = MP.mpf(pulls) + j
            gained = ((j - zeros) * MP.mpf(lead.hit) - zeros * MP.mpf(lead.miss)) / count
            lost = 2 * MP.mpf(fall) * (1 - MP.sqrt(pulls / count))
            left = room / MP.mpf(pulls) + gained - lost - MP.mpf(drift - fall) * j / pulls
            assert left > -TIE, (lead, drift, j, zeros)
    assert both == {True, False}


def test_an_arm_without_rivals_is_pulled_to_the_end() -> None:
    player = Player(sb.UCB(1), [4], [1.0])
    streak = player.streak(sb.Now(4, 1_000), np.random.default_rng(0))
    assert (streak.surely, streak.length) == (1_000, 1_000)
