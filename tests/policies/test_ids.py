"""IDS plays what its definition says, waits without deciding, and loses no digits on the way."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from oracles import posteriors
from scipy.stats import ks_2samp
from support.cases import draw_case
from support.exactness import assert_met
from support.stretches import Player
from support.taped_contests import MOST_PULLS, SILENT, hard_table, ids, silent_column
from support.uniform_tapes import DrawTape

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.policies.best_arm_belief import (
    Belief,
    fresh_belief,
    write_belief,
    write_information,
)
from structured_bandits.policies.ids import mixture_of
from structured_bandits.policies.information_ratio import (
    NO_ARM,
    SMALL,
    Mixture,
    coin_information,
    least_ratio,
)
from structured_bandits.testing.tapes import Played, play, play_in

R = figure1_right()


def belief_of(policy: sb.IDS, pulls: Any, sums: Any) -> Belief:
    state = policy.init()
    state.data.pulls[:] = pulls
    state.data.sums[:] = sums
    belief = fresh_belief(policy.groups)
    write_belief(policy.groups, state.data, belief)
    write_information(True, belief)
    return belief


def ratio(choice: Mixture, regret: Any, information: Any) -> float:
    lost, told = (
        (1 - choice.share) * each[choice.first] + choice.share * each[choice.second]
        for each in (regret, information)
    )
    return float(lost * lost / told)


# ------------------------------------------------------------------------- against the oracle


@pytest.mark.parametrize("silent", SILENT, ids=["none", "first", "last"])
def test_arms_are_those_of_the_definition(silent: Any) -> None:
    """On a tape of uniforms, pull by pull and with waits: the first arm waits for large uniforms."""
    met = sum((ids(5, index, silent) for index in range(42)), start=Counter[str]())
    assert_met(met, pulls=1000, switches=15)
    assert met["near_ties_broken"] <= 1, met
    assert met["waits"] == 0 if silent[0] is None else met["waits"] >= 5, met


@pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
def test_gaussian_rewards_against_the_definition() -> None:
    for number in range(20):
        rng = np.random.default_rng([6, number])
        case = draw_case(52, number, "finite", full_size=False)
        table = 4.0 * case.structure.cells.table - 2.0
        pulls = min(case.horizon, MOST_PULLS)
        rewards = rng.integers(-8, 9, (table.shape[1], pulls)) / 4
        uniforms = rng.random(pulls).tolist()
        trace = posteriors.ids(table.tolist(), rewards.tolist(), pulls, uniforms, sigma=2.0)
        policy = sb.IDS(sb.FiniteStructure(table), reward_range=None, sigma=2.0)
        played = play_in(sb.Tape(rewards), policy, pulls, False, False, DrawTape(uniforms))
        assert played.arms == trace.arms or trace.closest < 1e-9


@pytest.mark.parametrize("number", range(30))
def test_compiled_play_is_that_of_python(number: int) -> None:
    case = draw_case(53, number, "finite", full_size=False)
    structure = sb.FiniteStructure(
        silent_column(case.structure.cells.table, (None, 0, -1)[number % 3])
    )
    policy = sb.IDS(structure)
    for planning in (False, True):
        ways: list[Played] = [
            play(policy, case.rewards, case.horizon, compiled, planning, seed=number)
            for compiled in (False, True)
        ]
        assert ways[0] == ways[1]


# -------------------------------------------------------------------------------- the numbers


def test_regret_and_information_to_ten_digits() -> None:
    """Against 60 digits, from flat posteriors to those in which one model has nearly all weight.

    60 digits are enough for ten of a sum of 1e-40 and more.
    """
    met: Counter[str] = Counter()
    for number in range(100):
        rng = np.random.default_rng([12, number])
        shape = int(rng.integers(2, 7)), int(rng.integers(1, 6))
        table = np.minimum(rng.integers(0, 12, shape) / 8, 1.0)  # many means of 1
        table = hard_table(rng, shape) if number % 2 else table
        pulls = rng.integers(0, (3, 40, 100)[number % 3], shape[1])
        sums = rng.binomial(pulls, table[0])
        game = posteriors.Game(shape[1], [[0, 1]])
        game.counts, game.sums = pulls.tolist(), sums.tolist()
        weights = posteriors.Weights(table.tolist(), game)
        alive = np.flatnonzero(weights.relative()).tolist()
        exact = posteriors.belief(table[alive].tolist(), weights.precise(alive))
        found = belief_of(sb.IDS(sb.FiniteStructure(table)), pulls, sums)
        assert found.regret == pytest.approx(np.array(exact.regret, float), rel=1e-10, abs=0)
        gain = np.array(exact.gain, float)
        if 0 < gain.max() < 1e-40:
            continue
        assert found.information == pytest.approx(gain, rel=1e-10, abs=1e-20 * gain.max())
        met["compared"] += 1
        met["tiny"] += 0 < gain.max() < 1e-9
        met["sure"] += any(mean == 1.0 for mean in found.means)
    assert met["compared"] >= 75, met
    assert met["tiny"] >= 10, met
    assert met["sure"] >= 5, met


def test_golden_numbers() -> None:
    belief = belief_of(sb.IDS(R), [9, 5, 3, 3], [7, 3, 2, 1])
    golden = [0.57302225, 0.29111364, 0.04335633, 0.09250779]
    assert belief.weights == pytest.approx(golden, abs=1e-8)
    assert belief.regret == pytest.approx(
        [0.02621399, 0.11886917, 0.15634671, 0.42618404], abs=1e-8
    )
    assert belief.information == pytest.approx(
        [0, 0.0216745875, 0.0291899007, 0.101168934], abs=1e-9
    )
    choice = mixture_of(sb.IDS(R).groups, belief)
    assert (choice.first, choice.second) == (0, 3)
    assert 1 - choice.share == pytest.approx(0.93446013, abs=1e-8)
    assert ratio(choice, belief.regret, belief.information) == pytest.approx(0.41454660, abs=1e-8)


def test_no_random_choice_is_better() -> None:
    belief = belief_of(sb.IDS(R), [9, 5, 3, 3], [7, 3, 2, 1])
    least = ratio(mixture_of(sb.IDS(R).groups, belief), belief.regret, belief.information)
    choices = np.random.default_rng(0).dirichlet([0.3] * 4, 20_000)
    others = (choices @ belief.regret) ** 2 / (choices @ belief.information)
    assert least <= others.min() < 1.05 * least


def least_ratio_of_pairs(regret: Any, information: Any) -> float:
    """The least ratio of one arm, or of two mixed on a fine grid."""
    shares = np.linspace(0.0, 1.0, 2001)[:, None, None]
    lost = shares * regret[:, None] + (1 - shares) * regret
    told = shares * information[:, None] + (1 - shares) * information
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmin(np.where(lost == 0.0, 0.0, lost**2 / told)))


@pytest.mark.parametrize("number", range(60))
def test_the_walk_along_the_hull_finds_the_least_ratio(number: int) -> None:
    rng = np.random.default_rng([3, number])
    arms = int(rng.integers(1, 9))
    regret, information = rng.random(arms), rng.random(arms) ** 2
    if number % 3 == 0:
        information[rng.random(arms) < 0.4] = 0.0
        regret[regret.argmin()] *= 10.0 ** -rng.integers(1, 9)
    if number % 5 == 0:
        regret, information = np.round(4 * regret) / 4, np.round(4 * information) / 4
    information[rng.integers(arms)] += 0.25
    choice = least_ratio(regret, information)
    assert 0.0 <= choice.share < 1.0
    assert (choice.second == NO_ARM) == (choice.share == 0.0)
    tiny = 1e-200  # far below what products of two such numbers could hold
    assert least_ratio(regret, tiny * information)[:2] == choice[:2]
    lost = (1 - choice.share) * regret[choice.first] + choice.share * regret[choice.second]
    found = ratio(choice, regret, information) if lost > 0.0 else 0.0
    assert found <= least_ratio_of_pairs(regret, information) * (1 + 1e-12)


def test_information_of_coins_to_almost_all_digits() -> None:
    """Against 60 digits, for shifts of every size, on both sides of the series' end."""
    with mp.workdps(60):
        for x in (1e-6, 0.003, 0.3, 0.5, 0.92, 1 - 1e-6):
            y = 1.0 - x
            least = min(x, y)
            sizes = [*np.logspace(-14, -0.01, 60), SMALL * (1 - 1e-9), SMALL * (1 + 1e-9)]
            for shift in [sign * least * float(size) for size in sizes for sign in (-1, 1)]:
                p, q = mpf(x) + mpf(shift), mpf(x)
                exact = p * mp.log(p / q) + (1 - p) * mp.log((1 - p) / (1 - q))
                found = coin_information(x, y, shift)
                assert abs(found / exact - 1) < 2e-13 + 2.3e-16 / least, (x, shift)
    assert coin_information(0.25, 0.75, 0.75) == pytest.approx(np.log(4.0), rel=1e-15)
    assert coin_information(0.25, 0.75, -0.25) == pytest.approx(-np.log(0.75), rel=1e-15)


