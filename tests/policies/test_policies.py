"""Policies: the paper's tables, who is pulled when, and what a policy is as an object."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from mpmath import ceil as high_ceil
from mpmath import mp, mpf
from support.play import play

import structured_bandits as sb
from structured_bandits.base.confidence import width_budget
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right
from structured_bandits.policies.asae import period_length
from structured_bandits.policies.phases import phase_target

R = figure1_right()
L = figure1_left()


def all_policies(horizon: int = 100) -> dict[str, Any]:
    return {
        "UCB": sb.UCB(L),
        "ImprovedUCB": sb.ImprovedUCB(L, horizon),
        "SUCB": sb.SUCB.paper(L),
        "SAE": sb.SAE.paper(L, horizon),
        "ASAE": sb.ASAE.paper(L),
        "WAGP": sb.WAGP(L),
        "GreedyMLE": sb.GreedyMLE(L),
    }


def test_phase_tables_of_the_specification() -> None:
    for n, table in {10_000: [74, 295, 1179, 4716], 500_000: [105, 420, 1680, 6719]}.items():
        budget = width_budget(2.0, 0.5, math.log(n))
        assert [phase_target(budget, 1.0, 1.0, h) for h in range(4)] == table


def test_phases_of_sae_as_played() -> None:
    """On R every active arm is pulled up to the table's numbers, and no other."""
    result = sb.simulate(sb.SAE.paper(R, 500_000), sb.Bernoulli(R.means(0)), 500_000, runs=200)
    for arm in (1, 2, 3):
        assert set(result.pulls["SAE"][:, arm]) <= {105, 420, 1680, 6719}


def test_phase_target_with_beta_and_with_a_horizon_of_one() -> None:
    assert phase_target(width_budget(9.0, 0.5, math.log(100)), 3.0, 1.0, 0) == math.ceil(
        16 * math.log(100)
    )
    assert [phase_target(0.0, 1.0, 1.0, h) for h in range(3)] == [1, 4, 16]
    assert phase_target(10.0, 1.0, 1.0, 200) == 2**52


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.5, 1.0, 2.0])
def test_periods_of_asae(eta: float) -> None:
    """Period k is ceil(2^((1 + eta)^k)), in high precision with the decimal eta."""
    mp.dps = 60
    exponent, k = 1.0, 0
    while period_length(exponent) < 10**9:
        exact = mpf(2) ** ((1 + mpf(str(eta))) ** k)
        assert period_length(exponent) == int(high_ceil(exact)), k
        exponent *= 1 + eta
        k += 1
    assert k > 2


def test_periods_at_eta_one_double_the_exponent() -> None:
    assert [period_length(2.0**k) for k in range(6)] == [2, 4, 16, 256, 65536, 2**32]
    assert period_length(64.0) == 2**52  # more than anybody plays


def test_asae_as_played_restarts_phases_with_each_period() -> None:
    """With one arm the pulls of each plan are the phases: p_h with log n_k, cut at the period's end."""
    one = sb.FiniteStructure([[0.5]])
    policy = sb.ASAE.paper(one, eta=1.0)
    state, quota = policy.init(), np.zeros(1, np.int64)
    rng = np.random.default_rng(0)
    played, t = [], 0
    while t < 2 + 4 + 16 + 256:
        policy.plan(state, sb.Now(t, 10**6), quota, rng)
        policy.observe(state, sb.Seen(quota, quota / 2, quota / 4))
        played.append(int(quota[0]))
        t += played[-1]
    phase = lambda k, h: math.ceil(8 * 2**k * math.log(2) * 4**h)  # noqa: E731
    assert played[:2] == [2, 4]
    assert played[2:4] == [16, phase(3, 0)]
    assert played[4] == phase(3, 1) - phase(3, 0)
    assert sum(played[3:]) == 256


def test_arms_that_are_never_best_are_never_pulled() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        table = rng.random((4, 6))
        structure = sb.FiniteStructure(table)
        out = [arm for arm in range(6) if arm not in structure.best_arms]
        world = sb.Bernoulli(rng.random(6))  # outside the structure: empty sets must not help
        policies = {
            "SUCB": sb.SUCB.paper(structure, alpha=0.1),
            "SAE": sb.SAE.paper(structure, 2000, alpha=0.1),
            "ASAE": sb.ASAE.paper(structure, alpha=0.1),
            "GreedyMLE": sb.GreedyMLE(structure),
        }
        result = sb.simulate(policies, world, 2000, runs=2, workers=1)
        for name in policies:
            assert not result.pulls[name][:, out].any()


def test_an_inactive_arm_is_never_pulled_again() -> None:
    """SAE: once an arm sits out a round in which others are played twice, it is gone."""
    result = sb.simulate(
        sb.SAE.paper(R, 20_000), sb.Bernoulli(R.means(0)), 20_000, runs=20, record_arms=True
    )
    for arms in result.arms["SAE"]:
        last = {arm: np.flatnonzero(arms == arm) for arm in range(4)}
        for arm in range(4):
            turns = last[arm]
            # between two pulls of an arm no other arm is pulled twice
            for before, after in pairwise(turns):
                between = arms[before + 1 : after]
                assert len(set(between)) == len(between)


