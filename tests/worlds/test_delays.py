"""How late rewards come, and what describes it."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats

import structured_bandits as sb
from structured_bandits.worlds.delays import NEVER

COINS = sb.Bernoulli([0.25, 0.5])


def delays(delay: Any, count: int = 20_000, reward: float = 1.0, failures: Any = None) -> Any:
    world, rng = sb.Delayed(COINS, delay, failures), np.random.default_rng(5)
    return np.array([world.draw_delay(0, reward, rng) for _ in range(count)])


def test_fixed_delays_take_no_random_number() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert sb.Delayed(COINS, 100).draw_delay(0, 1.0, rng) == 100
    assert sb.Delayed(COINS, math.inf).draw_delay(0, 1.0, rng) == NEVER
    assert sb.Delayed(COINS, sb.GeometricDelay(0)).draw_delay(0, 1.0, rng) == 0
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("mean", [0.3, 4.0])
def test_geometric_delays_have_their_law(mean: float) -> None:
    drawn = delays(sb.GeometricDelay(mean))
    law = stats.geom(1.0 / (1.0 + mean), loc=-1)
    expected = 20_000 * law.pmf(np.arange(100))
    last = int((expected >= 5.0).sum())
    observed = np.bincount(np.minimum(drawn, last), minlength=last + 1)
    rest = 20_000 - expected[:last].sum()
    assert law.mean() == pytest.approx(mean)
    assert stats.chisquare(observed, [*expected[:last], rest]).pvalue > 1e-4


def test_measured_delays_are_drawn_with_replacement() -> None:
    drawn = delays([3, 7, 7, math.inf])
    shares = [np.mean(drawn == value) for value in (3, 7, NEVER)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=4 * math.sqrt(0.25 / 20_000))


def test_failures_have_a_delay_of_their_own() -> None:
    assert set(delays(2, 5, reward=0.0, failures=9)) == {9}
    assert set(delays(2, 5, reward=1.0, failures=9)) == {2}
    assert set(delays(2, 5, reward=0.0)) == {2}
    scale = sb.Delayed(sb.Tape([[2.0, 3.5], [3.0, 3.0]]), 1, failures=4)
    assert scale.draw_delay(0, 2.0, np.random.default_rng(0)) == 4


def test_a_delayed_world_is_the_world_that_pays() -> None:
    tape = sb.Tape([[0.0, 1.0, 1.0], [0.5, 0.5, 0.0]])
    world = sb.Delayed(tape, 3)
    assert (world.family, world.reward_range(), world.longest()) == ("bounded", (0.0, 1.0), 3)
    assert world.noise() == tape.noise()
    assert world.draw(1, 1, 2, np.random.default_rng(0)) == tape.draw(
        1, 1, 2, np.random.default_rng(0)
    )
    with pytest.raises(sb.ParameterError, match="horizon=4: the tape holds 3"):
        sb.simulate(sb.UCB(2), world, 4, engine="python")
    with pytest.raises(sb.RewardError, match="no bounds"):
        sb.simulate(sb.UCB(2), sb.Delayed(sb.Gaussian([0.1, 0.2]), 3), 4, engine="python")


def test_delayed_worlds_are_values() -> None:
    world = sb.Delayed(COINS, sb.GeometricDelay(12.5), failures=[1, math.inf])
    assert pickle.loads(pickle.dumps(world)) == world == sb.Delayed(
        COINS, sb.GeometricDelay(12.5), failures=[1, math.inf]
    )  # fmt: skip
    assert world != sb.Delayed(COINS, sb.GeometricDelay(12.5), failures=[1, 2])
    assert repr(world) == f"Delayed({COINS!r}, GeometricDelay(12.5), failures=[1, inf])"
    assert repr(sb.Delayed(COINS, range(9))) == f"Delayed({COINS!r}, [0, 1, 2, 3, … 9 delays])"


@pytest.mark.parametrize("delay", [-1, 1.5, "10", None, math.nan, -math.inf, [1, -2], True, {}])
def test_what_is_no_delay_is_refused(delay: Any) -> None:
    with pytest.raises(sb.ParameterError, match=r"delay=.*: expected a whole number of pulls"):
        sb.Delayed(COINS, delay)


def test_other_mistakes_are_named() -> None:
    with pytest.raises(sb.ParameterError, match="expected at least one measured delay"):
        sb.Delayed(COINS, [])
    with pytest.raises(sb.ParameterError, match=r"delay: mean=-1: expected a finite number >= 0"):
        sb.Delayed(COINS, sb.GeometricDelay(-1))
    with pytest.raises(sb.ParameterError, match="up to 1e"):
        sb.Delayed(COINS, sb.GeometricDelay(1e13))
    with pytest.raises(sb.ParameterError, match=r"failures=-3: expected a whole number of pulls"):
        sb.Delayed(COINS, 1, failures=-3)
    with pytest.raises(
        sb.ParameterError, match=r"failures=5: the rewards of .* have no lowest one"
    ):
        sb.Delayed(sb.Gaussian([0.5]), 1, failures=5)
    with pytest.raises(sb.ParameterError, match="come late already"):
        sb.Delayed(sb.Delayed(COINS, 1), 1)
    with pytest.raises(sb.ParameterError, match=r"world=3: expected one such as sb.Bernoulli"):
        sb.Delayed(3, 1)


class Halfway(sb.Bernoulli):
    """Its delays are no whole numbers."""

    def draw_delay(self, arm: int, reward: float, rng: np.random.Generator) -> float:
        return 0.5


def test_check_world_looks_at_delays() -> None:
    late = sb.Delayed(COINS, sb.GeometricDelay(3), 8)
    sb.testing.check_world(late, compiled=False, draws=400)  # compiled: test_delayed.py
    with pytest.raises(sb.testing.CheckError, match="must return a whole number of pulls"):
        sb.testing.check_world(Halfway([0.5]), compiled=False, draws=400)