def test_small_chances_are_not_lost() -> None:
    """Where the other model has a weight of less than 1e-150, the ratio is still right."""
    structure = sb.FiniteStructure([[0.5, 0.25], [0.5, 0.75]])
    pulls, sums = [10, 400], [5, 20]
    belief = belief_of(sb.IDS(structure), pulls, sums)
    other = belief.weights[1]
    assert 0.0 < other < 1e-150
    assert belief.regret == pytest.approx([0.25 * other, 0.25], rel=1e-12)
    told = 0.75 * np.log(3.0) + 0.25 * np.log(1 / 3)
    assert belief.information == pytest.approx([0.0, other * told], rel=1e-12)
    choice = mixture_of(sb.IDS(structure).groups, belief)
    assert (choice.first, choice.second) == (0, 1)
    assert choice.share == pytest.approx(other, rel=1e-12)


# ------------------------------------------------------------------------------------- the law


def test_mean_regret_on_figure_1_right() -> None:
    """10.06 ± 0.20 in 300 runs of another implementation."""
    world = sb.Bernoulli(R.means(0))
    ours = sb.simulate(sb.IDS(R), world, 10_000, runs=1000, seed=1, checkpoints=1).regret["IDS"][
        :, -1
    ]
    error = np.hypot(0.20, ours.std(ddof=1) / np.sqrt(len(ours)))
    assert abs(ours.mean() - 10.06) < 4 * error


