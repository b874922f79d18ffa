"""Streaks that stop at misses or gains have the law of pulling one by one, and binomial numbers theirs."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

import structured_bandits as sb
from structured_bandits.protocols import Stop
from structured_bandits.simulation.engine import counts_gains, draw_while_few, drawing_for
from structured_bandits.worlds.stopped_coins import Coin, binomial, run_scales, stopped_coins

DRAWS = 8_000


def coin_of(p: float) -> Coin:
    """A coin that shows heads with probability p."""
    heads, tails = run_scales(np.array([p]))
    return Coin(p, float(heads[0]), float(tails[0]))


def law_while(stop: Stop, p: float) -> dict[tuple[int, int], float]:
    """The law of (pulls, ones) of one who stops at too many zeros or too many ones, by all sequences.

    Ones may earn further zeros, or cost some.
    """
    law: dict[tuple[int, int], float] = {}
    for rewards in itertools.product((0, 1), repeat=stop.length):
        made = ones = 0
        while made < stop.length and ones <= stop.gains:
            if made - ones > stop.misses + stop.spare + ones * stop.earned:
                break
            ones += rewards[made]
            made += 1
        weight = p ** sum(rewards) * (1 - p) ** (stop.length - sum(rewards))
        law[made, ones] = law.get((made, ones), 0.0) + weight
    return law


def p_value(seen: Counter[Any], law: dict[Any, float]) -> float:
    """Of a chi-square test; outcomes that are expected less than five times count as one."""
    draws = sum(seen.values())
    assert set(seen) <= {end for end, share in law.items() if share > 0.0}
    common = [end for end in law if draws * law[end] >= 5]
    observed = [seen[end] for end in common]
    expected = [draws * law[end] for end in common]
    observed.append(draws - sum(observed))
    expected.append(draws - sum(expected))
    kept = [place for place, value in enumerate(expected) if value > 1e-9 * draws]
    if len(kept) == 1:
        return float(observed[kept[0]] == draws)
    return float(stats.chisquare(np.array(observed)[kept], np.array(expected)[kept]).pvalue)


@pytest.mark.parametrize(
    ("stop", "p"),
    [
        (Stop(7, 2, 5), 0.6),  # one by one
        (Stop(13, 3, 11), 0.6),  # a block; pulls are taken back
        (Stop(13, 9, 3), 0.3),
        (Stop(15, 5, 9), 0.5),  # both limits are met
        (Stop(14, 3, 3), 0.5),  # less than 14 pulls are possible
        (Stop(12, 0, 12), 0.7),  # runs
        (Stop(12, 0, 12), 0.9),
        (Stop(12, 12, 0), 0.1),
        (Stop(12, 0, 3), 0.9),
        (Stop(9, 2, 2), 0.0),
        (Stop(9, 2, 2), 1.0),
        (Stop(9, 0, 9), 1.0),
        (Stop(9, 9, 0), 0.0),
        (Stop(13, 0, 13, 0.7, 0.15), 0.8),  # two ones earn a zero, then seven each
        (Stop(13, 1, 13, 0.0, 0.5), 0.6),
        (Stop(14, 2, 14, 0.5, -0.25), 0.6),  # ten ones cost all zeros, and end it
        (Stop(14, 0, 14, 0.9, -0.1), 0.85),
        (Stop(14, 0, 14, 0.3, -0.35), 0.85),  # a one may come, and no zero
        (Stop(13, 1, 4, 0.5, 0.25), 0.7),  # the fifth one ends it, too
        (Stop(9, 1, 9, 0.5, 0.25), 0.0),
        (Stop(9, 1, 9, 0.5, 0.25), 1.0),
        (Stop(9, 1, 9, 0.5, -0.375), 1.0),
    ],
)
def test_coins_stop_as_if_thrown_one_by_one(stop: Stop, p: float) -> None:
    rng = np.random.default_rng([stop.length, stop.misses])
    seen = Counter(stopped_coins(coin_of(p), stop, rng) for _ in range(DRAWS))
    law = law_while(stop, p)
    assert sum(law.values()) == pytest.approx(1.0)
    assert p_value(seen, law) > 1e-4


@pytest.mark.parametrize(
    ("stop", "p"),
    [(Stop(3000, 620, 3000), 0.8), (Stop(2000, 2000, 420), 0.2), (Stop(900, 300, 900), 0.6)],
)
def test_long_blocks_stop_by_a_negative_binomial_law(stop: Stop, p: float) -> None:
    """With one limit the stop is known in closed form; it is drawn by a beta number here."""
    rng = np.random.default_rng(stop.length)
    drawn = np.array([stopped_coins(coin_of(p), stop, rng) for _ in range(DRAWS)])
    pulls, ones = drawn[:, 0], drawn[:, 1]
    limit, rarer, rare = (
        (stop.misses, 1.0 - p, pulls - ones) if stop.misses < stop.gains else (stop.gains, p, ones)
    )
    law = stats.nbinom(limit + 1, rarer)  # of the others before number limit + 1 of the rare ones
    stopped = rare > limit
    assert (pulls[~stopped] == stop.length).all()
    in_time = law.cdf(stop.length - limit - 1)
    assert stats.binomtest(int(stopped.sum()), DRAWS, in_time).pvalue > 1e-4
    before = pulls[stopped] - limit - 1
    edges = law.ppf(np.linspace(0.0, in_time, 21)[1:-1])
    shares = np.diff(np.concatenate([[0.0], law.cdf(edges), [in_time]])) / in_time
    cells = Counter(np.searchsorted(edges, before).tolist())
    assert p_value(cells, dict(enumerate(shares))) > 1e-4


@pytest.mark.parametrize(
    ("count", "share"),
    [
        (6, 0.4),
        (40, 0.1),
        (40, 0.95),
        (60, 0.3),
        (25, 0.5),
        (500, 0.7),
        (100_000, 0.002),
        (10**6, 0.5),
    ],
)
def test_binomial_numbers(count: int, share: float) -> None:
    """A few, by inversion and by rejection, and from both sides."""
    rng = np.random.default_rng([count, 3])
    law = stats.binom(count, share)
    edges = np.unique(law.ppf(np.linspace(0.0, 1.0, 41)[1:-1]))
    shares = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    drawn = [binomial(count, share, rng) for _ in range(DRAWS)]
    assert 0 <= min(drawn) <= max(drawn) <= count
    cells = Counter(np.searchsorted(edges, drawn).tolist())
    assert p_value(cells, dict(enumerate(shares))) > 1e-4


def test_a_tape_counts_misses_and_gains() -> None:
    tape, rng = sb.Tape([[1, 0.5, 1, 0, 1, 1, 0]]), np.random.default_rng(0)
    assert tape.draw_while(0, 0, Stop(7, 0, 7), rng) == (2, 1.5, 1.25)
    assert tape.draw_while(0, 0, Stop(7, 7, 2), rng) == (3, 2.5, 2.25)  # 0.5 is a gain, too
    assert tape.draw_while(0, 3, Stop(4, 4, 0), rng) == (2, 1.0, 1.0)
    assert tape.draw_while(0, 0, Stop(5, 5, 5), rng) == (5, 3.5, 3.25)
    assert tape.draw_while(0, 0, Stop(7, 0, 7, 0.5, 0.5), rng) == (4, 2.5, 2.25)  # a 1 earns a miss
    assert tape.draw_while(0, 0, Stop(7, 2, 7, 0.0, -0.75), rng) == (3, 2.5, 2.25)
    assert (tape.least_paid(), tape.most_paid()) == (0.0, 1.0)


def test_a_world_whose_rewards_are_drawn_anew_does_not_count_with_the_old_ones() -> None:
    class Drawn(sb.Bernoulli):
        def draw(self, arm: int, pulls: int, count: int, rng: Any) -> sb.Paid:
            return sb.Paid(count, 0.0, 0.0)

    class Stopping(sb.Bernoulli):
        def draw_until(self, arm: int, pulls: int, count: int, misses: int, rng: Any) -> sb.Paid:
            return sb.Paid(1, 0.0, 0.0)

    assert drawing_for(sb.Bernoulli) is draw_while_few
    assert not counts_gains(Drawn)
    assert not counts_gains(Stopping)
    assert not counts_gains(sb.Gaussian)
