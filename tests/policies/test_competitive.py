"""UCB-C, KL-UCB-C and TS-C play what their definitions say, planned or not, compiled or not."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from oracles import kl_sets
from scipy.optimize import linprog
from support import set_contests
from support.exactness import assert_met, cases, compare, difference
from support.play import play
from support.taped_contests import tsc
from support.twins import as_polytopes

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right, random_structure

KINDS = ["finite", "curves"]


# What is slow to compile and left out here is played by `make soak`: KL intervals and KL-UCB-C on curves.
@pytest.mark.parametrize(
    ("kind", "confidence"), [("finite", "hoeffding"), ("finite", "kl"), ("curves", "hoeffding")]
)
def test_ucbc(kind: str, confidence: str) -> None:
    contest = set_contests.ucbc(confidence)
    met = compare(cases(61, kind, small=55, full=0), contest, every_pull=False)
    assert_met(met, cases=55, ties=50, empty=400, reentries=40, long_plans=25)


def test_klucbc() -> None:
    met = compare(cases(62, "finite", small=110, full=0), set_contests.KLUCBC, every_pull=False)
    assert_met(met, cases=110, ties=100, empty=800, reentries=80, long_plans=50)


def test_gaussian_rewards() -> None:
    """Without bounds nothing is planned; the oracle's rewards are coins, which is one way to be Gaussian."""
    for case in cases(63, "finite", small=40, full=0):
        game = case.oracle, case.rewards.tolist(), case.horizon
        family = {"alpha": case.alpha, "reward_range": None, "sigma": 0.25}
        for policy, trace in (
            (sb.UCBC(case.structure, **family), kl_sets.ucbc(*game, case.alpha, sigma=0.25)),
            (sb.KLUCBC(case.structure, **family), kl_sets.klucbc(*game, case.alpha, sigma=0.25)),
        ):
            played = play(policy, case.rewards, case.horizon, compiled=False, planning=True)
            assert difference(played, trace) == ""
            assert played.plans == case.horizon


@pytest.mark.parametrize("kind", KINDS)
def test_tsc_on_tapes_of_uniforms(kind: str) -> None:
    met: Counter[str] = Counter()
    for number, case in enumerate(cases(64, kind, small=60, full=0)):
        met += tsc(case, 64, number)
    assert met["near_ties_broken"] == 0
    assert_met(met, cases=60, empty=400, reentries=40, planned_ahead=10)


def test_tsc_compiled_draws_what_python_draws() -> None:
    for number, case in enumerate(cases(65, "finite", small=30, full=0)):
        policy = sb.TSC(case.structure, case.alpha)
        compiled = play(policy, case.rewards, case.horizon, True, True, seed=number)
        assert compiled == play(policy, case.rewards, case.horizon, False, True, seed=number)
        single = play(policy, case.rewards, case.horizon, True, False, seed=number)
        assert (single.arms, single.empty) == (compiled.arms, compiled.empty)


@pytest.mark.parametrize("seed", range(2))
def test_long_plans_play_what_single_pulls_play(seed: int) -> None:
    rng, horizon = np.random.default_rng(seed), 20_000
    few, many = figure1_right(), random_structure(rng, clip=True)
    for structure, truth in ((few, seed), many):
        means = structure.means(truth)[:, None]
        rewards = (rng.random((structure.n_arms, horizon)) < means).astype(float)
        for policy in made(structure, 1.0):
            planned = play(policy, rewards, horizon, compiled=True, planning=True)
            single = play(policy, rewards, horizon, compiled=True, planning=False)
            assert (planned.arms, planned.empty) == (single.arms, single.empty)
            if structure is few and not policy.randomised:
                assert planned.plans < 0.1 * horizon


# ------------------------------------------------------------------- other kinds of structures


