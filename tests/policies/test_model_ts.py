"""ModelTS plays what its definition says, planned or not, compiled or not, and what was published."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support import taped_contests
from support.exactness import assert_met
from support.model_cases import STYLES, draw_model_case
from support.play import play
from support.taped_contests import model_ts_of, model_ts_oracle
from support.uniform_tapes import play_tape

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right, random_structure
from structured_bandits.protocols import Outcome

RIGHT = figure1_right()
pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)


def test_oracle_pull_by_pull_and_planned_agree() -> None:
    met = sum((taped_contests.model_ts(1, index) for index in range(280)), start=Counter[str]())
    assert met["near_ties_broken"] == 0
    assert all(met[style] == 40 for style in STYLES)
    assert_met(met, long_plans=180, switches=150)


def test_gaussian_rewards_agree_with_the_oracle() -> None:
    for index in range(40):
        case = draw_model_case(2, index)
        rng = np.random.default_rng(index)
        case.rewards = (
            np.round(8.0 * rng.normal(case.table[0][:, None], 1.0, case.rewards.shape)) / 8
        )
        policy = sb.ModelTS(case.structure, case.prior, case.temper, reward_range=None, sigma=0.75)
        planned, longest = play_tape(policy, case.rewards, case.uniforms, planning=True)
        assert planned.arms == model_ts_oracle(case, sigma=0.75).arms, (index, case.style)
        assert longest == 1, "nothing is certain of rewards without bounds"


def test_rewards_in_another_range_are_scaled() -> None:
    for index in range(40):
        case = draw_model_case(3, index)
        structure = sb.FiniteStructure(case.table * 4.0 - 1.0)
        policy = sb.ModelTS(structure, case.prior, case.temper, reward_range=(-1.0, 3.0))
        planned, _ = play_tape(policy, case.rewards * 4.0 - 1.0, case.uniforms, planning=True)
        assert planned.arms == model_ts_oracle(case).arms, (index, case.style)


@pytest.mark.parametrize("planning", [True, False])
def test_python_and_compiled_play_alike(planning: bool) -> None:
    for index in range(60):
        case = draw_model_case(4, index)
        policy, horizon = model_ts_of(case), len(case.uniforms)
        ways = [
            play(policy, case.rewards, horizon, compiled, planning, seed=index)
            for compiled in (True, False)
        ]
        assert ways[0] == ways[1], (index, case.style)


def test_the_posterior_is_the_golden_one() -> None:
    policy = sb.ModelTS(RIGHT)
    state = policy.init()
    for arm, (ones, zeros) in enumerate([(7, 2), (3, 2), (2, 1), (1, 2)]):
        policy.update(state, Outcome(arm, ones + zeros, float(ones), float(ones)))
    golden = [0.57302225, 0.29111364, 0.04335633, 0.09250779]
    weights = np.empty(4)
    weights[policy.posterior.order] = state.belief.weights / state.belief.weights.sum()
    np.testing.assert_allclose(weights, golden, atol=5e-9)
    state.data.pulls[:], state.data.sums[:] = [9, 5, 3, 3], [7.0, 3.0, 2.0, 1.0]
    policy.restore(state)
    weights[policy.posterior.order] = state.belief.weights / state.belief.weights.sum()
    np.testing.assert_allclose(weights, golden, atol=5e-9)


def hard_instance(seed: int) -> tuple[sb.FiniteStructure, np.ndarray]:
    structure, truth = random_structure(np.random.default_rng(seed), clip=True)
    return structure, structure.means(truth)


def near_copies() -> tuple[sb.FiniteStructure, np.ndarray]:
    table = [[0.5, 0.4 + 0.02 * step, 0.6 - 0.05 * step] for step in range(8)]
    return sb.FiniteStructure(table), np.array([0.5, 0.47, 0.43])


INSTANCES = {
    "figure1-right": lambda: (RIGHT, RIGHT.means(0)),
    "wrong truth": lambda: (RIGHT, np.array([0.75, 0.8, 0.7, 0.3])),
    "random 1": lambda: hard_instance(1),
    "random 2": lambda: hard_instance(2),
    "near copies": near_copies,
}


@pytest.mark.parametrize("name", INSTANCES)
def test_planned_runs_have_the_law_of_pull_by_pull_ones(name: str) -> None:
    structure, means = INSTANCES[name]()
    policies = {"ModelTS": sb.ModelTS(structure)}
    regret = [
        sb.simulate(
            policies, sb.Bernoulli(means), 400, runs=10_000, seed=seed, planning=planning
        ).regret["ModelTS"][:, -1]
        for seed, planning in ((1, True), (2, False))
    ]
    assert stats.ks_2samp(*regret).pvalue > 1e-3


PUBLISHED = {
    1_000: (10.30, 0.06),
    10_000: (13.75, 0.11),
    100_000: (17.14, 0.12),
    500_000: (19.48, 0.14),
}


@pytest.mark.parametrize("horizon", PUBLISHED)
def test_regret_on_figure1_right(horizon: int) -> None:
    expected, error = PUBLISHED[horizon]
    world = sb.Bernoulli(RIGHT.means(0))
    found = sb.simulate({"ModelTS": sb.ModelTS(RIGHT)}, world, horizon, runs=4_000, seed=3)
    regret = found.regret["ModelTS"][:, -1]
    assert abs(regret.mean() - expected) < 4.0 * np.hypot(error, stats.sem(regret))


def test_regret_on_random_structures() -> None:
    """40.27 +- 0.67 is what was found with 300 fresh structures of 150 models and 50 arms."""

    def draw(rng: np.random.Generator) -> Any:
        structure, truth = random_structure(rng)
        return {"ModelTS": sb.ModelTS(structure)}, sb.Bernoulli(structure.means(truth))

    found = sb.simulate_random(draw, 10_000, runs=600, seed=4)
    regret = found.regret["ModelTS"][:, -1]
    assert abs(regret.mean() - 40.27) < 4.0 * np.hypot(0.67, stats.sem(regret))


def test_an_agent_is_a_function_of_its_events() -> None:
    """Saved and restored after each reward, told late and out of order, it decides as if it were not."""
    policy = sb.ModelTS(RIGHT, prior=[1, 2, 3, 4], temper=0.5)
    rng = np.random.default_rng(8)
    kept, restored = sb.Agent(policy, seed=5), sb.Agent(policy, seed=5)
    for _ in range(60):
        pair = [kept.ask(), kept.ask()]
        assert [restored.ask(), restored.ask()] == pair
        for decision in reversed(pair):
            reward = float(rng.random() < 0.7)
            kept.tell(decision.id, reward)
            restored.tell(decision.id, reward)
            restored = sb.Agent.from_json(restored.to_json(), policy)
    assert kept.to_json() == restored.to_json()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prior": [1.0, 2.0]}, r"prior=\[1.0, 2.0\]: expected 4 numbers, one for each model"),
        ({"prior": [1.0, 2.0, 0.0, 1.0]}, "expected positive numbers; leave out a model"),
        ({"temper": 1.5}, "temper=1.5: expected a number above 0, at most 1"),
        ({"temper": 0.0}, "temper=0.0: expected a finite number > 0"),
        ({"reward_range": None}, "sigma=None"),
    ],
)
def test_parameters_are_checked(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        sb.ModelTS(RIGHT, **given)
