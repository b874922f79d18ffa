"""KL boxes: what they promise, that they are played exactly, and what they are worth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support import set_contests
from support.exactness import assert_met, cases, compare
from support.play import play
from support.twins import as_polytopes

import structured_bandits as sb
from structured_bandits.base.intervals import Hoeffding, KLIntervals

SHOP = np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3)


def random_data(rng: np.random.Generator) -> tuple[int, float, float]:
    """Pulls, a sum of rewards in [0, 1] and a budget, from tiny to huge."""
    pulls = int(10 ** rng.uniform(0.0, 8.0))
    mean = float(rng.choice([0.0, 1.0, rng.random(), 10 ** rng.uniform(-8.0, 0.0)]))
    return pulls, pulls * mean, float(10 ** rng.uniform(-6.0, 2.5))


def test_kl_boxes_are_inside_those_of_hoeffding_to_the_last_bit() -> None:
    rng = np.random.default_rng(1)
    shorter = 0
    for _ in range(100_000):
        pulls, total, budget = random_data(rng)
        low, high = KLIntervals(budget, 0.0, 1.0).interval(pulls, total)
        widest = Hoeffding(budget).interval(pulls, total)
        assert widest[0] <= low <= total / pulls <= high <= widest[1]
        shorter += high - low < 0.9 * (widest[1] - widest[0])
    assert shorter > 50_000


def test_a_scaled_range_gives_the_scaled_interval() -> None:
    rng = np.random.default_rng(2)
    for _ in range(2_000):
        pulls, total, budget = random_data(rng)
        low, high = KLIntervals(budget, 0.0, 1.0).interval(pulls, total)
        scaled = KLIntervals(16.0 * budget, -1.0, 4.0).interval(pulls, 4.0 * total - pulls)
        assert scaled == pytest.approx((4.0 * low - 1.0, 4.0 * high - 1.0), abs=1e-12)


def test_the_ends_of_the_range_fit_until_a_reward_contradicts_them() -> None:
    level = KLIntervals(0.5, 0.0, 1.0)
    low, high = level.interval(3, 0.0)  # nothing but zeros
    assert low < 0.0 < high < 1.0
    assert low > -1e-7  # but nothing below
    low, high = level.interval(3, 3.0)
    assert 0.0 < low < 1.0 < high
    assert high < 1.0 + 1e-7
    for ones in (1.0, 2.0):
        low, high = level.interval(3, ones)
        assert low > 0.0
        assert high < 1.0


@pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
def test_a_model_outside_the_range_fits_while_its_arm_was_not_pulled() -> None:
    structure = sb.FiniteStructure([[0.5, 1.25], [0.5, 0.25]])
    agent = sb.Agent(sb.SUCB.paper(structure, confidence="kl"))
    assert agent.active_arms == (0, 1)
    decision = agent.ask()
    assert decision.arm == 1
    agent.tell(decision.id, 1.0)
    assert agent.active_arms == (0,)


LAWS = {
    "coins": lambda rng, shape, q: rng.random(shape) < q,
    "uniform": lambda rng, shape, q: 2.0 * q * rng.random(shape),  # q up to 1/2
    "two points": lambda rng, shape, q: np.where(rng.random(shape) < 0.5, q / 2.0, 1.5 * q),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mean", [0.02, 0.3, 0.5])
def test_the_true_mean_is_missed_no_more_often_than_chernoff_allows(law: str, mean: float) -> None:
    """A side fails with probability at most exp(-2 alpha log c), here 5 %."""
    rng, runs = np.random.default_rng(3), 4_000
    budget = -math.log(0.05) / 2.0
    for pulls in (1, 5, 40, 300):
        sums = LAWS[law](rng, (runs, pulls), mean).astype(float).sum(axis=1)
        ends = [KLIntervals(budget, 0.0, 1.0).interval(pulls, float(total)) for total in sums]
        below = sum(mean <= low for low, _ in ends)
        above = sum(mean >= high for _, high in ends)
        most = 0.05 * runs + 4.0 * math.sqrt(0.05 * 0.95 * runs)
        assert below <= most
        assert above <= most


def test_ucb() -> None:
    met = compare(cases(51, "finite", small=100, full=1), set_contests.UCB_KL, every_pull=False)
    assert_met(met, cases=101, full_size=1, ties=200)


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_sucb(kind: str) -> None:
    met = compare(cases(52, kind, small=60, full=1), set_contests.SUCB_KL, every_pull=False)
    assert_met(met, cases=61, full_size=1, ties=80, empty=400, long_plans=25, cut_plans=10)


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_sae_and_asae(kind: str) -> None:
    met = compare(cases(53, kind, small=60, full=1), set_contests.SAE_KL, every_pull=False)
    met += compare(cases(54, kind, small=60, full=1), set_contests.ASAE_KL, every_pull=False)
    assert_met(met, cases=122, full_size=2, empty=40, long_plans=90)


@pytest.mark.parametrize("kind", ["finite", "curves"])
def test_polytopes_play_like_tables_and_curves(kind: str) -> None:
    """With an alpha at which no model is exactly on the border: programs have a tolerance there."""
    long_plans = 0
    for case in cases(55, kind, small=30, full=0):
        horizon, alpha = min(case.horizon, 150), 1.1 * case.alpha
        for make in (
            lambda s, a=alpha: sb.SUCB(s, a, confidence="kl"),
            lambda s, a=alpha, n=horizon, b=case.beta: sb.SAE(s, n, a, b, confidence="kl"),
        ):
            twin = make(as_polytopes(case.structure))
            exact = play(make(case.structure), case.rewards, horizon, compiled=True, planning=True)
            planned = play(twin, case.rewards, horizon, compiled=False, planning=True)
            single = play(twin, case.rewards, horizon, compiled=False, planning=False)
            assert exact.arms == planned.arms == single.arms
            long_plans += planned.plans < single.plans
    assert long_plans > 5


def test_polytopes_that_are_no_tables_plan_what_they_play() -> None:
    rng = np.random.default_rng(4)
    planned_ahead = 0
    for structure in (sb.unimodal(4), sb.lipschitz([[0.0], [0.3], [1.0]], 0.5), sb.unstructured(3)):
        for _ in range(6):
            policy = sb.SUCB(structure, alpha=float(rng.choice([0.1, 0.5])), confidence="kl")
            truth = rng.random((structure.n_arms, 1))
            rewards = (rng.random((structure.n_arms, 150)) < truth).astype(float)
            single = play(policy, rewards, 150, compiled=False, planning=False)
            planned = play(policy, rewards, 150, compiled=False, planning=True)
            assert planned.arms == single.arms
            planned_ahead += planned.plans < 150
    assert planned_ahead > 6


@pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
def test_other_ranges_play_like_the_unit_interval() -> None:
    for case in cases(56, "finite", small=40, full=0):
        table = case.structure.cells.table
        wide = sb.FiniteStructure(4.0 * table - 1.0)
        policy = sb.SUCB.paper(case.structure, alpha=case.alpha, confidence="kl")
        other = sb.SUCB.paper(wide, alpha=case.alpha, reward_range=(-1.0, 3.0), confidence="kl")
        one = play(policy, case.rewards, case.horizon, compiled=False, planning=True)
        two = play(other, 4.0 * case.rewards - 1.0, case.horizon, compiled=False, planning=True)
        assert one.arms == two.arms


def shop_regret(make: Any) -> float:
    """Mean regret over all types of customers of a shop, 20,000 visitors."""
    means = [
        sb.simulate({"p": make()}, sb.Bernoulli(truth), horizon=20_000, runs=60, seed=7)
        .summary()["mean"]["p"]
        for truth in SHOP
    ]  # fmt: skip
    return float(np.mean(means))


def test_what_they_are_worth_on_click_rates() -> None:
    shop = sb.FiniteStructure(SHOP)
    sucb = shop_regret(lambda: sb.SUCB.paper(shop))
    assert shop_regret(lambda: sb.SUCB.paper(shop, confidence="kl")) < 0.5 * sucb
    assert shop_regret(lambda: sb.SUCB(shop, alpha=0.5, confidence="kl")) < 0.1 * sucb
    sae = shop_regret(lambda: sb.SAE.paper(shop, 20_000))
    assert shop_regret(lambda: sb.SAE.paper(shop, 20_000, confidence="kl")) < 0.45 * sae


def test_gaussian_rewards_have_the_same_box_either_way() -> None:
    structure = sb.FiniteStructure(SHOP)
    one = sb.SUCB.paper(structure, reward_range=None, sigma=0.5, confidence="kl")
    two = sb.SUCB.paper(structure, reward_range=None, sigma=0.5)
    assert one.widths == two.widths == Hoeffding(0.0)
    assert one.width() == two.width() == "sqrt(2 log t / T)"


def test_the_width_in_words() -> None:
    shop = sb.FiniteStructure(SHOP)
    assert sb.SUCB(shop, alpha=0.5, confidence="kl").width() == "kl < 1 log t / T"
    assert sb.SAE.paper(shop, 100, confidence="kl").width() == "kl < 4 log n / T"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"confidence": "KL"}, "confidence='KL': accepted are 'hoeffding' and 'kl'"),
        ({"confidence": "kl", "sigma": 0.25}, "confidence='kl', sigma=0.25: KL intervals follow"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message.replace("(", r"\(")):
        sb.UCB(3, **arguments)


@pytest.mark.parametrize("kind", [sb.UCB, sb.SUCB, sb.ASAE])
def test_agents_are_saved_and_go_on(kind: Any) -> None:
    policy = kind(sb.FiniteStructure(SHOP), confidence="kl")
    rng = np.random.default_rng(5)
    agent = sb.Agent(policy)
    for _ in range(300):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < SHOP[2, decision.arm]))
    twin = sb.Agent.from_json(agent.to_json(), policy)
    for _ in range(200):
        one, two = agent.ask(), twin.ask()
        assert one == two
        reward = float(rng.random() < SHOP[2, one.arm])
        agent.tell(one.id, reward)
        twin.tell(two.id, reward)
    other = kind(sb.FiniteStructure(SHOP), confidence="hoeffding")
    with pytest.raises(sb.FileFormatError, match="parameters"):
        sb.Agent.from_json(agent.to_json(), other)


def test_ucb_at_one_half_is_kl_ucb() -> None:
    for case in cases(57, "finite", small=40, full=0):
        one = sb.UCB(case.structure, alpha=0.5, confidence="kl")
        two = sb.KLUCB(case.structure)
        for planning in (False, True):
            arms = play(one, case.rewards, case.horizon, compiled=True, planning=planning).arms
            assert arms == play(two, case.rewards, case.horizon, True, planning).arms
