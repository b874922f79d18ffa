"""Quiet stretches change nothing: pathwise, with the means of a tape, and in law."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import ks_2samp
from support.coupled_draws import play_coupled

import structured_bandits as sb


def pull_by_pull(
    prior: tuple[float, float], playable: list[int], rewards: np.ndarray, uniforms: np.ndarray
) -> list[int]:
    """Return the arms by the definition, with the means of the same tape."""
    pulls, sums = np.zeros(len(rewards), np.int64), np.zeros(len(rewards))
    arms = []
    for row in uniforms:
        means = betaincinv(prior[0] + sums, prior[1] + pulls - sums, row)
        arm = max(playable, key=lambda each: (means[each], -each))
        sums[arm] += rewards[arm, pulls[arm]]
        pulls[arm] += 1
        arms.append(arm)
    return arms


def draw_rewards(rng: np.random.Generator, arms: int, horizon: int) -> np.ndarray:
    """Rewards of 0 and 1, sometimes others between; sometimes the leader changes, or luck comes in runs."""
    means = rng.choice([0.0, 0.05, 0.3, 0.5, 0.55, 0.8, 0.95, 1.0], arms)
    uniforms = rng.random((arms, horizon))
    rewards = (uniforms < means[:, None]).astype(float)
    style = rng.integers(5)
    if style == 0:
        rewards[rng.random(rewards.shape) < 0.3] = 0.5
    elif style == 1:
        rewards[:, horizon // 5 :] = uniforms[:, horizon // 5 :] < rng.random((arms, 1))
    elif style == 2:
        rewards = np.repeat(rewards[:, ::20], 20, axis=1)[:, :horizon]
    return rewards


@pytest.mark.parametrize("part", range(4))
def test_stretches_play_the_arms_of_the_same_means(part: int) -> None:
    met: Counter[str] = Counter()
    for number in range(40):
        rng = np.random.default_rng([part, number])
        arms, horizon = int(rng.integers(1, 6)), int(rng.integers(1, 1500))
        rewards = draw_rewards(rng, arms, horizon)
        uniforms = rng.random((horizon, arms))
        prior = [(1.0, 1.0), (1.0, 1.0), (0.5, 0.5), (2.0, 1.0)][number % 4]
        policy = sb.ThompsonSampling(arms, prior=prior)
        played, coupled, plans = play_coupled(policy, rewards, uniforms, seed=number)
        assert played == pull_by_pull(prior, list(range(arms)), rewards, uniforms), number
        assert coupled.left_over() == 0
        met += coupled.met
        met["spared"] += horizon - plans
    least = {
        "in vain": 500,
        "others above": 400,
        "misses": 10,
        "leader alone below": 15,
        "spared": 10_000,
    }
    assert all(met[name] >= count for name, count in least.items()), met


def test_arms_that_cannot_be_best_are_left_out_of_stretches() -> None:
    structure = sb.FiniteStructure([[0.9, 0.5, 0.1, 0.2], [0.1, 0.2, 0.1, 0.8]])
    policy = sb.ThompsonSampling(structure, arms="candidates")
    rng = np.random.default_rng(5)
    rewards = (rng.random((4, 800)) < [[0.9], [0.95], [0.95], [0.3]]).astype(float)
    uniforms = rng.random((800, 4))
    played, coupled, plans = play_coupled(policy, rewards, uniforms, seed=1)
    assert played == pull_by_pull((1.0, 1.0), [0, 3], rewards, uniforms)
    assert coupled.met["in vain"] > 0
    assert plans < 400


WORLDS: dict[str, tuple[list[float], int]] = {
    "two near": ([0.5, 0.6], 600),
    "two far": ([0.2, 0.8], 500),
    "high": ([0.5, 0.9, 0.95], 1000),
    "two equal": ([0.3, 0.3, 0.7], 600),
    "ten": ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95], 400),
}


@pytest.mark.parametrize("name", WORLDS)
def test_law_of_pulls_and_regret(name: str) -> None:
    means, horizon = WORLDS[name]
    policies = {"TS": sb.ThompsonSampling(len(means))}
    world = sb.Bernoulli(means)
    stretched, single = (
        sb.simulate(policies, world, horizon, runs=10_000, seed=seed, planning=planning, workers=1)
        for seed, planning in ((11, True), (12, False))
    )
    assert stretched.plans["TS"].mean() < 0.9 * horizon
    pairs = [
        (stretched.pulls["TS"][:, arm], single.pulls["TS"][:, arm]) for arm in range(len(means))
    ]
    pairs.append((stretched.regret["TS"][:, -1], single.regret["TS"][:, -1]))
    for ours, theirs in pairs:
        assert ks_2samp(ours, theirs).pvalue > 1e-3
        error = np.sqrt((ours.var() + theirs.var()) / len(ours))
        assert abs(ours.mean() - theirs.mean()) <= 4.0 * error
