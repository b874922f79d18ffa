"""UncertainModelTS plays what its definition says, from counts alone, and forgives a wrong table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from mpmath import loggamma, mp, mpf
from oracles import posteriors
from scipy.special import betaln
from support.cases import draw_case
from support.exactness import assert_met
from support.taped_contests import uncertain_model_ts
from support.uniform_tapes import DrawTape

import structured_bandits as sb
from structured_bandits.planning.rising import LARGE, log_rising
from structured_bandits.planning.weights import write_weights
from structured_bandits.policies.uncertain_model_ts import STRENGTHS, fresh_weights, write_logs
from structured_bandits.testing.tapes import play, play_in

TABLE = sb.FiniteStructure([[0.8, 0.3, 0.5], [0.2, 0.7, 0.1], [0.1, 0.6, 0.9]])


def probabilities(policy: sb.UncertainModelTS, pulls: Any, sums: Any) -> np.ndarray:
    """The posterior of the pairs: a row for each strength, the last for exact models."""
    state = policy.init()
    state.data.pulls[:] = pulls
    state.data.sums[:] = sums
    policy.restore(state)
    logs, weights = fresh_weights(policy.pairs)
    write_logs(policy.pairs, state, logs)
    total = write_weights(logs, weights).total
    return weights.reshape(-1, len(policy.best)) / total


# ------------------------------------------------------------------------- against the oracle


@pytest.mark.parametrize("strengths", [STRENGTHS, (100.0,), (4.0, 0.5)], ids=len)
def test_arms_are_those_of_the_definition(strengths: tuple[float, ...]) -> None:
    """On a tape of uniforms; trust nothing, something, everything."""
    met = sum((uncertain_model_ts(81, index, strengths) for index in range(40)), Counter[str]())
    assert_met(met, pulls=800, switches=20, exact=15)
    assert met["near_ties_broken"] <= 1, met


@pytest.mark.parametrize("number", range(30))
def test_compiled_play_is_that_of_python(number: int) -> None:
    case = draw_case(82, number, "finite", full_size=False)
    policy = sb.UncertainModelTS(case.structure, (0.0, 0.5, 1.0)[number % 3])
    ways = [
        play(policy, case.rewards, case.horizon, compiled, planning=True, seed=number)
        for compiled in (False, True)
    ]
    assert ways[0] == ways[1]


# -------------------------------------------------------------------------- the two extremes


def test_great_strength_is_exactness() -> None:
    """With a billion pseudo-counts behind each mean play is that of the exact models."""
    switches = 0
    for number in range(20):
        rng = np.random.default_rng([9, number])
        models, arms, pulls = int(rng.integers(2, 7)), int(rng.integers(2, 6)), 300
        ranks = rng.permuted(np.tile(np.arange(16), (models, 1)), axis=1)[:, :arms]
        table = (ranks + 0.5) / 16  # no two arms of a model are close
        rewards = (rng.random((arms, pulls)) < table[0][:, None]).astype(float)
        structure, draws = sb.FiniteStructure(table), rng.random((pulls, 1 + arms))
        near, exact = (
            play_in(sb.Tape(rewards), policy, pulls, False, True, DrawTape(tape.tolist()))
            for policy, tape in (
                (sb.UncertainModelTS(structure, 0.0, 1e9), draws.ravel()),
                (sb.UncertainModelTS(structure, 1.0), draws[:, 0]),
            )
        )
        assert near.arms == exact.arms, f"case {number}"
        switches += len(set(near.arms)) > 1
    assert switches >= 10


def test_full_trust_draws_from_the_posterior_of_exact_models() -> None:
    policy = sb.UncertainModelTS(TABLE, 1.0, prior=[1, 2, 3])
    pulls, sums = [7, 5, 3], [3, 2, 2]
    wanted = posteriors.posterior(TABLE.cells.table.tolist(), pulls, sums, [1, 2, 3])
    assert probabilities(policy, pulls, sums) == pytest.approx(wanted[None], rel=1e-12)
    state = policy.init()
    state.data.pulls[:], state.data.sums[:] = pulls, sums
    policy.restore(state)
    grid = (np.arange(1000) + 0.5) / 1000
    arms = [policy.choose(state, sb.Now(15, 1), DrawTape([u])).arm for u in grid]
    assert np.bincount(arms) / 1000 == pytest.approx([wanted[0], wanted[1], wanted[2]], abs=2e-3)


def test_a_model_that_says_nothing_is_blind_thompson_sampling() -> None:
    """Two pseudo-counts behind a mean of 1/2: Beta(1 + ones, 1 + zeros), arm by arm."""
    policy = sb.UncertainModelTS(sb.FiniteStructure([[0.5] * 4]), 0.0, 2)
    rewards = (np.random.default_rng(1).random((4, 200)) < 0.5).astype(float)
    played = play(policy, rewards, 200, compiled=False, planning=True, seed=3)
    rng, pulls, sums = sb.testing.agent_generator(3), np.zeros(4, int), np.zeros(4)
    for arm in played.arms:
        rng.uniform(0.0, 1.0)  # which model
        draws = [rng.beta(1 + s, 1 + n - s) for n, s in zip(pulls, sums, strict=True)]
        assert arm == int(np.argmax(draws))
        sums[arm] += rewards[arm, pulls[arm]]
        pulls[arm] += 1


# -------------------------------------------------------------------------------- the weights


def test_weights_with_a_strength_for_each_mean() -> None:
    """Each pull multiplies a weight by the chance that the model gave its reward."""
    rng = np.random.default_rng(0)
    strengths = rng.uniform(1, 300, (3, 3))
    weights = np.array([0.5, 0.25, 0.25])
    pulls, sums = np.zeros(3), np.zeros(3)
    for _ in range(200):
        arm, reward = int(rng.integers(3)), float(rng.random() < 0.4)
        own = strengths[:, arm] * (
            TABLE.cells.table[:, arm] if reward else 1 - TABLE.cells.table[:, arm]
        )
        before = sums[arm] if reward else pulls[arm] - sums[arm]
        weights *= (own + before) / (strengths[:, arm] + pulls[arm])
        weights /= weights.sum()
        pulls[arm] += 1
        sums[arm] += reward
    policy = sb.UncertainModelTS(TABLE, 0.0, strengths, prior=[2, 1, 1])
    found = probabilities(policy, pulls, sums)
    assert found[0] == pytest.approx(weights, rel=1e-9)
    assert found[1].sum() == 0.0
    assert policy.parameters()["strengths"] == strengths.tolist()


def test_equal_strengths_are_one_strength() -> None:
    rewards = (np.random.default_rng(1).random((3, 150)) < 0.5).astype(float)
    one, table = (
        play(sb.UncertainModelTS(TABLE, 0.5, each), rewards, 150, compiled=False, planning=True)
        for each in (50, np.full((3, 3), 50.0))
    )
    assert one == table


def test_rewards_between_0_and_1_count_as_fractions() -> None:
    pulls, sums = [7, 5, 0], [3.25, 1.5, 0.0]
    policy = sb.UncertainModelTS(TABLE, 0.0, 10)
    logs = np.zeros(3)
    for arm in range(2):
        a, b = 10 * TABLE.cells.table[:, arm], 10 * (1 - TABLE.cells.table[:, arm])
        logs += betaln(a + sums[arm], b + pulls[arm] - sums[arm]) - betaln(a, b)
    wanted = np.exp(logs) / np.exp(logs).sum()
    assert probabilities(policy, pulls, sums)[0] == pytest.approx(wanted, rel=1e-12)


def test_the_order_of_rewards_leaves_no_trace() -> None:
    """One by one, in blocks, or made anew from a snapshot: the same numbers to the last bit."""
    policy = sb.UncertainModelTS(TABLE)
    rng = np.random.default_rng(2)
    outcomes = [(int(rng.integers(3)), float(rng.integers(2))) for _ in range(300)]
    single, anew = policy.init(), policy.init()
    for arm, reward in outcomes:
        policy.update(single, sb.Outcome(arm, 1, reward, reward))
    for arm in (2, 0, 1):
        total = sum(reward for each, reward in outcomes if each == arm)
        pulls = sum(each == arm for each, _ in outcomes)
        policy.update(anew, sb.Outcome(arm, pulls, total, total))
    restored = policy.init()
    restored.data.pulls[:], restored.data.sums[:] = single.data
    policy.restore(restored)
    found = []
    for state in (single, anew, restored):
        found.append(fresh_weights(policy.pairs).logs)
        write_logs(policy.pairs, state, found[-1])
    assert found[0].tolist() == found[1].tolist() == found[2].tolist()


def test_log_rising_to_almost_all_digits() -> None:
    rng = np.random.default_rng(3)
    with mp.workdps(40):
        for x in [*10.0 ** rng.uniform(-6, 9, 300), LARGE * (1 - 1e-9), LARGE]:
            for more in (
                0.0,
                1.0,
                0.25,
                float(rng.integers(2, 50)),
                float(10 ** rng.uniform(2, 6)),
            ):
                exact = loggamma(mpf(x) + mpf(more)) - loggamma(mpf(x))
                assert abs(log_rising(float(x), more) - exact) < 2e-14 * max(1, abs(exact))


# ------------------------------------------------------------------------------ what it is for


def test_a_wrong_table_ruins_full_trust_only() -> None:
    """No row is right, and the one that fits best promises most of the worse arm."""
    structure, world = sb.FiniteStructure([[0.55, 0.5], [0.3, 0.5]]), sb.Bernoulli([0.45, 0.5])
    policies = {"full": sb.UncertainModelTS(structure, 1.0), "half": sb.UncertainModelTS(structure)}
    result = sb.simulate(policies, world, 10_000, runs=40, checkpoints=1)
    full, half = (result.regret[name][:, -1].mean() for name in policies)
    assert full > 300
    assert half < 100


# ------------------------------------------------------------------------------ as an object


def test_rewards_of_another_range_change_nothing() -> None:
    rewards = (np.random.default_rng(2).random((3, 200)) < 0.5).astype(float)
    table = np.random.default_rng(4).integers(0, 17, (4, 3)) / 16  # scaled without rounding
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        other = sb.FiniteStructure(8.0 * table - 4.0)
    plain = sb.UncertainModelTS(sb.FiniteStructure(table))
    ours = play(plain, rewards, 200, compiled=False, planning=True)
    scaled = sb.UncertainModelTS(other, reward_range=(-4.0, 4.0))
    assert play(scaled, 8.0 * rewards - 4.0, 200, compiled=False, planning=True) == ours


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trust": 1.5}, "trust=1.5: expected a probability"),
        ({"trust": -0.1}, "trust=-0.1: expected a finite number >= 0"),
        ({"strengths": 0}, "strengths=0: expected a positive number"),
        ({"strengths": ()}, r"strengths=\(\): expected a positive number"),
        ({"strengths": [[1, 2], [3, 4]]}, "a table of 3 models × 3 arms"),
        ({"strengths": "many"}, "strengths='many': expected a positive number"),
        ({"prior": [1, 0, 1]}, "expected positive numbers"),
        ({"reward_range": None}, r"reward_range=None: expected a pair \(low, high\)"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        sb.UncertainModelTS(TABLE, **arguments)


def test_structures_that_are_no_table_are_refused() -> None:
    with pytest.raises(sb.ParameterError, match="UncertainModelTS cannot play on structure="):
        sb.UncertainModelTS(sb.unstructured(3))
