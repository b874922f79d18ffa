"""The e-value of a live agent: in asked order, whatever comes when; guards at work in agents."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from oracles.late import largest_log_e
from oracles.misfit import log_e_table

import structured_bandits as sb
from structured_bandits.testing import check_policy

MEANS = [[0.5, 0.25], [0.125, 0.75]]
TABLE = sb.FiniteStructure(MEANS, arms=["tea", "milk"], models=["A", "B"])


def test_the_e_value_counts_rewards_in_asked_order() -> None:
    rng = np.random.default_rng(1)
    for _ in range(12):
        agent, decisions, told = sb.Agent(sb.UCB(TABLE), seed=0), [], []
        for _ in range(60):
            if rng.random() < 0.5:
                decision = agent.ask()
                decisions.append((decision.arm, float(rng.random() < 0.9)))
                told.append(False)
            elif out := [place for place, known in enumerate(told) if not known]:
                place = int(rng.choice(out))
                agent.tell(place, decisions[place][1])
                told[place] = True
            expected = largest_log_e(
                lambda pulls, sums: log_e_table(MEANS, pulls, sums), 2, decisions, told
            )
            assert agent.misfit is not None
            assert agent.misfit.log_e_value == pytest.approx(max(float(expected), 0.0), abs=1e-9)


@pytest.mark.parametrize("kind", ["delays that tell", "counted as they come"])
def test_clicks_at_once_and_silence_later_do_not_ring(kind: str) -> None:
    """What rings nearly always if rewards are counted as they come rings at most by chance here."""
    rung = 0
    for run in range(60):
        rng = np.random.default_rng([4, run])
        agent, due = sb.Agent(sb.ModelTS(TABLE), seed=run), []
        naive = sb.Agent(sb.ModelTS(TABLE), seed=run)
        for pull in range(200):
            while due and due[0][0] <= pull:
                _, decision, arm = due.pop(0)
                agent.tell(decision, 0.0)
                naive.learn(*single(arm, 0.0))
            decision = agent.ask()
            if rng.random() < MEANS[0][decision.arm]:
                agent.tell(decision.id, 1.0)
                naive.learn(*single(decision.arm, 1.0))
            else:
                due.append((pull + 100, decision.id, decision.arm))
        judged = agent if kind == "delays that tell" else naive
        assert judged.misfit is not None
        rung += judged.misfit.refuted()
    assert rung <= 3 if kind == "delays that tell" else rung >= 55


def test_batches_that_come_late_if_they_went_badly_do_not_ring() -> None:
    """Counted as they come, they ring in all 20 runs."""
    rung = 0
    for run in range(20):
        rng = np.random.default_rng([5, run])
        agent = sb.Agent(sb.UCB(TABLE))
        for _ in range(200):
            decision = agent.ask()
            if rng.random() < MEANS[0][decision.arm]:  # the others are told after all of this
                agent.tell_totals([decision.id], single(decision.arm, 1.0)[1])
        assert agent.misfit is not None
        rung += agent.misfit.refuted(1e-4)
    assert rung == 0


def test_batches_of_a_wrong_structure_ring() -> None:
    agent = sb.Agent(sb.UCB(TABLE))
    for _ in range(30):
        decisions = agent.ask(4)
        pulls = np.bincount([each.arm for each in decisions], minlength=2)
        agent.tell_totals([each.id for each in decisions], pulls)
    assert agent.misfit is not None
    assert agent.misfit.refuted(1e-4)


def test_what_is_taken_over_is_known_to_the_policy_and_not_to_the_test() -> None:
    old = sb.Agent(sb.UCB(TABLE))
    for _ in range(60):
        decision = old.ask()
        old.tell(decision.id, 1.0)
    assert old.misfit is not None
    assert old.misfit.refuted(1e-6)
    new, goes_on = sb.Agent(sb.UCB(TABLE)), sb.Agent(sb.UCB(TABLE))
    new.take_over(old.pulls, old.sums)
    goes_on.take_over(old.pulls, old.sums, tested=old.tested)
    assert new.plan.tolist() == goes_on.plan.tolist() == old.plan.tolist()
    assert [each.misfit and each.misfit.pulls for each in (new, goes_on)] == [0, 60]
    assert (new.log_e_value, goes_on.log_e_value > 13.0) == (0.0, True)
    for agent in (new, goes_on):
        assert sb.Agent.from_json(agent.to_json(), agent.policy).to_json() == agent.to_json()
        agent.tell(agent.ask().id, 1.0)
        assert agent.tested.pulls.sum() == (1 if agent is new else 61)


def test_a_guard_does_not_ring_for_what_it_takes_over() -> None:
    new = sb.Agent(sb.Guarded(sb.UCB(TABLE), level=0.05))
    new.take_over([50, 50], [50, 50])
    assert new.pulls.tolist() == [50, 50]
    assert new._state.rung[0] == 0
    assert new._state.watching.pulls.sum() == 0


def test_more_than_what_is_taken_over_cannot_be_tested() -> None:
    agent = sb.Agent(sb.UCB(TABLE))
    before = agent.to_json()
    with pytest.raises(sb.RewardError, match="tested"):
        agent.take_over([1, 1], [1, 1], tested=([1, 2], [1, 2], None))
    assert agent.to_json() == before


def single(arm: int, reward: float) -> tuple[list[int], list[float]]:
    return [int(arm == 0), int(arm == 1)], [reward * (arm == 0), reward * (arm == 1)]


def test_the_report_names_the_arm_and_the_nearest_model() -> None:
    agent = sb.Agent(sb.ModelTS(TABLE))
    assert "no reward has been counted yet" in str(agent.misfit)
    agent.learn([200, 200], [100, 150])  # tea as in A, milk as in B
    misfit = agent.misfit
    assert misfit is not None
    assert misfit.refuted(1e-6)
    assert misfit.model in ("A", "B")
    assert sum(misfit.arms.values()) == pytest.approx(1.0)
    assert misfit.p_value == pytest.approx(1.0 / misfit.e_value)
    assert f"nearest model is {misfit.model}" in str(misfit)
    assert str(misfit) in agent.describe()


def test_an_e_value_too_large_for_a_number_is_infinite() -> None:
    agent = sb.Agent(sb.UCB(sb.FiniteStructure([[0.0, 0.5]])))
    agent.learn([1, 0], [1, 0])  # the model calls this impossible
    assert agent.misfit is not None
    assert (agent.misfit.e_value, agent.misfit.p_value, agent.misfit.model) == (math.inf, 0.0, "0")
    assert sb.Agent.from_json(agent.to_json(), agent.policy).misfit == agent.misfit


def test_the_e_value_does_not_depend_on_what_was_computed_before() -> None:
    """Found by attack: a model that one arm's rewards led to was held to be possible for another arm."""
    with pytest.warns(sb.MeansOutsideUnitIntervalWarning):
        structure = sb.linear([[1.0], [-1.0]], bounds=(0.0, 1.0))
    policy = sb.SUCB.paper(structure)
    agent = sb.Agent(policy)
    agent.tell(agent.force(0).id, 1.0)
    restored = sb.Agent.from_json(agent.to_json(), sb.SUCB.paper(structure))
    for each in (agent, restored):
        each.tell(
            each.force(1).id, 0.0
        )  # only the coefficient 0 has such a mean, and it never pays
        assert each.log_e_value == math.inf


