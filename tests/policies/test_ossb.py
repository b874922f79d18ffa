"""OSSB plays what its definition says, plans exploit phases, and attains the lower bound."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from support import model_contests
from support.exactness import assert_met, compare
from support.model_contests import draw_allocation_case, draw_table, draw_tape
from support.paths import assert_certain
from support.play import play

import structured_bandits as sb
from structured_bandits.base.confidence import Data
from structured_bandits.base.families import kl_bernoulli
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    figure1_right_as_curves,
)
from structured_bandits.policies import ossb_targets as solved_guide
from structured_bandits.theory.confusing_sets import RegionSet
from structured_bandits.theory.divergence import Information
from structured_bandits.theory.truth import truth_of

WAYS = [(True, True), (True, False), (False, True), (False, False)]  # compiled, planning
RIGHT = figure1_right()


def test_the_allocations_of_figure_1_right() -> None:
    coins = sb.OSSB(RIGHT).cells.allocations
    np.testing.assert_allclose(coins[0], [0.0, 4.87278576, 0.0, 1.95761519], atol=1e-8)
    assert coins[0] @ (0.8 - RIGHT.means(0)) == pytest.approx(1.07456313, abs=1e-8)
    gaussian = sb.OSSB(RIGHT, reward_range=None, sigma=0.5).cells.allocations
    np.testing.assert_allclose(gaussian[0], [0.0, 10.33057851, 0.0, 3.125], atol=1e-8)
    assert not coins[1:].any()  # the other models have nobody to be confused with


def test_planned_play_is_the_oracles() -> None:
    tapes = [draw_allocation_case(41, index) for index in range(130)]
    met = compare(iter(tapes), model_contests.OSSB, every_pull=False)
    assert_met(met, cases=130, ties=100, long_plans=100)
    structures = [sb.FiniteStructure(case.table) for case in tapes]
    assert sum(bool(sb.OSSB(each).cells.allocations.any()) for each in structures) >= 50


def by_definition(rewards: np.ndarray, horizon: int, epsilon: float, gamma: float) -> list[int]:
    """Without a structure: docs/notes/mathematics.md 2.20, pull by pull."""
    arms = range(len(rewards))
    pulls, sums, explored = [0] * len(rewards), [0.0] * len(rewards), 0
    played: list[int] = []
    for t in range(horizon):
        pulled = [i for i in arms if pulls[i]]
        best = max(pulled, key=lambda i: (sums[i] / pulls[i], -i), default=0)
        tells = dict.fromkeys(arms, 0.0)  # of an arm without pulls nothing is known
        for i in pulled:
            pair = np.array(sums[i] / pulls[i]), np.array(sums[best] / pulls[best])
            tells[i] = math.inf if pair[1] == 1.0 > pair[0] else float(kl_bernoulli(*pair))
        level = (1.0 + gamma) * math.log(t + 1)
        short = [i for i in arms if i != best and pulls[i] * tells[i] < level and t > 0]
        arm = best
        if short:
            explored += 1
            arm = min(arms, key=lambda i: pulls[i])
            if pulls[arm] > epsilon * explored:
                wanting = [i for i in arms if i != best and tells[i] < math.inf]
                arm = min(wanting, key=lambda i: (pulls[i] * tells[i], pulls[i] * (tells[i] == 0)))
        sums[arm] += rewards[arm, pulls[arm]]
        pulls[arm] += 1
        played.append(arm)
    return played


def test_without_a_structure() -> None:
    rng = np.random.default_rng(42)
    shorter = 0
    for number in range(110):
        arms = int(rng.integers(1, 6))
        truth = np.round(rng.random(arms) * 8) / 8  # sometimes 0 or 1, sometimes tied
        epsilon = float(rng.choice([0.0, 0.0, 0.0625, 0.5]))
        gamma = float(rng.choice([0.0, 0.125, 1.0]))
        horizon = int(rng.integers(1, 300))
        rewards = draw_tape(rng, truth, horizon)
        wanted = by_definition(rewards, horizon, epsilon, gamma)
        policy = sb.OSSB(arms, epsilon, gamma)
        for compiled, planning in WAYS:
            assert play(policy, rewards, horizon, compiled, planning).arms == wanted, (
                f"case {number}"
            )
        shorter += play(policy, rewards, horizon, True, True).plans < horizon
    assert shorter >= 60


def test_plans_are_certain_along_hostile_paths() -> None:
    rng = np.random.default_rng(43)
    lengths: dict[bool, list[int]] = {True: [], False: []}
    for number in range(240):
        table = draw_table(rng)
        structured = number % 2 == 0
        subject: Any = sb.FiniteStructure(table) if structured else table.shape[1]
        policy = sb.OSSB(subject, gamma=float(rng.choice([0.0, 0.5])))
        pulls = rng.integers(0, 60, table.shape[1]) * (rng.random(table.shape[1]) < 0.9)
        sums = rng.binomial(pulls, rng.random(table.shape[1]))
        lengths[structured].append(assert_certain(policy, pulls, sums, rng))
    for some in lengths.values():
        assert sum(length > 1 for length in some) >= 20
        assert sum(1 < length < 1000 for length in some) >= 8


def test_another_range_is_the_same_game_in_other_units() -> None:
    rng = np.random.default_rng(44)
    table = RIGHT.cells.table
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        scaled = sb.FiniteStructure(4.0 * table - 1.0)
    policy = sb.OSSB(scaled, reward_range=(-1.0, 3.0))
    np.testing.assert_allclose(
        policy.cells.allocations, sb.OSSB(RIGHT).cells.allocations, atol=1e-6
    )
    rewards = rng.integers(-1, 4, (4, 400)).astype(float)
    plain = play(policy, rewards, 400, compiled=False, planning=False)
    for compiled, planning in WAYS:
        assert play(policy, rewards, 400, compiled, planning).arms == plain.arms
    free = sb.OSSB(3, reward_range=(-1.0, 3.0))
    coins = (rng.random((3, 400)) < [[0.25], [0.5], [0.75]]).astype(float)
    unit = play(sb.OSSB(3), coins, 400, compiled=True, planning=True)
    assert play(free, 4.0 * coins - 1.0, 400, compiled=True, planning=True).arms == unit.arms


def test_unbounded_rewards_are_planned_one_by_one() -> None:
    rewards = np.random.default_rng(45).normal(RIGHT.means(0)[:, None], 0.5, (4, 300))
    for subject in (RIGHT, 4):
        policy = sb.OSSB(subject, reward_range=None, sigma=0.5)
        played = play(policy, rewards, 300, compiled=True, planning=True)
        assert played.plans == 300
        assert played.arms == play(policy, rewards, 300, compiled=False, planning=True).arms


def test_a_model_that_one_outcome_refutes_is_looked_for() -> None:
    """In theory such a model costs nothing; who never looks never finds that it is true."""
    structure = sb.FiniteStructure([[0.5, 0.25], [0.5, 1.0]])
    policy = sb.OSSB(structure)
    assert policy.cells.allocations[0, 1] > 0.0
    rewards = np.vstack([np.arange(300) % 2, np.ones(300)])
    played = play(policy, rewards, 300, compiled=True, planning=True)
    assert played.arms[-200:] == [1] * 200


def test_regret_grows_like_the_lower_bound() -> None:
    """From 10^5 to 10^8 pulls: integers of pulls make the slope swing, over three decades they cancel."""
    constant, checkpoints = 1.07456313, [10**5, 10**8]
    world = sb.Bernoulli(RIGHT.means(0))
    result = sb.simulate(
        {"ossb": sb.OSSB(RIGHT)}, world, 10**8, runs=400, seed=5, checkpoints=checkpoints
    )
    growth = np.diff(result.regret["ossb"], axis=1)[:, 0] / math.log(10**3)
    assert growth.mean() == pytest.approx(constant, rel=0.02)
    assert result.plans["ossb"].mean() < 1000


def test_curves_with_constant_means_are_played_like_the_table() -> None:
    rng = np.random.default_rng(46)
    for exact in (False, True):
        rewards = draw_tape(rng, RIGHT.means(0), 250)
        curves = sb.OSSB(figure1_right_as_curves(), exact=exact)
        played = play(curves, rewards, 250, compiled=False, planning=True)
        assert played.arms == play(sb.OSSB(RIGHT), rewards, 250, compiled=True, planning=True).arms


def test_an_estimate_without_structure_wants_what_lai_and_robbins_say() -> None:
    policy = sb.OSSB(sb.unstructured(3), exact=True)
    state = policy.init()
    data = Data(np.array([40, 40, 40]), np.array([10.0, 30.0, 20.0]))
    assert policy.cells.consult(data, 120, state.allocation, policy.cells.guide_work()) == 1
    best = 1.0 / kl_bernoulli(np.array([0.25, 0.5]), np.array([0.75, 0.75]))
    np.testing.assert_allclose(state.allocation.wanted, [best[0], 0.0, best[1]], rtol=1e-6)


def test_allocations_are_solved_when_the_estimate_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[int] = []
    solve = solved_guide.SolvedGuide._solve
    monkeypatch.setattr(
        solved_guide.SolvedGuide,
        "_solve",
        lambda self, means, t, allocation: (times.append(t), solve(self, means, t, allocation))[1],
    )
    structure = figure1_left()
    rewards = draw_tape(np.random.default_rng(47), structure.means(0.1), 140)
    play(sb.OSSB(structure), rewards, 140, compiled=False, planning=True)
    assert {0, 1, 2, 4, 8, 16, 32, 64, 128} <= set(times)
    seldom = len(times)
    times.clear()
    play(sb.OSSB(structure, exact=True), rewards, 140, compiled=False, planning=True)
    assert times == list(range(140))
    assert seldom < 140


@pytest.mark.parametrize("subject", [RIGHT, 3], ids=["table", "arms"])
def test_the_checks_that_the_library_ships(subject: Any) -> None:
    sb.testing.check_policy(sb.OSSB(subject, epsilon=0.125, gamma=0.25))


def test_the_checks_on_curves_and_polytopes() -> None:
    sb.testing.check_policy(sb.OSSB(figure1_left()), compiled=False)


def test_errors() -> None:
    with pytest.raises(sb.ParameterError, match="epsilon=-1: expected a finite number >= 0"):
        sb.OSSB(3, epsilon=-1)
    with pytest.raises(sb.ParameterError, match="gamma='x': expected a finite number >= 0"):
        sb.OSSB(3, gamma="x")  # type: ignore[arg-type]
    with pytest.raises(sb.ParameterError, match="exact=1: accepted are True and False"):
        sb.OSSB(3, exact=1)  # type: ignore[arg-type]
    with pytest.raises(sb.ParameterError, match=r"model 'model 3' has a mean of 0.88"):
        sb.OSSB(RIGHT, reward_range=(0.0, 0.86))
    with pytest.raises(sb.ParameterError, match="give a range that holds all means"):
        sb.OSSB(figure1_left(), reward_range=(0.0, 0.5))
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        wide = sb.CurveStructure([sb.Piece(0, 1, [0.5, 0.25], [1.5, 0.25])])
    with pytest.raises(sb.ParameterError, match=r"has means from 0.25 to 1.5"):
        sb.OSSB(wide)


STEEP = np.linspace(0.9, 0.3, 10)
FEATURES = np.random.default_rng(0).normal(size=(10, 3))
UNSOLVED = {  # structures on which "a quadratic program … was not solved" came, and their like
    "unimodal": (lambda: sb.unimodal(15), 0.8 - 0.04 * np.abs(np.arange(15) - 7), (0.0, 1.0)),
    "lipschitz": (lambda: sb.lipschitz(np.linspace(0, 1, 10), 1.0), STEEP, (0.0, 1.0)),
    "concave": (lambda: sb.concave(np.linspace(0, 1, 8)), STEEP[:8], (0.0, 1.0)),
    "linear": (
        lambda: sb.linear(FEATURES / 9, bounds=(-1, 1)),
        FEATURES @ [0.5, -0.3, 0.2] / 9,
        (-1.0, 1.0),
    ),
    "prices": (
        lambda: sb.scaled(sb.monotone(10, decreasing=True), np.linspace(1, 2, 10)),
        np.linspace(1, 2, 10) * STEEP,
        (0.0, 2.0),
    ),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", UNSOLVED)
def test_no_program_that_is_hard_to_solve_ends_play(kind: str, seed: int) -> None:
    """Found in use: on the tent of 15 unimodal arms a program was not solved within 60 pulls."""
    make, means, (low, high) = UNSOLVED[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
        agent = sb.Agent(sb.OSSB(make(), reward_range=(low, high)), seed=seed)
    world = np.random.default_rng([seed, 1])
    for _ in range(70):
        decision = agent.ask()
        share = (means[decision.arm] - low) / (high - low)
        agent.tell(decision.id, high if world.random() < share else low)
    assert agent.rewards == 70


def test_the_least_change_of_unimodal_arms_is_a_model_of_the_region() -> None:
    """Arms between the best one and the confusing one must rise with it: no program is needed."""
    structure = sb.unimodal(6)
    truth = truth_of(structure, [0.2, 0.6, 0.5, 0.3, 0.2, 0.1])
    for arm in (3, 5):
        (region,) = truth.distances.confusing(arm, 1).regions
        change = region.smallest_change()
        expected = [0.2, 0.6, *[0.6] * (arm - 1), *[0.2, 0.1][arm - 3 :]]
        assert change == pytest.approx(expected)
        information = Information(truth.means, 1, "bernoulli", 0.5)
        rng = np.random.default_rng(arm)
        for _ in range(20):  # no allocation finds a weaker model, by quadratic programs
            allocation = rng.random(6)
            weakest = RegionSet(information, region, lambda region, x: 0).weakest(allocation)
            refuted = [allocation @ information.of(means) for means in (weakest, change)]
            assert refuted[1] <= refuted[0] + 1e-9


@pytest.mark.parametrize("structure", [3, sb.unimodal(4)])
def test_an_agent_loads_its_snapshot_however_many_plans_were_never_pulled(structure: Any) -> None:
    """Found by attack: each park and unpark plans anew, and a plan to explore counts."""
    policy = sb.OSSB(structure)
    agent = sb.Agent(policy)
    agent.tell(agent.ask().id, 0.0)
    for _ in range(6):
        agent.park(1)
        agent.unpark(1)
        agent.cancel(agent.ask().id)
    restored = sb.Agent.from_json(agent.to_json(), policy)
    assert restored.to_json() == agent.to_json()
