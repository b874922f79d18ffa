"""ModelTS with trust below 1: its limits, its weights, from counts alone; a wrong table forgiven."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import loggamma, mp, mpf
from oracles import posteriors
from scipy import integrate, stats
from scipy.special import betaln
from support.cases import draw_case

import structured_bandits as sb
from structured_bandits.inference.spike_and_slab import (
    LARGE,
    SpikeAndSlab,
    draw_place,
    log_rising,
)
from structured_bandits.inference.weights import write_weights
from structured_bandits.testing.tapes import play

TABLE = sb.FiniteStructure([[0.8, 0.3, 0.5], [0.2, 0.7, 0.1], [0.1, 0.6, 0.9]])
ENTRIES = TABLE.cells.table


def probabilities(policy: sb.ModelTS, pulls: Any, sums: Any) -> np.ndarray:
    """The posterior of the places: a row for each level."""
    posterior: Any = policy.posterior
    belief = believed(policy, pulls, sums)
    draw_place(posterior, belief, 0.5)
    weights = belief.weights / write_weights(belief.logs, belief.weights).total
    return weights.reshape(-1, policy.structure.n_models)


def believed(policy: sb.ModelTS, pulls: Any, sums: Any) -> Any:
    state = policy.init()
    state.data.pulls[:], state.data.sums[:] = pulls, sums
    policy.restore(state)
    return state.belief


def coins(seed: int, arms: int, pulls: int) -> np.ndarray:
    return (np.random.default_rng(seed).random((arms, pulls)) < 0.5).astype(float)


# ------------------------------------------------------------------------------------ the limits


@pytest.mark.parametrize("number", range(15))
def test_full_trust_is_model_ts_to_the_bit(number: int) -> None:
    case = draw_case(82, number, "finite", full_size=False)
    plain, trusting = sb.ModelTS(case.structure), sb.ModelTS(case.structure, trust=1.0)
    for compiled in (False, True):
        one, other = (
            play(each, case.rewards, case.horizon, compiled, planning=True, seed=number)
            for each in (plain, trusting)
        )
        assert one == other
    assert plain.parameters() == trusting.parameters()
    assert not isinstance(plain.posterior, SpikeAndSlab)


@pytest.mark.parametrize("number", range(20))
def test_compiled_play_is_that_of_python(number: int) -> None:
    case = draw_case(82, number, "finite", full_size=False)
    policy = sb.ModelTS(case.structure, trust=(0.0, 0.5, 0.9)[number % 3])
    ways = [
        play(policy, case.rewards, case.horizon, compiled, planning=True, seed=number)
        for compiled in (False, True)
    ]
    assert ways[0] == ways[1]


def test_great_strength_is_exactness() -> None:
    """With a billion observations behind each mean a level weighs what that of exact models does."""
    rng = np.random.default_rng(9)
    for off in (0.0, 0.2):
        policy = sb.ModelTS(TABLE, trust=0.5, off=off, strengths=1e9)
        for _ in range(20):
            pulls = rng.integers(0, 60, 3)
            _, exact, near = probabilities(policy, pulls, rng.binomial(pulls, 0.4))
            assert near == pytest.approx(0.5 * exact, rel=1e-4, abs=1e-12)


def test_a_model_that_says_nothing_is_blind_thompson_sampling() -> None:
    """Two observations behind a mean of 1/2: Beta(1 + ones, 1 + zeros), arm by arm."""
    policy = sb.ModelTS(sb.FiniteStructure([[0.5] * 4]), trust=0.0, off=0.0, strengths=2)
    rewards = coins(1, 4, 200)
    played = play(policy, rewards, 200, compiled=False, planning=True, seed=3)
    rng, pulls, sums = sb.testing.agent_generator(3), np.zeros(4, int), np.zeros(4)
    for arm in played.arms:
        rng.uniform(0.0, 1.0)  # which place
        draws = [rng.beta(1 + s, 1 + n - s) for n, s in zip(pulls, sums, strict=True)]
        assert arm == int(np.argmax(draws))
        sums[arm] += rewards[arm, pulls[arm]]
        pulls[arm] += 1


def test_full_trust_in_exact_levels_is_the_posterior_of_the_rows() -> None:
    policy = sb.ModelTS(TABLE, trust=0.5, off=0.0, prior=[1, 2, 3])
    pulls, sums = [7, 5, 3], [3, 2, 2]
    wanted = posteriors.posterior(ENTRIES.tolist(), pulls, sums, [1, 2, 3])
    for level in probabilities(policy, pulls, sums)[:2]:
        assert level / level.sum() == pytest.approx(wanted, rel=1e-12)


# ----------------------------------------------------------------------------------- the weights


def slab_law(table: np.ndarray) -> tuple[float, float]:
    mean, variance = table.mean(), 2.0 * table.var()
    worth = mean * (1.0 - mean) / variance - 1.0
    return (worth * mean, worth * (1.0 - mean)) if worth > 0 else (1.0, 1.0)


def test_weights_pull_by_pull() -> None:
    """Each pull multiplies the weight of an arm's spike and slab by the chance of its reward."""
    rng = np.random.default_rng(0)
    strengths, off, table = (3.0, 40.0), 0.2, ENTRIES
    a, b = slab_law(table)
    spikes, slabs = np.ones((4, 3, 3)), np.ones(3)  # levels x models x arms
    pulls, sums = np.zeros(3), np.zeros(3)
    for _ in range(200):
        arm = int(rng.integers(3))
        reward = float(rng.random() < 0.4)
        count = sums[arm] if reward else pulls[arm] - sums[arm]
        chance = table[:, arm] if reward else 1.0 - table[:, arm]
        spikes[:2, :, arm] *= chance
        for level, strength in enumerate(strengths):
            now = (strength * chance + count) / (strength + pulls[arm])
            spikes[2 + level, :, arm] *= now
        slabs[arm] *= ((a if reward else b) + count) / (a + b + pulls[arm])
        pulls[arm] += 1
        sums[arm] += reward
    offs = np.array([0.0, off, off, off])[:, None, None]
    weights = ((1.0 - offs) * spikes + offs * slabs).prod(axis=2)
    weights *= np.array([0.09, 0.42, 0.245, 0.245])[:, None] * np.array([0.5, 0.25, 0.25])
    policy = sb.ModelTS(TABLE, prior=[2, 1, 1], trust=0.3, off=off, strengths=strengths)
    assert policy.posterior.slab.worth == pytest.approx(a + b)
    found = probabilities(policy, pulls, sums)
    assert found == pytest.approx(weights / weights.sum(), rel=1e-9)