def test_sucb_never_looks_at_arm_two_of_the_left_structure() -> None:
    """SUCB never pulls the arm that differs: equal seeds give equal play on L and L'."""
    world = sb.Bernoulli(L.means(0.1))
    plays = [
        sb.simulate(sb.SUCB.paper(structure), world, 10_000, runs=20, record_arms=True).arms["SUCB"]
        for structure in (L, figure1_left(informative=False))
    ]
    assert (plays[0] == plays[1]).all()
    assert not (plays[0] == 1).any()


@pytest.mark.parametrize("name", all_policies())
@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_horizon_of_one_works(name: str, engine: str) -> None:
    policy = all_policies(horizon=1)[name]
    result = sb.simulate(policy, sb.Bernoulli(L.means(0.1)), 1, runs=3, engine=engine)
    assert (result.pulls[name].sum(axis=1) == 1).all()


def test_sae_beyond_its_horizon_goes_on() -> None:
    for n in (1, 50):
        with pytest.warns(sb.HorizonWarning, match="is tuned for horizon"):
            result = sb.simulate(sb.SAE.paper(R, n), sb.Bernoulli(R.means(0)), 1000, runs=5)
        assert (result.pulls["SAE"].sum(axis=1) == 1000).all()


def test_a_wrong_structure_shows_in_the_empty_sets() -> None:
    world = sb.Bernoulli([0.3, 0.3, 0.3, 0.3])
    policies = {"SUCB": sb.SUCB.paper(R), "SAE": sb.SAE.paper(R, 20_000), "ASAE": sb.ASAE.paper(R)}
    wrong = sb.simulate(policies, world, 20_000, runs=10)
    right = sb.simulate(policies, sb.Bernoulli(R.means(0)), 20_000, runs=10)
    for name in policies:
        assert (wrong.empty[name] > 0).all()
        assert (right.empty[name] == 0).all()


def test_unbounded_rewards_are_played_pull_by_pull() -> None:
    world = sb.Gaussian(R.means(0), sigma=0.5)
    policies = {
        "UCB": sb.UCB(R, reward_range=None, sigma=0.5),
        "SUCB": sb.SUCB.paper(R, reward_range=None, sigma=0.5),
    }
    result = sb.simulate(policies, world, 300, runs=4)
    assert all((result.plans[name] == 300).all() for name in policies)
    bounded = sb.simulate(
        {"UCB": sb.UCB(R), "SUCB": sb.SUCB.paper(R)}, sb.Bernoulli(R.means(0)), 3000
    )
    assert all((bounded.plans[name] < 3000).all() for name in policies)


def test_a_change_of_units_changes_nothing() -> None:
    """Rewards and structure shifted and scaled by powers of two: the same arms, planned or not."""
    rng = np.random.default_rng(8)
    table = rng.integers(0, 17, (6, 4)) / 16
    rewards = (rng.random((4, 3000)) < table[2][:, None]).astype(float)
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        scaled = sb.FiniteStructure(4 * table - 2)
    makers: list[Callable[..., Any]] = [
        sb.UCB,
        sb.SUCB,
        sb.ASAE,
        sb.GreedyMLE,
        lambda structure, **rewards: sb.SAE.paper(structure, 3000, **rewards),
        lambda structure, **rewards: sb.ImprovedUCB(structure, 3000, **rewards),
    ]
    for make in makers:
        base = sb.simulate(
            make(sb.FiniteStructure(table)), sb.Tape(rewards), 3000, runs=1, record_arms=True
        )
        for planning in (True, False):
            moved = sb.simulate(
                make(scaled, reward_range=(-2, 2)),
                sb.Tape(4 * rewards - 2),
                3000,
                runs=1,
                record_arms=True,
                planning=planning,
            )
            for one, other in zip(base.arms.values(), moved.arms.values(), strict=True):
                assert (one == other).all()


@pytest.mark.parametrize(
    "policy",
    [
        sb.SAE.paper(R, 100, alpha=1e12),
        sb.SAE.paper(R, 100, sigma=1e5),
        sb.SAE.paper(R, 100, sigma=1e-90, reward_range=(0, 1e30)),
        sb.SAE.paper(R, 10_000, reward_range=None, sigma=1e5),
        sb.ASAE.paper(R, eta=1e6),
        sb.ASAE.paper(R, reward_range=None, sigma=1e6),
        sb.ImprovedUCB(R, 100, sigma=1e5),
        sb.UCB(R, alpha=1e100),
        sb.SUCB.paper(R, alpha=1e100),
    ],
    ids=repr,
)
def test_extreme_parameters_never_hang(policy: Any) -> None:
    """Found in review: targets beyond 64 bits made phases endless."""
    agent = sb.Agent(policy)
    for _ in range(60):
        agent.tell(agent.ask().id, 0.5)
    assert agent.pulls.sum() == 60
    rewards = np.ones((4, 40))
    plays = []
    for planning in (True, False):
        plays.append(play(policy, rewards, 40, compiled=True, planning=planning).arms)
    assert plays[0] == plays[1]


