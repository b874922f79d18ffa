"""What the explorer computes, against what happens, and against sums done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.explorer_cases import CURVE, FOUR, SHOP, STRUCTURES

import structured_bandits as sb
from structured_bandits.errors import ParameterError, StructureError
from structured_bandits.inference.misfit.batch import e_values
from structured_bandits.service.ui.explorer.apart import telling_arms
from structured_bandits.service.ui.explorer.choice import Choice, query_of, read_choice
from structured_bandits.service.ui.explorer.explorer import Explorer
from structured_bandits.service.ui.explorer.models import listed, means_of, read_model, spelt
from structured_bandits.service.ui.explorer.what_if import what_if


def test_which_arm_tells_two_models_apart() -> None:
    found = telling_arms(SHOP, SHOP.means("students"), SHOP.means("families"))
    voucher = found[0]
    information = 0.12 * math.log(0.12 / 0.03) + 0.88 * math.log(0.88 / 0.97)
    assert SHOP.arm_names[voucher.arm] == "voucher"
    assert voucher.information == pytest.approx(information)
    assert voucher.pulls == pytest.approx(math.log(100) / information)
    assert SHOP.arm_names[found[-1].arm] == "free delivery"
    assert found[-1].pulls == math.inf  # both models give it 0.08


def test_a_reward_that_a_model_excludes_decides_when_it_comes() -> None:
    """Not at once: a model that excludes what comes once in 500 pulls is told by another arm first."""
    table = sb.FiniteStructure([[0.002, 0.9, 0.5], [0.0, 0.2, 1.0]])
    found = telling_arms(table, table.means(0), table.means(1))
    assert [each.arm for each in found] == [2, 1, 0]
    assert [each.pulls for each in found if math.isinf(each.information)] == [2.0, 500.0]


@pytest.mark.parametrize("beta", [1, 2])
def test_no_arm_outlives_its_timeline_where_every_arm_pays_its_mean(beta: int) -> None:
    """Rewards without noise are in the good event, so SAE drops each arm when it is told, or before."""
    horizon, truth = 20_000, 0
    told = Explorer(FOUR).timeline(Choice(truth, 1, horizon, beta))
    agent = sb.Agent(sb.SAE.paper(FOUR, horizon, alpha=beta**2, beta=beta))
    dropped: dict[int, int] = {}
    while len(dropped) < 3 and agent.pulls.sum() < horizon:
        plan = agent.plan  # the rest of a phase
        agent.learn(plan, plan * FOUR.means(truth))
        for arm in set(range(4)) - set(agent.active_arms) - set(dropped):
            dropped[arm] = int(agent.pulls.sum())
    lives = {life.arm: life for life in told.lives}
    assert lives[0].dropped_at == math.inf
    assert 0 not in dropped
    within = [arm for arm in (1, 2, 3) if lives[arm].dropped_at <= horizon]
    assert within
    for arm in within:
        assert dropped[arm] <= lives[arm].dropped_at
        assert agent.pulls[arm] <= lives[arm].own_pulls


def test_the_timeline_is_that_of_the_analysis() -> None:
    told = Explorer(FOUR).timeline(Choice(0, 1, 500_000, 1))
    sets = sb.analyse(FOUR, truth=0).elimination(500_000)
    assert {life.arm: life.last_phase for life in told.lives} == sets.last_phase
    assert {life.arm: life.helpers for life in told.lives if life.helpers} == sets.helpers
    last = told.phases[-1]
    assert last.ends_at == sum(
        life.own_pulls if life.last_phase <= last.number else last.each for life in told.lives
    )


@pytest.mark.parametrize(
    ("structure", "truth", "arm", "mean"),
    [(SHOP, 0, 0, 0.3), (FOUR, 0, 2, 0.72), (CURVE, 0.25, 1, 0.8)],
    ids=["shop", "four", "curve"],
)
def test_the_alarm_rings_about_when_it_is_told(
    structure: sb.Structure, truth: float, arm: int, mean: float
) -> None:
    """The number told lies between the quartiles of real alarms, with rewards of 0 and 1."""
    explorer = Explorer(structure)
    found = explorer.moved(Choice(truth, truth, 1000, 1, arm, mean))
    assert found.alarm is not None
    assert found.alarm.in_turn is not None
    rng, step = np.random.default_rng(7), max(1, found.alarm.in_turn // structure.n_arms // 15)
    rang = []
    for _ in range(30):
        pulls, sums = np.zeros((1, structure.n_arms), np.int64), np.zeros((1, structure.n_arms))
        while e_values(explorer.test, pulls, sums) < 1e4:
            pulls, sums = pulls + step, sums + rng.binomial(step, found.means)
        rang.append(int(pulls.sum()))
    low, high = np.percentile(rang, [25, 75])
    assert low <= found.alarm.in_turn <= high


def test_the_nearest_model_is_the_one_that_is_off_least() -> None:
    rng = np.random.default_rng(3)
    table = sb.FiniteStructure(rng.random((40, 5)))
    for _ in range(20):
        means = rng.random(5)
        off = np.abs(table.cells.table - means).max(axis=1)
        found = what_if(table, Explorer(table).test, means, 0)
        assert found.nearest.model == off.argmin()
        assert found.nearest.gap == pytest.approx(off.min())
        assert found.best == means.argmax()
        assert found.believed == table.means(found.nearest.model).argmax()
        assert found.loss == pytest.approx(means.max() - means[found.believed])


def test_no_alarm_where_a_model_has_the_new_means() -> None:
    found = Explorer(STRUCTURES["unimodal"]).moved(
        Choice((0.9, 0.5, 0.4, 0.3), None, 10, 1, 0, 0.6)
    )
    assert found.nearest.gap == pytest.approx(0.0)
    assert found.alarm == (None, None)
    moved_to_a_known_mean = Explorer(SHOP).moved(Choice(0, 1, 10, 1, 0, 0.03))
    assert moved_to_a_known_mean.alarm is not None
    assert moved_to_a_known_mean.alarm.in_turn is not None  # the other arms contradict it
    assert moved_to_a_known_mean.alarm.alone is None


@pytest.mark.parametrize("name", STRUCTURES)
def test_an_address_spells_every_model_and_reads_it_again(name: str) -> None:
    structure = STRUCTURES[name]
    for model in [*listed(structure).models]:
        again = read_model(structure, "truth", spelt(structure, model))
        assert np.array_equal(means_of(structure, again), means_of(structure, model))
        choice = Choice(model, model, 50, 2, structure.n_arms - 1, 0.25, 0)
        query = dict(part.split("=") for part in query_of(structure, choice).split("&"))
        assert (
            read_choice(structure, {k: v.replace("%2C", ",") for k, v in query.items()}) == choice
        )


@pytest.mark.parametrize(
    "query",
    [
        {"truth": "3"},
        {"truth": "-1"},
        {"truth": "students"},
        {"truth": "0.1,0.2"},
        {"truth": "0.1,0.2,nan,0.3"},
        {"truth": "0.1,0.2,1e300,0.3"},
        {"truth": "1" * 50_000},
        {"truth": "²"},
        {"other": "1.5"},
        {"horizon": "1"},
        {"horizon": "1e9"},
        {"horizon": "9" * 400},
        {"beta": "0"},
        {"beta": "4"},
        {"arm": "4"},
        {"mean": "nan"},
        {"mean": "1.01"},
        {"mean": "inf"},
        {"mean": "x\x00<b>"},
        {"first": "-5"},
    ],
    ids=str,
)
def test_what_there_is_not_is_named(query: dict[str, str]) -> None:
    with pytest.raises((ParameterError, StructureError)) as caught:
        read_choice(SHOP, query)
    said = str(caught.value)
    assert said.startswith(next(iter(query)))
    assert len(said) < 300
    assert "\x00" not in said


def test_a_parameter_in_no_piece_is_refused() -> None:
    with pytest.raises(StructureError, match="in no piece"):
        read_choice(CURVE, {"truth": "1.5"})


def test_tables_that_are_too_large_are_refused() -> None:
    with pytest.raises(ParameterError, match="1,000,000 can be explored"):
        Explorer(sb.FiniteStructure(np.full((1_000, 1_001), 0.5)))
