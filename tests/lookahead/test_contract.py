"""The contract of lookaheads: speed and nothing else (lookahead/base.py)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.definitions import CASES, compare, without_lookaheads

import structured_bandits as sb
from structured_bandits.lookahead import base
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import POLICIES
from structured_bandits.testing.tapes import play

TAPES = 8


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_without_any_lookahead_the_same_arms_are_played(kind: str, name: str) -> None:
    met = sum((compare(kind, name, index) for index in range(TAPES)), start=compare(kind, name, 99))
    drawn = name in ("ModelTS", "ThompsonSampling", "TSC", "IDS", "ModelTS-doubt", "WAGP")
    singly = name in ("UCBV", "Guarded-ModelTS", "ISAE-threshold") or (
        kind == "curve" and name in ("GreedyMLE", "SUCB-likelihood")
    )
    singly = singly or name.endswith("C-likelihood")  # likelihood sets are asked before each pull
    assert met["saved"] > 0 or drawn or singly, "with a lookahead there are fewer decisions"


def test_every_policy_that_chooses_has_been_compared() -> None:
    compared = {name.partition("-")[0].removesuffix("++") for _, name in CASES}
    choosing = {name for name, kind in POLICIES.items() if kind.chooses}
    assert choosing <= compared


def test_a_subclass_inherits_no_proof() -> None:
    """Its `choose` may be another, so it is played pull by pull."""

    class Stubborn(sb.UCB):
        def choose(self, state: Any, now: sb.Now, rng: Any) -> sb.Choice:
            return sb.Choice(now.t % 2, 0)

    played = play(Stubborn(2), np.ones((2, 50)), 50, compiled=False, planning=True)
    assert played.arms == [0, 1] * 25
    assert played.plans == 50


def test_the_lookahead_of_a_policy_of_the_library_cannot_be_replaced() -> None:
    with pytest.raises(sb.ParameterError, match="UCB has a lookahead already"):
        base.register(sb.UCB, base.Lookahead())
    with pytest.raises(sb.ParameterError, match="SAE is a policy of the library"):
        base.register(sb.SAE, base.Lookahead())


class InTurn(NamedTuple):
    """Pulls each arm ten times in a row."""

    n_arms: int

    def init(self) -> Any:
        return sb.fresh_state(self.n_arms)

    def choose(self, state: Any, now: sb.Now, rng: Any) -> sb.Choice:
        return sb.Choice(now.t // 10 % self.n_arms, 0)


def ten_in_a_row(
    policy: InTurn, state: Any, choice: Any, now: sb.Now, rng: Any, work: Any
) -> Streak:
    return certain_streak(choice.arm, min(10 - now.t % 10, now.limit), 0)


def test_a_policy_of_ones_own_may_have_a_lookahead() -> None:
    rewards = np.random.default_rng(0).integers(0, 2, (3, 100)).astype(float)
    plain = play(InTurn(3), rewards, 95, compiled=False, planning=True)
    base.register(InTurn, base.Lookahead(stretch=ten_in_a_row))
    try:
        for compiled in (False, True):
            fast = play(InTurn(3), rewards, 95, compiled=compiled, planning=True)
            assert fast.arms == plain.arms
            assert (fast.plans, plain.plans) == (10, 95)
    finally:
        del base.LOOKAHEADS[InTurn]


def test_tables_are_prepared_once_and_travel_with_no_copy() -> None:
    import copy

    policy = sb.SUCB.paper(sb.FiniteStructure([[0.8, 0.2], [0.3, 0.6]]))
    tables = base.tables_of(policy)
    assert base.tables_of(policy) is tables
    other = copy.deepcopy(policy)
    assert other == policy
    assert not hasattr(other, "_prepared")


def test_agents_ask_the_definition() -> None:
    """An agent plays on, arm by arm, where no lookahead is registered."""
    structure = sb.FiniteStructure(np.random.default_rng(1).uniform(size=(6, 4)).round(2))
    rewards = np.random.default_rng(2).random(200)

    def arms() -> list[int]:
        agent, found = sb.Agent(sb.SUCB.paper(structure, alpha=0.5)), list[int]()
        for reward in rewards:
            decision = agent.ask()
            found.append(decision.arm)
            agent.tell(decision.id, float(reward < structure.means(2)[decision.arm]))
        return found

    with without_lookaheads():
        plain = arms()
    assert arms() == plain


@pytest.mark.parametrize("make", [sb.SUCB, sb.UCB, lambda s: sb.OSSB(s), sb.ModelTS, sb.Guarded])
def test_a_plan_is_extended_by_what_is_certain(make: Any) -> None:
    """Who hands out many pulls at once gets them; none of them would another reward change."""
    structure = sb.FiniteStructure([[0.9, 0.1], [0.1, 0.9]])
    policy = make(sb.SUCB.paper(structure)) if make is sb.Guarded else make(structure)
    agent = sb.Agent(policy)
    agent.learn([600, 40], [540.0, 4.0])
    before = agent.to_json()
    assert agent.left_to_hand_out == 1
    agent.extend_plan(50)
    pulls = agent.left_to_hand_out
    assert pulls == 1 if policy.randomised else 1 < pulls <= 50
    for worst in (0.0, 1.0):
        twin = sb.Agent.from_json(before, policy)
        for _ in range(pulls):
            decision = twin.ask()
            assert agent.planned[decision.arm] > 0
            twin.tell(decision.id, worst)
    batch = agent.ask(pulls)
    assert [each.reason for each in batch] == ["plan"] * pulls
    agent.extend_plan(50)
    assert agent.left_to_hand_out == 0, "while rewards are out it stays as it is"


def test_a_plan_is_not_changed_by_extending_it() -> None:
    """Found in review: policies that count their choices had another arm planned."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        agent = sb.Agent(sb.OSSB(3, epsilon=0.3))
        for _ in range(int(rng.integers(1, 40))):
            agent.tell(agent.ask().id, float(rng.integers(2)))
        planned = agent.planned
        agent.extend_plan(5)
        assert (agent.planned >= planned).all()