def test_gaussian_weights_are_integrals() -> None:
    """Of the normal likelihood over normal laws of the means, by quadrature."""
    sigma, off, strength = 0.5, 0.25, 3.0
    table = np.array([[0.2, 0.9], [0.6, 0.1]])
    rewards = [[0.3, 0.7, -0.4], [1.1, 0.6]]
    policy = sb.ModelTS(
        sb.FiniteStructure(table),
        trust=0.5,
        off=off,
        strengths=strength,
        reward_range=None,
        sigma=sigma,
    )
    slab = stats.norm(table.mean(), math.sqrt(2.0 * table.var()))

    def likelihood(mean: float, arm: int) -> float:
        return float(np.prod(stats.norm(mean, sigma).pdf(rewards[arm])))

    def integral(law: Any, arm: int) -> float:
        return integrate.quad(lambda x: law.pdf(x) * likelihood(x, arm), -8, 8, epsabs=1e-13)[0]

    wanted = np.ones((3, 2))
    for model in range(2):
        for arm in range(2):
            mean, wide = table[model, arm], off * integral(slab, arm)
            exact = likelihood(mean, arm)
            near = integral(stats.norm(mean, sigma / math.sqrt(strength)), arm)
            wanted[:, model] *= [exact, (1 - off) * exact + wide, (1 - off) * near + wide]
    wanted *= np.array([0.25, 0.5, 0.25])[:, None]
    found = probabilities(policy, [3, 2], [sum(each) for each in rewards])
    assert found == pytest.approx(wanted / wanted.sum(), rel=1e-8)


def test_rewards_between_0_and_1_count_as_fractions_and_temper_as_less() -> None:
    pulls, sums = np.array([7, 5, 0]), np.array([3.25, 1.5, 0.0])
    policy = sb.ModelTS(TABLE, trust=0.0, off=0.0, strengths=10, temper=0.5)
    logs = np.zeros(3)
    for arm in range(2):
        a, b = 10 * ENTRIES[:, arm], 10 * (1 - ENTRIES[:, arm])
        ones, zeros = 0.5 * sums[arm], 0.5 * (pulls[arm] - sums[arm])
        logs += betaln(a + ones, b + zeros) - betaln(a, b)
    wanted = np.exp(logs) / np.exp(logs).sum()
    assert probabilities(policy, pulls, sums)[0] == pytest.approx(wanted, rel=1e-12)