def test_for_people_tiny_numbers_are_round() -> None:
    """The p-value here is 4e-118 and the first interval begins at 4e-7; the API has them as they are."""
    agent = sb.Agent(sb.ModelTS(sb.FiniteStructure([[0.5, 0.3], [0.2, 0.7]])))
    agent.learn([500, 500], [1, 499])
    assert agent.misfit is not None
    assert 0.0 < agent.misfit.p_value < 1e-100
    assert 0.0 < agent.intervals[0, 0] < 1e-6
    text = agent.describe()
    assert "p-value below 0.0001 after" in text
    assert " 0 to 0.02154 " in text
    assert not re.search(r"\de-\d", text)


def test_policies_without_a_structure_and_large_tables_have_no_e_value() -> None:
    assert sb.Agent(sb.UCB(2)).misfit is None
    large = sb.FiniteStructure(np.full((200_001, 5), 0.5))
    agent = sb.Agent(sb.UCB(large))
    agent.learn([1, 0, 0, 0, 0], [1, 0, 0, 0, 0])
    assert agent.misfit is None


def test_a_snapshot_keeps_the_largest_e_value() -> None:
    agent = sb.Agent(sb.UCB(TABLE))
    agent.learn([40, 40], [38, 38])
    before = agent.misfit
    agent.learn([4000, 4000], [2000, 1000])  # agrees with model A again
    assert before is not None
    assert agent.misfit is not None
    assert agent.misfit.e_value >= before.e_value > 100.0
    restored = sb.Agent.from_json(agent.to_json(), sb.UCB(TABLE))
    assert restored.misfit == agent.misfit