def made(structure: Any, alpha: float, **rewards: Any) -> list[Any]:
    """All three policies, UCB-C with both kinds of intervals."""
    return [
        sb.UCBC(structure, alpha, **rewards),
        sb.UCBC(structure, alpha, confidence="kl", **rewards),
        sb.KLUCBC(structure, alpha, **rewards),
        sb.TSC(structure, alpha, **rewards),
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_polytopes_play_like_tables_and_curves(kind: str) -> None:
    """With an alpha at which no model is exactly on the border: programs have a tolerance there."""
    long_plans = 0
    for case in cases(66, kind, small=15, full=0):
        horizon, alpha = min(case.horizon, 120), 1.1 * case.alpha
        twins = made(as_polytopes(case.structure), alpha)
        for policy, twin in zip(made(case.structure, alpha), twins, strict=True):
            exact = play(policy, case.rewards, horizon, compiled=False, planning=True)
            planned = play(twin, case.rewards, horizon, compiled=False, planning=True)
            single = play(twin, case.rewards, horizon, compiled=False, planning=False)
            assert exact.arms == planned.arms == single.arms
            assert exact.empty == planned.empty == single.empty
            long_plans += planned.plans < single.plans
    assert long_plans > 5


def can_be_best(arm: int, low: np.ndarray, high: np.ndarray) -> bool:
    """Is there a model in the open box whose means rise up to `arm` and fall behind it?

    By a linear program: the largest room to the ends of the box and before the other arms.
    """
    arms = len(low)
    unit = np.eye(arms)
    rows, limits = [], []
    for i in range(arms):
        rows += [[*unit[i], 1.0], [*-unit[i], 1.0]]
        limits += [min(high[i], 9.0), -max(low[i], -9.0)]
        if i != arm:
            nearer = i + 1 if i < arm else i - 1
            rows += [[*(unit[i] - unit[nearer]), 0.0], [*(unit[i] - unit[arm]), 1.0]]
            limits += [0.0, 0.0]
    bounds = [(0.0, 1.0)] * arms + [(None, 1.0)]
    found = linprog([0.0] * arms + [-1.0], A_ub=rows, b_ub=limits, bounds=bounds)
    return bool(-found.fun > 1e-9)


def unimodal_play(rewards: np.ndarray, alpha: float) -> list[int]:
    """UCB-C, pull by pull, with a linear program for each arm."""
    arms, horizon = rewards.shape
    pulls, sums, played = np.zeros(arms, int), np.zeros(arms), []
    for t in range(horizon):
        count = np.maximum(pulls, 1)
        radius = np.where(pulls > 0, np.sqrt(alpha * math.log(t + 1) / count), np.inf)
        low, high = sums / count - radius, sums / count + radius
        able = [i for i in range(arms) if can_be_best(i, low, high)]
        arm = max(able or range(arms), key=lambda i: (high[i], -i))
        sums[arm] += rewards[arm, pulls[arm]]
        pulls[arm] += 1
        played.append(int(arm))
    return played


def test_unimodal_arms_against_brute_force() -> None:
    """If the first arm is better than the second, the others are out, however little is known of them."""
    rng, horizon = np.random.default_rng(67), 120
    structure = sb.unimodal(4)
    unlike_ucb = 0
    for alpha in (0.055, 0.055, 0.11, 0.55):
        truth = np.array([[0.9], [0.4], [0.3], [0.3]])
        rewards = (rng.random((4, horizon)) < truth).astype(float)
        expected = unimodal_play(rewards, alpha)
        for each in (structure, as_polytopes(structure)):
            assert play(sb.UCBC(each, alpha), rewards, horizon, False, True).arms == expected
        unlike_ucb += expected != play(sb.UCB(4, alpha), rewards, horizon, False, True).arms
    assert unlike_ucb > 0


def test_polytopes_that_are_no_tables_plan_what_they_play() -> None:
    rng = np.random.default_rng(68)
    ahead = 0
    pair = sb.FiniteStructure([[0.2, 0.7], [0.6, 0.3]])
    for structure in (
        sb.unimodal(4),
        as_polytopes(sb.lipschitz([[0.0], [0.3], [1.0]], 0.5)),
        sb.product([pair, sb.unstructured(2)]),
    ):
        for alpha in (0.055, 0.3):
            truth = rng.random((structure.n_arms, 1))
            rewards = (rng.random((structure.n_arms, 150)) < truth).astype(float)
            for policy in made(structure, alpha):
                single = play(policy, rewards, 150, compiled=False, planning=False)
                planned = play(policy, rewards, 150, compiled=False, planning=True)
                assert (planned.arms, planned.empty) == (single.arms, single.empty)
                ahead += planned.plans < 150
    assert ahead > 3


# ----------------------------------------------------------------------------------- as a policy

SHOP = sb.FiniteStructure(
    [[0.30, 0.25, 0.05], [0.10, 0.35, 0.05], [0.30, 0.20, 0.45]], arms=["tea", "coffee", "juice"]
)


@pytest.mark.parametrize("place", range(4))
def test_what_is_asked_of_every_policy(place: int) -> None:
    sb.testing.check_policy(made(SHOP, 0.3)[place], long_pulls=1500)


@pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
def test_other_ranges_play_like_the_unit_interval() -> None:
    """With an alpha at which no model is exactly on the border, where rounding decides."""
    for case in cases(69, "finite", small=25, full=0):
        alpha, wide = 1.1 * case.alpha, sb.FiniteStructure(4.0 * case.structure.cells.table - 1.0)
        for policy, other in zip(
            made(case.structure, alpha), made(wide, alpha, reward_range=(-1.0, 3.0)), strict=True
        ):
            one = play(policy, case.rewards, case.horizon, compiled=False, planning=True)
            two = play(other, 4.0 * case.rewards - 1.0, case.horizon, compiled=False, planning=True)
            assert (one.arms, one.empty) == (two.arms, two.empty)


@pytest.mark.parametrize("kind", [sb.UCBC, sb.KLUCBC, sb.TSC])
def test_active_arms_are_those_of_models_that_fit(kind: Any) -> None:
    agent = sb.Agent(kind(SHOP, 0.5))
    assert agent.active_arms == (0, 1, 2)
    agent.learn([60, 60, 0], [18.0, 15.0, 0.0])
    assert agent.active_arms == (0, 2)  # coffee cannot be best: tea pays too much for that
    agent.learn([600, 600, 600], [600.0, 600.0, 600.0])
    assert agent.active_arms == (0, 1, 2)  # nothing fits


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.UCBC(3), "structure=3: expected a structure"),
        (lambda: sb.UCBC(SHOP, alpha=0.0), "alpha=0.0"),
        (lambda: sb.UCBC(SHOP, confidence="KL"), "confidence='KL': accepted are"),
        (lambda: sb.KLUCBC(SHOP, c=-1.0), "c=-1.0"),
        (lambda: sb.TSC(SHOP, prior=(1.0, 0.0)), r"prior\[1\]=0.0"),
        (lambda: sb.TSC(SHOP, prior=3.0), "prior=3.0: expected two numbers"),
        (lambda: sb.TSC(SHOP, reward_range=None), "sigma=None"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        make()
