"""Rewards in a range: what Bounded pays, and Bernoulli with ends other than 0 and 1."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import structured_bandits as sb


def rewards(world: sb.Bounded | sb.Bernoulli, arm: int, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array([world.draw(arm, 0, 1, rng).total for _ in range(count)])


@pytest.mark.parametrize("spread", [0.02, 0.25, 0.5])
def test_bounded_rewards_have_the_mean_and_the_variance_that_are_promised(spread: float) -> None:
    low, high, mean, count = -2.0, 6.0, 0.5, 20_000
    world = sb.Bounded([mean, low, high], reward_range=(low, high), spread=spread)
    found = rewards(world, 0, count, 1)
    assert low <= found.min()
    assert found.max() <= high
    variance = spread * (high - mean) * (mean - low)
    assert abs(found.mean() - mean) < 4.0 * np.sqrt(variance / count)
    size = 1.0 / spread - 1.0
    share = (mean - low) / (high - low)
    law = stats.beta(size * share, size * (1.0 - share), loc=low, scale=high - low)
    assert law.mean() == pytest.approx(mean)
    assert law.var() == pytest.approx(variance)
    assert stats.kstest(found, law.cdf).pvalue > 1e-4
    assert set(rewards(world, 1, 5, 0)) == {low}  # a mean at the end leaves no choice
    assert set(rewards(world, 2, 5, 0)) == {high}


def test_a_spread_of_one_is_all_or_nothing() -> None:
    world = sb.Bounded([2.5], reward_range=(1, 3), spread=1)
    found = rewards(world, 0, 4000, 0)
    assert set(found) == {1.0, 3.0}
    assert abs((found == 3.0).mean() - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 4000)


def test_blocks_are_the_sums_of_their_rewards() -> None:
    world = sb.Bounded([0.3], spread=0.5)
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    block = world.draw(0, 0, 50, rng)
    single = [world.draw(0, pull, 1, again).total for pull in range(50)]
    total = squares = 0.0
    for reward in single:
        total, squares = total + reward, squares + reward * reward
    assert block == (50, total, squares)


def test_the_sub_gaussian_scale_holds_the_moments() -> None:
    """E exp(s (X - mean)) is at most exp(s² sigma² / 2), by the closed form of a Beta law's moments."""
    for mean, spread in ((0.5, 0.25), (0.1, 0.25), (0.9, 0.7), (0.3, 0.01)):
        sigma = sb.Bounded([mean], spread=spread).noise()
        size = 1.0 / spread - 1.0
        for s in (-20.0, -3.0, -0.5, 0.5, 3.0, 20.0):
            orders = np.arange(1, 200)
            ratios = (size * mean + orders - 1.0) / (size + orders - 1.0) * s / orders
            moment = 1.0 + np.cumprod(ratios).sum()
            assert np.log(moment) - s * mean <= 0.5 * (s * sigma) ** 2 + 1e-9
    assert sb.Bounded([5], (0, 10), 1.0).noise() == sb.Bernoulli([5], (0, 10)).noise() == 5.0


def test_bernoulli_rewards_are_the_ends_of_the_range() -> None:
    """With the same numbers drawn: what 0 and 1 were are now the two ends."""
    plain, wide = sb.Bernoulli([0.25, 0.5]), sb.Bernoulli([-1.0, 0.0], reward_range=(-2.0, 2.0))
    one, two = np.random.default_rng(5), np.random.default_rng(5)
    for count in (1, 2, 9, 300):
        for arm in (0, 1):
            for misses in (None, 0, 3):
                if misses is None:
                    first, second = (
                        w.draw(arm, 0, count, r) for w, r in ((plain, one), (wide, two))
                    )
                elif misses >= count:
                    continue
                else:
                    first, second = (
                        w.draw_until(arm, 0, count, misses, r)
                        for w, r in ((plain, one), (wide, two))
                    )
                ones, zeros = first.total, first.pulls - first.total
                assert second == (first.pulls, 2.0 * ones - 2.0 * zeros, 4.0 * first.pulls)
                assert first.squares == ones
    assert wide.most_paid() == 2.0
    assert (plain.family, wide.family) == ("bernoulli", "bounded")
    assert wide == sb.Bernoulli([-1, 0], (-2, 2)) != sb.Bernoulli([-1, 0], (-2, 3))


@pytest.mark.parametrize(
    "world",
    [
        sb.Bounded([2.0, 1.0], reward_range=(-1.0, 3.0), spread=0.5),
        sb.Bernoulli([2.0, -0.5], reward_range=(-1.0, 3.0)),
    ],
    ids=repr,
)
def test_the_librarys_check_passes(world: sb.Bounded | sb.Bernoulli) -> None:
    """Compiled code of Bernoulli worlds is the same for all ranges, and checked elsewhere."""
    sb.testing.check_world(world, compiled=isinstance(world, sb.Bounded), draws=1500)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Bounded([2.0]), r"means=\[2\.\]: expected means in \[0, 1\], where"),
        (lambda: sb.Bernoulli([11], (0, 10)), r"expected means in \[0, 10\]"),
        (lambda: sb.Bounded([0.5], spread=0), "spread=0: expected a finite number > 0"),
        (lambda: sb.Bounded([0.5], spread=1.5), "spread=1.5: expected 1e-12 to 1"),
        (lambda: sb.Bounded([0.5], spread=1e-300), "spread=1e-300: expected 1e-12 to 1"),
        (lambda: sb.Bounded([0.5], (1, 0)), r"reward_range=\(1, 0\): needs finite low < high"),
        (lambda: sb.Bernoulli([0.5], "structure"), "expected a pair"),  # type: ignore[arg-type]
    ],
)
def test_worlds_that_are_refused(make: object, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        make()  # type: ignore[operator]


def test_policies_have_to_expect_the_range() -> None:
    structure = sb.FiniteStructure([[8.0, 3.0], [2.0, 7.0]], reward_range=(0, 10))
    how = {"runs": 1, "engine": "python", "progress": False}
    for world in (sb.Bernoulli([8, 3], (0, 10)), sb.Bounded([8, 3], (0, 10))):
        sb.simulate(sb.SUCB.paper(structure), world, 50, **how)
        with pytest.raises(
            sb.RewardError, match=r"lie in \(0.0, 10.0\), outside the policy's range"
        ):
            sb.simulate(sb.SUCB.paper(structure, reward_range=(0, 1)), world, 50, **how)