def test_the_order_of_rewards_leaves_no_trace() -> None:
    """One by one, in blocks, or made anew from a snapshot: the same numbers to the last bit."""
    policy: Any = sb.ModelTS(TABLE, trust=0.5)
    rng = np.random.default_rng(2)
    outcomes = [(int(rng.integers(3)), float(rng.integers(2))) for _ in range(300)]
    single, anew = policy.init(), policy.init()
    for arm, reward in outcomes:
        policy.update(single, sb.Outcome(arm, 1, reward, reward))
    for arm in (2, 0, 1):
        total = sum(reward for each, reward in outcomes if each == arm)
        pulls = sum(each == arm for each, _ in outcomes)
        policy.update(anew, sb.Outcome(arm, pulls, total, total))
    found = []
    for belief in (single.belief, anew.belief, believed(policy, *single.data)):
        draw_place(policy.posterior, belief, 0.5)
        found.append(belief.logs.tolist())
    assert found[0] == found[1] == found[2]


def test_log_rising_to_almost_all_digits() -> None:
    rng = np.random.default_rng(3)
    with mp.workdps(40):
        for x in [*10.0 ** rng.uniform(-6, 9, 300), LARGE * (1 - 1e-9), LARGE]:
            counts = (0.0, 1.0, 0.25, float(rng.integers(2, 50)), float(10 ** rng.uniform(2, 6)))
            for more in counts:
                exact = loggamma(mpf(x) + mpf(more)) - loggamma(mpf(x))
                assert abs(log_rising(float(x), more) - exact) < 2e-14 * max(1, abs(exact))


# ------------------------------------------------------------------------- whatever the structure


def test_margins_are_laws_with_the_moments_of_an_even_spread() -> None:
    boxes = sb.around([[0.4, 0.2, 0.7], [0.1, 0.5, 0.98]], [0.1, 0.0, 0.05])
    posterior: Any = sb.ModelTS(boxes).posterior
    assert posterior.off.tolist() == [0.0, 0.0]
    least, most = boxes.cells.least, boxes.cells.most
    for model in range(2):
        for arm in range(3):
            low, high = least[model, arm], most[model, arm]
            mean, worth = posterior.means[arm, model], posterior.worth[arm, model]
            if low == high:
                assert (mean, worth) == (low, math.inf)
                continue
            law, even = stats.beta(mean * worth, (1 - mean) * worth), stats.uniform(low, high - low)
            assert law.mean() == pytest.approx(even.mean())
            assert law.var() == pytest.approx(even.var())
    gaussian: Any = sb.ModelTS(boxes, reward_range=None, sigma=0.5).posterior
    width = most[0, 0] - least[0, 0]
    assert 0.25 / gaussian.worth[0, 0] == pytest.approx(width**2 / 12.0)


def test_a_table_without_margins_plays_as_its_rows() -> None:
    rewards = coins(4, 3, 150)
    wide, rows = (
        play(sb.ModelTS(each, trust=0.5), rewards, 150, compiled=False, planning=True, seed=7)
        for each in (sb.around(ENTRIES, 0.0), TABLE)
    )
    assert wide == rows


def test_a_curve_is_cut_into_models_that_are_close() -> None:
    curve = sb.CurveStructure(
        [sb.Piece(0.0, 2.0, [0.1, 0.5], [0.9, 0.5]), sb.Piece(2.0, 3.0, [0.9, 0.5], [0.9, 0.7])]
    )
    exact, doubting = sb.ModelTS(curve), sb.ModelTS(curve, trust=0.99, off=0.0, strengths=4000)
    posterior: Any = doubting.posterior
    means = np.unique(posterior.means[0])
    assert np.diff(means).max() <= 0.005 + 1e-12
    assert np.exp(posterior.prior).sum() == pytest.approx(1.0)
    pulls, sums = [40, 10], [18.0, 6.0]
    found = probabilities_of_arms(doubting, pulls, sums)
    state = exact.init()
    state.data.pulls[:], state.data.sums[:] = pulls, sums
    exact.restore(state)
    assert found == pytest.approx(state.belief.arms / state.belief.arms.sum(), abs=0.01)


