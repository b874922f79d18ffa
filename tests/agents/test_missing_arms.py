"""Arms that are not available now, and arms that are parked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right

R = figure1_right()
NAMED = sb.FiniteStructure([[0.8, 0.3, 0.5], [0.2, 0.7, 0.5]], arms=["tea", "coffee", "water"])


@pytest.mark.parametrize(
    "policy",
    [
        sb.UCB(4),
        sb.SUCB.paper(R, alpha=0.5),
        sb.SAE.paper(R, 500, alpha=0.2),
        sb.ASAE.paper(R, alpha=0.2),
        sb.ImprovedUCB(4, 30),
        sb.ThompsonSampling(4),
    ],
    ids=lambda policy: type(policy).__name__,
)
@pytest.mark.parametrize("late", [False, True])
def test_with_all_arms_available_nothing_changes(policy: Any, late: bool) -> None:
    rng = np.random.default_rng(5)
    plain, asked = sb.Agent(policy, seed=2), sb.Agent(policy, seed=2)
    out: list[Any] = []
    for step in range(300):
        out.append(plain.ask())
        assert (
            asked.ask(available=[0, policy.arm_names[1], 2, 3] if step % 2 else range(4)) == out[-1]
        )
        while out and (not late or rng.random() < 0.45):
            each = out.pop(int(rng.integers(len(out))))
            reward = float(rng.random() < R.means(1)[each.arm])
            plain.tell(each.id, reward)
            asked.tell(each.id, reward)
    assert asked.to_json() == plain.to_json()
    assert plain.extra_decisions > 50 if late else plain.extra_decisions == 0


def test_a_plan_is_served_in_the_order_in_which_its_arms_are_there() -> None:
    agent = sb.Agent(sb.SAE.paper(R, 1000))
    wanted = agent.plan
    for _ in range(int(wanted[2])):
        decision = agent.ask(available=[2])
        assert (decision.arm, decision.reason) == (2, "plan")
        agent.tell(decision.id, 1.0)
    restricted = agent.ask(available=[2])
    assert (restricted.arm, restricted.reason, restricted.extra) == (2, "restricted", False)
    agent.tell(restricted.id, 1.0)
    assert agent.pulls[2] == wanted[2] + 1  # its reward counts
    assert agent.plan.tolist() == [wanted[0], wanted[1], 0, wanted[3]]


def test_the_choice_among_available_arms_is_optimistic() -> None:
    """Arms 0 and 1 are refuted as best, arm 2 is best; without it the models say 0, not 1."""
    table = [[0.5, 0.3, 0.9], [0.5, 0.3, 0.8], [0.9, 0.1, 0.2]]
    agent = sb.Agent(sb.SUCB.paper(sb.FiniteStructure(table), alpha=0.5))
    agent.learn([0, 2, 400], [0, 2, 340])
    assert agent.active_arms == (2,)
    assert agent.ask().arm == 2
    # By its own rewards arm 1 is far better, and arm 0 unknown; by the models 0 has 0.5 and 1 has 0.3.
    assert agent.ask(available=[0, 1]) == sb.Decision(1, 0, "0", False, "restricted")


def test_without_a_model_that_fits_the_own_bound_decides() -> None:
    agent = sb.Agent(
        sb.SUCB.paper(sb.FiniteStructure([[0.9, 0.1, 0.5], [0.1, 0.9, 0.5]]), alpha=0.1)
    )
    agent.learn([500, 500, 500], [250, 300, 200])
    assert agent.empty > 0
    arms = {agent.ask(available=[0, 2]).arm, agent.ask(available=[2, 0]).arm}
    assert arms == {0}
    assert sb.Agent(sb.UCB(3)).ask(available=[1]).arm == 1


def test_pending_restricted_decisions_spread_over_the_available_arms() -> None:
    agent = sb.Agent(sb.UCB(3))
    agent.learn([50, 50, 50], [40, 20, 20])
    asked = [agent.ask(available=[1, 2]) for _ in range(200)]
    assert {each.reason for each in asked} == {"restricted"}
    assert sum(each.arm == 1 for each in asked) in range(80, 121)


class InTurn(sb.Agent):
    """The wrong answer: the other active arms in turn, any if there are none."""

    turn = 0

    def _restricted(self, allowed: Any) -> int:
        here = [arm for arm in self.active_arms if allowed[arm]] or np.flatnonzero(allowed)
        self.turn += 1
        return int(here[self.turn % len(here)])


class ByOwnBound(sb.Agent):
    """A better one: the highest upper end of an arm's own interval."""

    def _restricted(self, allowed: Any) -> int:
        level = self.policy.widths_at(self._state, self._t)  # type: ignore[attr-defined]
        _, highest = level.intervals(self._seen.pulls, self._seen.sums)
        return int(np.where(allowed, highest, -np.inf).argmax())


def regret(agent: Any, means: Any, pulls: int, seed: int) -> float:
    """The regret against the best available arm, if the best of all is missing half of the time."""
    rng = np.random.default_rng(seed)
    every = np.arange(len(means))
    total = 0.0
    for _ in range(pulls):
        here = every if rng.random() < 0.5 else np.delete(every, means.argmax())
        decision = agent.ask(available=here)
        agent.tell(decision.id, float(rng.random() < means[decision.arm]))
        total += means[here].max() - means[decision.arm]
    return total