@pytest.mark.parametrize(
    "inner",
    [
        sb.ModelTS(TABLE),
        sb.SUCB.paper(TABLE, alpha=0.5),
        sb.SAE.paper(TABLE, 1000, alpha=0.25),
        sb.SUCB.paper(sb.lipschitz([0.0, 1.0], 0.125), alpha=0.5),
    ],
    ids=["ModelTS", "SUCB", "SAE", "polytope"],
)
@pytest.mark.parametrize("explore", [0.0, 1.0])
def test_guards_are_policies(inner: sb.Policy, explore: float) -> None:
    guarded = sb.Guarded(inner, level=0.2, explore=explore)
    check_policy(guarded, compiled=False, pulls=60, tapes=4, long_pulls=200)


def test_an_alarm_overturns_the_plan_of_an_agent_whose_rewards_are_late() -> None:
    policy = sb.Guarded(sb.SAE.paper(TABLE, 10**6), level=0.05)
    agent = sb.Agent(policy)
    first, *others = agent.ask(n=40)
    for decision in others:
        agent.tell(decision.id, 1.0)
    assert agent.active_arms == (0, 1)
    assert agent._state.rung[0] == 0  # the first reward is out, so nothing counts yet
    agent.tell(first.id, 1.0)
    assert 0 < agent._state.rung[0] < 40
    assert int(agent.plan.sum()) == 1  # KL-UCB plans pulls, SAE thousands


# ------------------------------------------------------------------------------ parts of a batch


def batch_of(pulls: int) -> sb.Agent:
    """An agent with so many decisions out."""
    agent = sb.Agent(sb.SUCB.paper(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])))
    decisions = agent.ask(pulls)
    assert {each.arm for each in decisions} == {0}
    return agent


@pytest.mark.parametrize("single_first", [True, False])
def test_a_single_result_in_the_place_of_a_batch_counts(single_first: bool) -> None:
    """Found in review: parts that came later took its place, and it was never tested."""
    agent = batch_of(3)
    steps = [
        lambda: agent.tell(2, 1.0),
        lambda: agent.tell_totals([0], [1, 0], [1, 0], until=2),
    ]
    for step in steps if single_first else reversed(steps):
        step()
    assert (agent.waiting_count, agent.tested.pulls.tolist()) == (2, [0, 0])
    again = sb.Agent.from_json(agent.to_json(), agent.policy)
    for each in (agent, again):
        each.tell(1, 0.0)
        assert (each.pending_count, each.waiting_count) == (0, 0)
        assert (each.tested.pulls.tolist(), each.tested.sums.tolist()) == ([3, 0], [2.0, 0.0])


def test_a_part_that_fails_leaves_a_single_result_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = batch_of(4)
    agent.tell(3, 1.0)
    before = agent.to_json()
    with monkeypatch.context() as patch:
        patch.setattr(agent, "_make_plan", lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            agent.tell_totals([0], [1, 0], [1, 0], until=3)
    assert agent.to_json() == before
    for decision in (0, 1, 2):
        agent.tell(decision, 0.0)
    assert (agent.waiting_count, agent.tested.pulls.tolist()) == (0, [4, 0])


@pytest.mark.parametrize("until", [True, 2.0, "2", 0, 3, -1])
def test_the_end_of_a_batch_is_a_decision(until: Any) -> None:
    agent = batch_of(3)
    before = agent.to_json()
    with pytest.raises(sb.DecisionError, match=r"until=.*: expected a decision from 1 to 2"):
        agent.tell_totals([1], [1, 0], [1, 0], until=until)
    assert agent.to_json() == before
    agent.tell_totals([1], [1, 0], [1, 0], until=np.int64(2))
    assert sb.Agent.from_json(agent.to_json(), agent.policy).waiting_count == 1