def probabilities_of_arms(policy: Any, pulls: Any, sums: Any) -> np.ndarray:
    """How much weight the places have in which an arm is best."""
    belief = believed(policy, pulls, sums)
    draw_place(policy.posterior, belief, 0.5)
    best = policy.posterior.means.argmax(axis=0)
    return np.bincount(best, belief.weights, len(policy.posterior.means)) / belief.weights.sum()


def test_groups_of_a_product_doubt_by_themselves() -> None:
    """The group that is believed to be better is played, and a wrong row is unlearned."""
    groups = [sb.FiniteStructure([[0.8, 0.2], [0.3, 0.4]]), sb.around([[0.5, 0.6]], 0.1)]
    product = sb.product(groups)
    world = sb.Bernoulli([0.3, 0.75, 0.5, 0.6])  # the second arm is off
    policies = {"trust 0.5": sb.ModelTS(product, trust=0.5), "1": sb.ModelTS(product)}
    result = sb.simulate(policies, world, 2_000, runs=8, checkpoints=1, progress=False)
    doubting, trusting = (result.regret[name][:, -1].mean() for name in policies)
    assert doubting < 0.4 * trusting


def test_rewards_of_another_range_change_nothing() -> None:
    rewards = coins(2, 3, 200)
    table = np.random.default_rng(4).integers(0, 17, (4, 3)) / 16  # scaled without rounding
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        other = sb.FiniteStructure(8.0 * table - 4.0)
    plain = sb.ModelTS(sb.FiniteStructure(table), trust=0.5)
    ours = play(plain, rewards, 200, compiled=False, planning=True)
    scaled = sb.ModelTS(other, trust=0.5, reward_range=(-4.0, 4.0))
    assert play(scaled, 8.0 * rewards - 4.0, 200, compiled=False, planning=True) == ours


def test_the_slab_is_uniform_where_no_law_fits() -> None:
    for table in ([[0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0]]):
        posterior: Any = sb.ModelTS(sb.FiniteStructure(table), trust=0.5).posterior
        assert posterior.slab == (0.5, 2.0)


# ------------------------------------------------------------------------------ what it is for


def test_an_arm_of_which_the_table_is_wrong_is_found() -> None:
    """The arm that the table calls worst is best: belief loses all the time, doubt a little."""
    table = np.array([[0.10, 0.05, 0.02], [0.03, 0.11, 0.02]])
    structure, world = sb.FiniteStructure(table), sb.Bernoulli([0.10, 0.05, 0.20])
    policies = {"full": sb.ModelTS(structure), "half": sb.ModelTS(structure, trust=0.5)}
    result = sb.simulate(policies, world, 5_000, runs=40, checkpoints=1, progress=False)
    full, half = (result.regret[name][:, -1].mean() for name in policies)
    assert full > 450.0
    assert half < 0.4 * full


def test_all_arms_stay_active() -> None:
    assert sb.ModelTS(sb.FiniteStructure([[0.5, 0.4, 0.1]]), trust=0.5).active_arms(None, 0) == (
        0,
        1,
        2,
    )


# ------------------------------------------------------------------------------ as an object


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"trust": 1.5}, "trust=1.5: expected 0 to 1"),
        ({"trust": -0.1}, "trust=-0.1: expected a finite number >= 0"),
        ({"trust": 0.5, "off": 1.0}, "off=1.0: expected less than 1"),
        ({"trust": 0.5, "off": -0.2}, "off=-0.2: expected a finite number >= 0"),
        ({"off": 0.1}, "off=0.1: with trust=1 no model is wrong"),
        ({"strengths": 5}, "strengths=5: with trust=1 no model is wrong"),
        ({"trust": 0.5, "strengths": 0}, "strengths=0: expected one or several positive numbers"),
        ({"trust": 0.5, "strengths": 1e300}, "one or several positive numbers, up to 1e"),
        ({"trust": 0.5, "strengths": ()}, r"strengths=\(\): expected one or several"),
        ({"trust": 0.5, "strengths": [[1, 2]]}, r"strengths=\[\[1, 2\]\]: expected one"),
        ({"trust": 0.5, "strengths": "many"}, "strengths='many': expected one or several"),
        ({"trust": 0.5, "prior": [1, 0, 1]}, "expected positive numbers"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        sb.ModelTS(TABLE, **arguments)
