"""GreedyMLE plans ahead on finite structures and plays what the definitions say."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import policies as naive
from support.exactness import assert_met, cases, compare
from support.model_contests import GREEDY_LIKELIHOOD, GREEDY_SQUARES
from support.paths import assert_certain
from support.play import play

import structured_bandits as sb

FITS = ("squares", "likelihood")
WAYS = [(True, True), (True, False), (False, True), (False, False)]  # compiled, planning
TELLING = sb.FiniteStructure([[0.75, 0.5, 0.25], [0.5, 0.625, 0.25], [0.25, 0.5, 0.875]])


@pytest.mark.parametrize("fit", FITS)
def test_planned_play_is_the_oracles(fit: str) -> None:
    contest = GREEDY_SQUARES if fit == "squares" else GREEDY_LIKELIHOOD
    met = compare(cases(311, "finite", small=130, full=0), contest, every_pull=False)
    assert_met(met, cases=130, ties=300, long_plans=100)


@pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
@pytest.mark.parametrize("fit", FITS)
def test_plans_are_certain_along_hostile_paths(fit: str) -> None:
    """Data that no play would lead to are as good: plans hold from any."""
    rng = np.random.default_rng(7)
    lengths = []
    for _ in range(120):
        models, arms = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        bottom, top = [(0.0, 1.0), (-1.0, 2.0), (2.0, 10.0)][rng.integers(3)]
        table = bottom + (top - bottom) * rng.integers(0, 17, (models, arms)) / 16
        structure = sb.FiniteStructure(table)
        policy = sb.GreedyMLE(structure, fit, reward_range=(bottom, top))
        pulls = rng.integers(0, 40, arms) * (rng.random(arms) < 0.8)
        sums = bottom * pulls + (top - bottom) * rng.binomial(pulls, rng.random(arms))
        lengths.append(assert_certain(policy, pulls, sums, rng))
    assert sum(length > 1 for length in lengths) >= 60
    assert sum(1 < length < 1000 for length in lengths) >= 30


@pytest.mark.filterwarnings("ignore::structured_bandits.MeansOutsideUnitIntervalWarning")
@pytest.mark.parametrize("fit", FITS)
def test_rewards_between_the_ends_of_another_range(fit: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(25):
        structure = sb.FiniteStructure(rng.integers(-8, 17, (5, 3)) / 8)
        policy = sb.GreedyMLE(structure, fit, reward_range=(-1.0, 2.0))
        rewards = rng.integers(-4, 9, (3, 300)) / 4
        plain = play(policy, rewards, 300, compiled=False, planning=False)
        for compiled, planning in WAYS:
            assert play(policy, rewards, 300, compiled, planning).arms == plain.arms
        if fit == "squares":
            models = naive.Models(structure.cells.table.tolist())
            trace = naive.greedy_mle(models, rewards.tolist(), 300)
            assert plain.arms == trace.arms


def test_long_plans_where_nothing_is_left_to_learn() -> None:
    rewards = np.random.default_rng(1).random((3, 10**5)) < TELLING.means(0)[:, None]
    for fit in FITS:
        played = play(sb.GreedyMLE(TELLING, fit), rewards, 10**5, compiled=True, planning=True)
        assert played.plans < 200


def test_models_that_look_alike_tie_for_ever() -> None:
    """Decimal means: pulls of arm 1 move no loss, so no rounding may break the tie of these models."""
    decoy = sb.FiniteStructure([[0.8, 0.7, 0.1], [0.8, 0.9, 0.3], [0.7, 0.1, 0.9]])
    rewards = np.tile([1.0, 1.0, 1.0, 1.0, 0.0], (3, 800))
    for fit in FITS:
        policy = sb.GreedyMLE(decoy, fit)
        played = play(policy, rewards, 4000, compiled=True, planning=True)
        assert played.arms == play(policy, rewards, 4000, compiled=True, planning=False).arms
        assert played.arms == [0] * 4000
        assert played.plans < 150


def test_without_bounds_a_plan_holds_one_pull_and_both_fits_agree() -> None:
    rewards = np.random.default_rng(3).normal(0.5, 1.0, (3, 200))
    squares = sb.GreedyMLE(TELLING, reward_range=None, sigma=1.0)
    likely = sb.GreedyMLE(TELLING, "likelihood", reward_range=None, sigma=1.0)
    first = play(squares, rewards, 200, compiled=True, planning=True)
    assert first.plans == 200
    assert play(likely, rewards, 200, compiled=True, planning=True) == first


def test_the_fits_differ() -> None:
    """A mean near an end weighs more in a likelihood: 1 of 10 is closer to 0.25 than to 0.0625."""
    structure = sb.FiniteStructure([[0.0625, 0.0], [0.25, 0.5]])
    rewards = np.zeros((2, 30))
    rewards[0, 0] = 1.0
    arms = {fit: play(sb.GreedyMLE(structure, fit), rewards, 30, True, True).arms for fit in FITS}
    assert arms["squares"] != arms["likelihood"]


def test_the_checks_that_the_library_ships() -> None:
    sb.testing.check_policy(sb.GreedyMLE(TELLING, "likelihood"))


def test_errors() -> None:
    with pytest.raises(
        sb.ParameterError, match="fit='best': accepted are 'squares' and 'likelihood'"
    ):
        sb.GreedyMLE(TELLING, "best")
    with pytest.raises(sb.ParameterError, match="fit='likelihood': needs a finite structure"):
        sb.GreedyMLE(sb.unstructured(2), "likelihood")
