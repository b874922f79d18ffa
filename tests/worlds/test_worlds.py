"""Worlds: a block drawn at once has the law of its rewards drawn one by one."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import structured_bandits as sb


def test_bernoulli_blocks_are_binomial() -> None:
    world = sb.Bernoulli([0.3, 1.0, 0.0])
    rng = np.random.default_rng(0)
    sums = [world.draw(0, 0, 20, rng).total for _ in range(20_000)]
    observed = np.bincount(np.array(sums, int), minlength=21)
    expected = 20_000 * stats.binom.pmf(np.arange(21), 20, 0.3)
    few = expected < 5
    observed = np.append(observed[~few], observed[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-4
    ones = [world.draw(0, 0, 1, rng).total for _ in range(20_000)]
    assert set(ones) == {0.0, 1.0}
    assert abs(np.mean(ones) - 0.3) < 4 * np.sqrt(0.21 / 20_000)
    assert world.draw(1, 0, 7, rng) == (7, 7.0, 7.0)
    assert world.draw(2, 0, 7, rng) == (7, 0.0, 0.0)


def test_gaussian_blocks_are_normal() -> None:
    world = sb.Gaussian([0.3], sigma=2.0)
    rng = np.random.default_rng(1)
    sums = [world.draw(0, 0, 25, rng).total for _ in range(5000)]
    assert stats.kstest(sums, "norm", args=(25 * 0.3, 5 * 2.0)).pvalue > 1e-4


def test_sums_and_squares_of_gaussian_blocks_have_their_joint_law() -> None:
    """As if drawn one by one: sum, spread around the mean, and the two independent (Cochran)."""
    world, rng, count = sb.Gaussian([0.3], sigma=2.0), np.random.default_rng(4), 6
    single = rng.normal(0.3, 2.0, (5000, count))
    spread = {
        "blocks": [
            p.squares - p.total**2 / count
            for p in (world.draw(0, 0, count, rng) for _ in range(5000))
        ],
        "one by one": (single**2).sum(axis=1) - single.sum(axis=1) ** 2 / count,
    }
    assert stats.ks_2samp(spread["blocks"], spread["one by one"]).pvalue > 1e-4
    blocks = [world.draw(0, 0, count, rng) for _ in range(5000)]
    total = np.array([p.total for p in blocks])
    inner = np.array([p.squares for p in blocks]) - total**2 / count
    assert abs(stats.spearmanr(np.abs(total - count * 0.3), inner).statistic) < 4 / np.sqrt(5000)
    one = world.draw(0, 0, 1, rng)
    assert one.squares == one.total**2


def test_families_of_worlds() -> None:
    assert sb.Bernoulli([0.5]).family == "bernoulli"
    assert sb.Gaussian([0.5]).family == "gaussian"
    assert sb.Tape([[0, 1], [1, 1]]).family == "bernoulli"
    assert sb.Tape([[0, 0.5], [1, 1]]).family == "bounded"


def test_a_tape_pays_what_is_on_it() -> None:
    rewards = np.array([[0, 1, 1, 0, 1], [1, 0.5, 0.25, 0, 0]])
    tape = sb.Tape(rewards)
    rng = np.random.default_rng(2)
    for arm in range(2):
        for first in range(5):
            for last in range(first, 5):
                block = tape.draw(arm, first, last - first + 1, rng)
                part = rewards[arm, first : last + 1]
                assert block == (len(part), part.sum(), (part * part).sum())
    assert tape.means.tolist() == pytest.approx([0.6, 0.35])
    assert sb.Tape(rewards, means=[0.5, 0.4]).means.tolist() == [0.5, 0.4]


def law_until(count: int, misses: int, p: float) -> dict[tuple[int, int], float]:
    """The law of (pulls, ones) when pulls stop after more than `misses` zeros, by all sequences."""
    law: dict[tuple[int, int], float] = {}
    for rewards in itertools.product((0, 1), repeat=count):
        zeros = np.cumsum(np.array(rewards) == 0)
        made = int(np.argmax(zeros > misses)) + 1 if zeros[-1] > misses else count
        ones = sum(rewards[:made])
        weight = p ** sum(rewards) * (1 - p) ** (count - sum(rewards))
        law[made, ones] = law.get((made, ones), 0.0) + weight
    return law


@pytest.mark.parametrize(("count", "misses", "p"), [(7, 0, 0.8), (7, 2, 0.5), (6, 5, 0.3)])
def test_a_streak_stops_as_if_drawn_one_by_one(count: int, misses: int, p: float) -> None:
    world, rng = sb.Bernoulli([p]), np.random.default_rng(count)
    runs = 20_000
    paid = [world.draw_until(0, 0, count, misses, rng) for _ in range(runs)]
    assert all(each.squares == each.total for each in paid)
    seen = Counter((each.pulls, each.total) for each in paid)
    law = law_until(count, misses, p)
    assert sum(law.values()) == pytest.approx(1.0)
    assert set(seen) <= set(law)
    few = [end for end in law if runs * law[end] < 5]
    ends = [end for end in law if end not in few]
    observed = [seen[end] for end in ends] + [sum(seen[end] for end in few)]
    expected = [runs * law[end] for end in ends] + [runs * sum(law[end] for end in few)]
    kept = [place for place, value in enumerate(expected) if value > 0.0]
    result = stats.chisquare(np.array(observed)[kept], np.array(expected)[kept])
    assert result.pvalue > 1e-4


def test_a_tape_stops_after_the_misses() -> None:
    tape, rng = sb.Tape([[1, 0.5, 1, 0, 1, 1, 0]]), np.random.default_rng(0)
    assert tape.draw_until(0, 0, 7, 0, rng) == (2, 1.5, 1.25)
    assert tape.draw_until(0, 0, 7, 1, rng) == (4, 2.5, 2.25)
    assert tape.draw_until(0, 2, 5, 1, rng) == (5, 3.0, 3.0)
    assert tape.draw_until(0, 2, 2, 5, rng) == (2, 1.0, 1.0)


def test_worlds_are_values() -> None:
    for world in (sb.Bernoulli([0.5, 0.6]), sb.Gaussian([0.5], 2.0), sb.Tape([[0, 1]])):
        assert pickle.loads(pickle.dumps(world)) == world
        assert world != sb.Bernoulli([0.1])
    assert repr(sb.Gaussian([0.5])) == "Gaussian([0.5])"


@pytest.mark.parametrize(
    ("count", "misses", "mean"), [(400, 20, 0.7), (1000, 3, 0.95), (200, 40, 0.6), (90, 20, 0.6)]
)
def test_long_blocks_stop_where_pull_by_pull_play_does(
    count: int, misses: int, mean: float
) -> None:
    """The last case takes pulls back one by one, the others draw the stop anew."""
    world, rng, draws = sb.Bernoulli([mean]), np.random.default_rng(8), 20_000
    stops = np.array([world.draw_until(0, 0, count, misses, rng)[:2] for _ in range(draws)])
    pulls, ones = stops[:, 0], stops[:, 1]
    law = stats.nbinom(misses + 1, 1.0 - mean)  # of the ones before the zero at which to stop
    stopped = pulls - ones > misses
    assert (pulls[~stopped] == count).all()
    assert (pulls[stopped] == ones[stopped] + misses + 1).all()
    most = count - misses - 1
    chance = law.cdf(most)
    error = np.sqrt(chance * (1.0 - chance) / draws)
    assert abs(stopped.mean() - chance) <= 4.0 * error + 1e-12
    cuts = np.unique(law.ppf(np.linspace(0.05, 0.95, 19) * chance))
    seen = np.histogram(ones[stopped], [-0.5, *(cuts + 0.5), most + 0.5])[0]
    expected = np.diff([0.0, *law.cdf(cuts), chance]) / chance * stopped.sum()
    assert stats.chisquare(seen, expected).pvalue > 1e-4