def test_waits_have_the_law_of_single_decisions() -> None:
    world = sb.Bernoulli(R.means(0))
    planned, single = (
        sb.simulate(sb.IDS(R), world, 3000, runs=1500, seed=seed, checkpoints=1, planning=planning)
        for seed, planning in ((1, True), (2, False))
    )
    for arm in range(4):
        ours, theirs = (result.pulls["IDS"][:, arm] for result in (planned, single))
        assert ks_2samp(ours, theirs).pvalue > 0.001
    assert single.plans["IDS"].min() == 3000
    assert planned.plans["IDS"].mean() < 200


def test_a_wait_goes_on_where_the_horizon_did_not_cut_it() -> None:
    """However the engine cuts a streak, the other arm's turn comes when it was drawn to come."""
    policy = sb.IDS(R)
    whole, cut = (play_cut(policy, most) for most in (10_000, 3))
    assert whole == cut
    assert len(set(whole)) > 1


def play_cut(policy: sb.IDS, most: int) -> list[int]:
    """Play 2,000 pulls in streaks of at most `most`, deciding as if the horizon were far."""
    rng, rewards = np.random.default_rng(4), np.random.default_rng(5).random((4, 2000)) < 0.6
    player, arms = Player(policy), list[int]()
    while len(arms) < 2000:
        streak = player.streak(sb.Now(len(arms), 10_000), rng)
        length = min(streak.length, most, 2000 - len(arms))
        start = player.state.data.pulls[streak.arm]
        total = float(rewards[streak.arm, start : start + length].sum())
        player.end(sb.Outcome(streak.arm, length, total, total))
        arms += [streak.arm] * length
    return arms


# ------------------------------------------------------------------------------ as an object


def test_rewards_of_another_range_change_nothing() -> None:
    table = np.random.default_rng(1).random((5, 4))
    rewards = (np.random.default_rng(2).random((4, 300)) < table[0][:, None]).astype(float)
    plain = sb.IDS(sb.FiniteStructure(table))
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        scaled = sb.IDS(sb.FiniteStructure(8.0 * table - 4.0), reward_range=(-4.0, 4.0))
    ours = play(plain, rewards, 300, compiled=False, planning=True, seed=3)
    theirs = play(scaled, 8.0 * rewards - 4.0, 300, compiled=False, planning=True, seed=3)
    assert ours == theirs


def test_agents_and_snapshots_where_all_models_agree_on_an_arm() -> None:
    sb.testing.check_policy(sb.IDS(R, prior=[4, 3, 2, 1]), compiled=False)


def test_what_is_refused() -> None:
    with pytest.raises(sb.ParameterError, match=r"prior=\[1, 2\]: expected 4 numbers"):
        sb.IDS(R, prior=[1, 2])
    curve = sb.CurveStructure([sb.Piece(0, 1, [0.1, 0.5], [0.9, 0.5])])
    with pytest.raises(sb.ParameterError, match="IDS cannot play on structure="):
        sb.IDS(curve)