def test_missing_arms_cost_least_if_the_structure_helps_to_choose() -> None:
    """Six random structures; measured 2,545, 357 and 243 at 3,000 pulls when this was written."""
    totals = dict.fromkeys((InTurn, ByOwnBound, sb.Agent), 0.0)
    for index in range(6):
        table = np.random.default_rng([5, index]).uniform(0.1, 0.9, (12, 6)).round(3)
        policy = sb.SAE(sb.FiniteStructure(table), 1500, alpha=0.5, confidence="kl")
        for kind in totals:
            totals[kind] += regret(kind(policy), table[index], 1500, index)
    assert totals[sb.Agent] < 0.85 * totals[ByOwnBound]
    assert totals[ByOwnBound] < 0.3 * totals[InTurn]


def test_bad_arms_are_refused_and_change_nothing() -> None:
    agent = sb.Agent(sb.SUCB.paper(NAMED))
    before = agent.to_json()
    for available, kind, message in (
        (["milk"], sb.StructureError, "available arm='milk' is unknown; known are 'tea', 'coffee'"),
        ([3], sb.StructureError, "available arm=3 is outside 0 to 2"),
        ([True], sb.StructureError, "available arm=True: give an index"),
        ([], sb.ParameterError, r"available=\[\]: expected at least one arm"),
        ("tea", sb.ParameterError, r"expected a collection of arms, as in \['tea'\]"),
        (2, sb.ParameterError, "available=2: expected a collection of arms"),
    ):
        with pytest.raises(kind, match=message):
            agent.ask(available=available)  # type: ignore[call-overload]
    with pytest.raises(sb.StructureError, match="arm='milk' is unknown"):
        agent.park("milk")
    assert agent.to_json() == before


def test_parked_arms_are_never_given_and_not_all_can_be() -> None:
    agent = sb.Agent(sb.UCB(NAMED))
    agent.park("tea")
    agent.park(0)  # again
    assert agent.parked == (0,)
    assert {each.arm for each in agent.ask(n=50)} == {1, 2}
    agent.park(2)
    with pytest.raises(sb.ParameterError, match="arm='coffee': it is the last one"):
        agent.park("coffee")
    with pytest.raises(sb.ParameterError, match="parked are 'tea', 'water'"):
        agent.ask(available=["tea", "water"])
    assert agent.ask().name == "coffee"
    agent.unpark("tea")
    agent.unpark("tea")
    assert agent.parked == (2,)
    assert agent.ask(available=["tea"]).name == "tea"


@pytest.mark.parametrize(
    "make",
    [
        lambda: sb.SAE.paper(R, 2000, alpha=0.5),
        lambda: sb.ASAE.paper(R, alpha=0.5),
        lambda: sb.ImprovedUCB(4, 2000),
    ],
)
def test_phases_close_without_a_parked_arm_and_the_next_plan_makes_up_for_it(make: Any) -> None:
    agent = sb.Agent(make())
    rng = np.random.default_rng(0)

    def play(count: int) -> None:
        for _ in range(count):
            decision = agent.ask()
            agent.tell(decision.id, float(rng.random() < 0.5 + 0.1 * (decision.arm == 3)))

    play(6)
    before = agent.pulls
    plans = agent._plans
    agent.park(3)
    play(400)
    assert agent._plans > plans + 1  # phases went on
    assert agent.pulls[3] == before[3]
    assert 3 in agent.active_arms
    agent.unpark(3)
    assert agent.plan[3] > 0
    assert agent.plan[3] >= agent.plan.max()


def test_a_plan_waits_for_the_pending_rewards_of_a_parked_arm_only() -> None:
    agent = sb.Agent(sb.SAE.paper(figure1_left(), 1000))
    wanted = int(agent.plan[0])
    asked = agent.ask(n=6)
    agent.park(0)
    assert agent.plan.tolist() == [2, wanted, wanted]
    agent.cancel(asked[0].id)
    assert agent.plan.tolist() == [1, wanted, wanted]
    for each in asked[1:]:
        agent.tell(each.id, 1.0)
    assert agent.plan.tolist() == [0, wanted - 2, wanted - 2]
    while agent._plans == 1:
        decision = agent.ask()
        assert (decision.arm > 0, decision.reason) == (True, "plan")
        agent.tell(decision.id, 1.0)
    assert agent.pulls[0] == 1
    assert 0 in agent.active_arms


def test_if_only_parked_arms_are_left_in_the_race_the_others_are_played_by_optimism() -> None:
    agent = sb.Agent(sb.SAE.paper(R, 5000))
    agent.learn([3000] * 4, (3000 * R.means(0)).tolist())
    assert agent.active_arms == (0,)
    agent.park(0)
    for _ in range(30):
        decision = agent.ask()
        assert (decision.arm, decision.reason) == (1, "restricted")
        agent.tell(decision.id, 1.0)
    assert agent.active_arms == (0,)
    agent.unpark(0)
    assert (agent.ask().arm, agent.ask().reason) == (0, "plan")
