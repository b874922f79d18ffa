"""An agent changes wholly or not at all, whatever raises inside its methods."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.interrupted import Fault, Injector, survive_faults
from support.playable import made, playable

import structured_bandits as sb

TABLE = sb.FiniteStructure([[0.8, 0.2, 0.5], [0.1, 0.9, 0.4], [0.5, 0.5, 0.6]])
CURVE = sb.CurveStructure([sb.Piece(0, 1, [0.1, 0.8, 0.4], [0.9, 0.3, 0.5])])
STRUCTURES = {  # and at how many places of each call a fault is tried
    "table": (TABLE, 3),
    "curve": (CURVE, 2),
    "unimodal": (sb.unimodal(3), 1),
    "linear": (sb.linear([[1, 0], [0.5, 0.5], [0, 1.0]], bounds=(0, 1)), 1),
    "product": (sb.product([sb.FiniteStructure([[0.9, 0.2], [0.3, 0.6]]), sb.unimodal(2)]), 1),
}


class MeansState(NamedTuple):
    pulls: Any
    sums: Any


class Greedy:
    """A user's policy, without any of our classes."""

    n_arms = 3

    def init(self) -> MeansState:
        return MeansState(np.zeros(3, np.int64), np.zeros(3))

    def plan(self, state: Any, now: Any, quota: Any, rng: Any) -> int:
        quota[:] = 0
        quota[int(np.argmax(state.sums - state.pulls + rng.random(3)))] = 2
        return 0

    def observe(self, state: Any, seen: Any) -> None:
        np.add(state.pulls, seen.pulls, state.pulls)
        np.add(state.sums, seen.sums, state.sums)


@pytest.mark.parametrize("kind", STRUCTURES)
def test_a_fault_at_any_place_leaves_the_agent_as_it_was(kind: str) -> None:
    (structure, most), tried = STRUCTURES[kind], 0
    names = playable(structure)
    for number, name in enumerate(names):
        order = "drawn" if number % 3 == 2 else "turn"
        tried += survive_faults(made(name, structure), order, most, seed=number)
    assert tried >= 40 * most * len(names)


@pytest.mark.parametrize("name", ["SUCB", "SAE", "UCBV", "Guarded"])
def test_a_refused_call_changes_nothing_even_if_its_undoing_is_interrupted(name: str) -> None:
    policy, tried = made(name, TABLE), 0
    agent = sb.Agent(policy, seed=3)
    agent.learn([30, 20, 40], [10, 8, 9], [10, 8, 9])
    agent.tell(agent.ask(5)[2].id, 1.0)
    before = agent.to_json()
    for refused in (
        lambda agent: agent.tell(99, 1.0),
        lambda agent: agent.learn([1, 1, 1], [2, 0, 0]),
    ):
        counter = Injector(agent)
        with pytest.raises((sb.DecisionError, sb.RewardError)):
            counter.play(refused)
        for place in range(counter.passed):
            with pytest.raises((Fault, sb.DecisionError, sb.RewardError)):
                Injector(agent, place).play(refused)
            assert agent.to_json() == before, place
        tried += counter.passed
    assert tried >= 200


def test_a_policy_of_a_users_own_is_put_back_too() -> None:
    assert survive_faults(Greedy(), "drawn", most=20, seed=1) >= 500


def test_an_ask_whose_warning_is_an_error_hands_out_nothing() -> None:
    agent = sb.Agent(sb.SAE.paper(TABLE, 2))
    agent.ask(2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sb.HorizonWarning):
            agent.ask()
    assert (agent.pending_count, agent.next_id) == (2, 2)


class Moody(Greedy):
    """A policy that fails to plan whenever it is in the mood."""

    fails = False

    def plan(self, state: Any, now: Any, quota: Any, rng: Any) -> int:
        if self.fails:
            raise ZeroDivisionError("a bad day")
        return super().plan(state, now, quota, rng)


def test_a_reward_whose_plan_fails_may_be_sent_again_and_counts_once() -> None:
    policy = Moody()
    agent = sb.Agent(policy)
    one, two = agent.ask(2)
    agent.tell(one.id, 1.0)
    policy.fails = True
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            agent.tell(two.id, 0.0)
        with pytest.raises(ZeroDivisionError):
            agent.learn([3, 3, 3], [1, 1, 1])
    policy.fails = False
    agent.tell(two.id, 0.0)
    assert agent.rewards == 2
    assert agent.ask().arm in range(3)
    with pytest.raises(sb.DecisionError, match="already told"):
        agent.tell(two.id, 0.0)