def test_ties_of_sucb_on_curves_do_not_chain() -> None:
    """Found in review: values a little less than a tie apart added up to an unsound plan."""
    step, top = 9e-12, 0.9
    rows = [
        [top - 2.1 * step, top - 3 * step, 0.125],
        [0.1, top - 1.4 * step, 0.525],
        [0.1, top - 0.6 * step, 0.125],
        [0.1, top, 0.125],
    ]
    structure = sb.CurveStructure([sb.Piece(i, i + 1, row, row) for i, row in enumerate(rows)])
    policy = sb.SUCB.paper(structure)
    state, quota = policy.init(), np.zeros(3, np.int64)
    rng = np.random.default_rng(0)
    sums = np.array([0.0, 360.0, 9.75])
    policy.observe(state, sb.Seen(np.array([0, 400, 78]), sums, sums))
    policy.plan(state, sb.Now(478, 10**6), quota, rng)
    arm, length = int(quota.argmax()), int(quota.sum())
    for t in range(478, 478 + length):
        policy.plan(state, sb.Now(t, 1), quota, rng)
        assert int(quota.argmax()) == arm
        policy.observe(state, sb.Seen(quota, 0.875 * quota, 0.765625 * quota))


def test_replacing_a_parameter_keeps_the_structure() -> None:
    changed = sb.SAE.paper(R, 100)._replace(alpha=3.0)
    assert changed == sb.SAE.paper(R, 100, alpha=3.0)
    assert changed.structure == R


def test_readings() -> None:
    assert sb.READINGS["theory"] == ("recompute", "length", "period", "truncate")
    assert sb.READINGS["figures"] == ("recompute", "time", "period", "finish_phase")
    assert sb.READINGS["pseudocode"] == ("carry", "length", "total", "truncate")
    for name, reading in sb.READINGS.items():
        assert sb.ASAE.paper(R, reading=name).reading == reading
        assert sb.ASAE.paper(R, reading=reading) == sb.ASAE.paper(R, reading=name)


@pytest.mark.parametrize("name", all_policies())
def test_a_policy_is_a_value(name: str) -> None:
    policy, same = all_policies()[name], all_policies()[name]
    assert policy == same
    assert hash(policy) == hash(same)
    assert policy != sb.UCB(4, alpha=3.0)
    copy = pickle.loads(pickle.dumps(policy))
    assert copy == policy
    assert copy.structure == policy.structure
    assert repr(copy) == repr(policy)
    assert name in repr(policy)


def test_integer_parameters_compile_as_floats() -> None:
    _, *numbers = sb.UCB(3, alpha=2)  # but the kind of intervals
    assert [type(x) for x in numbers] == [int, float, float, float, float]
    assert sb.SAE.paper(R, 1e4) == sb.SAE.paper(R, 10_000)


def test_widths_are_said() -> None:
    assert sb.SUCB.paper(R).width() == "sqrt(2 log t / T)"
    assert sb.SAE.paper(R, 100, alpha=1.5).width() == "sqrt(1.5 log n / T)"
    assert sb.ASAE.paper(R).width() == "sqrt(2 log n_k / T)"
    assert sb.UCB(R, reward_range=None, sigma=1.0).width() == "sqrt(8 log t / T)"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: sb.SAE.paper(R, 100, alpha=3e17),
            "alpha=3e+17: the first phase would take 2**52 pulls",
        ),
        (
            lambda: sb.SAE.paper(R, 100, sigma=1e10),
            "sigma=1e+10, alpha=2: the first phase would take",
        ),
        (
            lambda: sb.SAE.paper(R, 10_000, reward_range=None, sigma=1e8),
            "sigma=1e+08, alpha=2: the first",
        ),
        (
            lambda: sb.ASAE.paper(R, reward_range=None, sigma=1e9),
            "sigma=1e+09, alpha=2: the first phase",
        ),
        (lambda: sb.ASAE.paper(R, eta=1e19), "eta=1e+19: expected 1e-06 to 1e+06"),
        (
            lambda: sb.ImprovedUCB(R, 100, sigma=1e10),
            "sigma=1e+10: the first round would take 2**52",
        ),
        (lambda: sb.UCB(R, sigma=1e170), "sigma=1e+170: expected 1e-100 to 1e+100"),
        (lambda: sb.SUCB.paper(R, sigma=1e-170), "sigma=1e-170: expected 1e-100 to 1e+100"),
        (lambda: sb.SAE.paper(R, 100, sigma=1e-170), "sigma=1e-170: expected 1e-100 to 1e+100"),
        (lambda: sb.UCB(R, reward_range=(0, 1e-200)), "reward_range=(0, 1e-200): expected ends"),
        (lambda: sb.UCB(R, alpha=1e200), "alpha=1e+200: expected 1e-100 to 1e+100"),
    ],
)
def test_parameters_beyond_what_can_be_counted_are_named(build: Any, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=re.escape(message)):
        build()