class Own(NamedTuple):
    """A state of a user's own: what `data` is, only its policy knows."""

    data: np.ndarray


class Tally(NamedTuple):
    """Pulls the arm with the most ones."""

    n_arms: int

    def init(self) -> Own:
        return Own(np.zeros((self.n_arms, 2)))

    def choose(self, state: Own, now: sb.Now, rng: Any) -> sb.Choice:
        return sb.Choice(int(state.data[:, 1].argmax()), 0)

    def update(self, state: Own, outcome: sb.Outcome) -> None:
        state.data[outcome.arm] += outcome.pulls, outcome.total


def test_what_a_state_of_ones_own_holds_is_not_guessed() -> None:
    """Found in review: any field named `data` was taken for pulls and sums."""
    for arms in (2, 3):
        agent = sb.Agent(Tally(arms))
        agent.tell(agent.ask().id, 1.0)
        agent.extend_plan(5)
        assert agent.planned.tolist() == [1] + [0] * (arms - 1)
    remembering = base.Lookahead(memory=lambda policy, tables: np.zeros(1))
    base.register(Tally, remembering)
    try:
        assert base.resumed_work(Tally(2), Tally(2).init()) is None
    finally:
        del base.LOOKAHEADS[Tally]


def test_ucb1_in_twelve_lines() -> None:
    """What docs/add-a-policy.md shows: a named tuple with `init` and `choose`."""

    class UCB1(NamedTuple):
        n_arms: int

        def init(self) -> Any:
            return sb.fresh_state(self.n_arms)

        def choose(self, state: Any, now: sb.Now, rng: Any) -> sb.Choice:
            pulls, sums = state.data
            if pulls.min() == 0:  # each arm once first
                return sb.Choice(pulls.argmin(), 0)
            index = sums / pulls + np.sqrt(2 * math.log(now.t) / pulls)
            return sb.Choice(index.argmax(), 0)

    sb.testing.check_policy(UCB1(3), compiled=False)
