"""Thompson sampling against its definition; Python and compiled; regrets, parameters, live agents."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.exactness import assert_met
from support.play import play
from support.taped_contests import thompson

import structured_bandits as sb

TEN = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]


def test_definition() -> None:
    """Coins, fractions and Gaussian rewards, all arms or those that can be best."""
    met = sum((thompson(21, index) for index in range(200)), Counter[str]())
    assert_met(met, cases=200, fractions=40, gaussian=40, one_arm=10, left_out=15)
    assert met["near_ties_broken"] == 0


def test_a_reward_range_scales_rewards() -> None:
    rng = np.random.default_rng(3)
    coins = rng.integers(0, 2, (3, 200)).astype(float)
    for low, high in ((-1.0, 3.0), (10.0, 10.5)):
        policy = sb.ThompsonSampling(3, reward_range=(low, high))
        for planning in (False, True):
            scaled = play(
                policy, low + (high - low) * coins, 200, compiled=False, planning=planning
            )
            assert scaled == play(
                sb.ThompsonSampling(3), coins, 200, compiled=False, planning=planning
            )


def test_python_and_compiled_draw_the_same() -> None:
    spared = 0
    for number in range(60):
        rng = np.random.default_rng(number)
        n_arms, horizon = int(rng.integers(1, 7)), int(rng.integers(1, 2000))
        means = rng.choice([0.0, 0.1, 0.5, 0.6, 0.9, 1.0], (n_arms, 1))
        rewards = (rng.random((n_arms, horizon)) < means).astype(float)
        if number % 5 == 0:
            rewards[rng.random(rewards.shape) < 0.2] = 0.75
        policy = sb.ThompsonSampling(n_arms, prior=[None, (0.5, 0.5), (2.0, 3.0)][number % 3])
        for planning in (True, False):
            python, compiled = (
                play(policy, rewards, horizon, compiled=way, planning=planning, seed=number)
                for way in (False, True)
            )
            assert python == compiled, number
            spared += horizon - python.plans
    assert spared > 10_000


@pytest.mark.parametrize("prior", [(1e100, 1.0), (1.0, 1e100), (1e-100, 1e-100), (1e8, 100.0)])
def test_strange_priors(prior: tuple[float, float]) -> None:
    """Expected means that are 0 or 1 as floats, and laws without envelopes."""
    for means in ([0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0], [0.001, 0.999, 0.5]):
        rewards = np.random.default_rng(1).random((len(means), 300)) < np.array(means)[:, None]
        played = play(sb.ThompsonSampling(len(means), prior=prior), rewards, 300, False, True)
        assert len(played.arms) == 300


def test_gaussian_python_and_compiled_draw_the_same() -> None:
    rewards = np.random.default_rng(1).normal([[0.1], [0.5]], 1.0, (2, 300))
    for prior in (None, (0.0, 2.0)):
        policy = sb.ThompsonSampling(2, prior=prior, reward_range=None, sigma=1.0)
        python, compiled = (play(policy, rewards, 300, way, True, seed=4) for way in (False, True))
        assert python == compiled
        assert python.plans == 300


def test_regret_on_ten_arms() -> None:
    """37.84 with a standard error of 0.69: a loop written by hand, pull by pull, 400 runs."""
    result = sb.simulate(
        sb.ThompsonSampling(10), sb.Bernoulli(TEN), 10_000, runs=400, seed=6, workers=1
    )
    regret = next(iter(result.regret.values()))[:, -1]
    error = math.hypot(regret.std() / math.sqrt(len(regret)), 0.69)
    assert abs(regret.mean() - 37.84) <= 4.0 * error


def test_regret_grows_as_lai_and_robbins_say() -> None:
    """By 7.10 log n in the end; up to 10^8 pulls, which take milliseconds, terms of lower order count."""
    horizons = [10**6, 10**8]
    result = sb.simulate(
        sb.ThompsonSampling(10), sb.Bernoulli(TEN), horizons[1],
        runs=400, seed=7, checkpoints=horizons, workers=1,
    )  # fmt: skip
    regret = next(iter(result.regret.values()))
    slopes = (regret[:, 1] - regret[:, 0]) / math.log(horizons[1] / horizons[0])
    assert slopes.std() / math.sqrt(len(slopes)) < 0.15
    assert 0.9 * 7.10 < slopes.mean() < 1.1 * 7.10
    assert next(iter(result.plans.values())).mean() < 6000


def test_a_live_agent_draws_at_every_decision() -> None:
    agent = sb.Agent(sb.ThompsonSampling(3, prior=(2, 1)), seed=5)
    rng = sb.testing.agent_generator(5)
    ones, pulls = np.zeros(3), np.zeros(3)
    for number in range(200):
        means = [rng.beta(2 + ones[arm], 1 + pulls[arm] - ones[arm]) for arm in range(3)]
        decision = agent.ask()
        assert decision.arm == int(np.argmax(means))
        assert agent.plan.sum() == 1
        reward = float((number * 7 + decision.arm) % 3 > 0)
        agent.tell(decision.id, reward)
        ones[decision.arm] += reward
        pulls[decision.arm] += 1
        if number == 100:
            agent = sb.Agent.from_json(agent.to_json(), sb.ThompsonSampling(3, prior=(2, 1)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prior": (0.0, 1.0)}, r"prior\[0\]=0.0: expected a finite number > 0"),
        ({"prior": (1.0, math.inf)}, r"prior\[1\]=inf"),
        ({"prior": 2.0}, r"prior=2.0: expected two numbers, \(a, b\) of a Beta prior"),
        ({"prior": ("1", "2")}, "expected two numbers"),
        ({"prior": (0.0, 0.0), "reward_range": None, "sigma": 1.0}, r"prior\[1\]=0.0"),
        ({"prior": (0.0, 1e60), "reward_range": None, "sigma": 1.0}, "times sigma=1.0"),
        ({"prior": (1e200, 1.0), "reward_range": None, "sigma": 1.0}, "expected a mean up to 1e"),
        ({"prior": (1e-200, 1.0)}, r"prior\[0\]=1e-200"),
        ({"prior": [1], "reward_range": None, "sigma": 1.0}, r"\(mean, deviation\)"),
        ({"arms": "some"}, "accepted are 'all' and 'candidates'"),
        ({"arms": "candidates"}, "only a structure"),
        ({"reward_range": None}, "need a sigma"),
    ],
)
def test_errors_name_what_is_accepted(options: dict[str, Any], words: str) -> None:
    with pytest.raises(sb.ParameterError, match=words):
        sb.ThompsonSampling(3, **options)


def test_equal_priors_make_equal_policies() -> None:
    assert sb.ThompsonSampling(2) == sb.ThompsonSampling(2, prior=[1, 1])
    assert sb.ThompsonSampling(2) != sb.ThompsonSampling(2, prior=(1, 2))
    gaussian = {"reward_range": None, "sigma": 0.5}
    assert sb.ThompsonSampling(2, prior=(0, 1), **gaussian).parameters()["prior"] == (0.0, 1.0)
    assert sb.ThompsonSampling(2, **gaussian).parameters()["prior"] is None
