"""The live agent: the same play as the simulation, whatever happens to the rewards."""

from __future__ import annotations

import json
import re
import tracemalloc
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import draw_case
from support.play import play
from support.snapshots import resealed

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right

R = figure1_right()
L = figure1_left()


def policies(structure: Any, horizon: int, alpha: float) -> list[Any]:
    chosen = [
        sb.UCB(structure, alpha=alpha),
        sb.ImprovedUCB(structure, horizon),
        sb.SUCB.paper(structure, alpha=alpha),
        sb.SAE.paper(structure, horizon, alpha=alpha),
        sb.ASAE.paper(structure, alpha=alpha),
        sb.ASAE.paper(structure, alpha=alpha, reading="pseudocode"),
        sb.GreedyMLE(structure),
    ]
    return chosen + ([sb.WAGP(structure)] if isinstance(structure, sb.CurveStructure) else [])


class Payer:
    """Pays the rewards of a tape, arm by arm in the order of asking."""

    def __init__(self, rewards: Any) -> None:
        self.rewards, self.count = rewards, np.zeros(len(rewards), int)

    def __call__(self, arm: int) -> float:
        self.count[arm] += 1
        return float(self.rewards[arm][self.count[arm] - 1])


@pytest.mark.parametrize("index", range(25))
def test_asking_and_telling_plays_what_the_simulation_plays(index: int) -> None:
    case = draw_case(40, index, "curves" if index % 2 else "finite", full_size=False)
    for policy in policies(case.structure, case.horizon, case.alpha):
        agent, pay = sb.Agent(policy, seed=5), Payer(case.rewards)
        asked = []
        for _ in range(case.horizon):
            decision = agent.ask()
            assert not decision.extra
            asked.append(decision.arm)
            agent.tell(decision.id, pay(decision.arm))
        played = play(policy, case.rewards, case.horizon, compiled=False, planning=True, seed=5)
        assert asked == played.arms
        assert agent.pulls.tolist() == np.bincount(asked, minlength=policy.n_arms).tolist()
        assert agent.empty >= played.empty  # it has already planned what comes next


@pytest.mark.parametrize("index", range(10))
def test_learning_whole_plans_is_the_same_as_telling_one_by_one(index: int) -> None:
    case = draw_case(41, index, "finite", full_size=False)
    length = case.horizon
    tape = np.hstack([case.rewards] * 60)  # plans may go on beyond the horizon
    for policy in policies(case.structure, length, case.alpha):
        one, other = sb.Agent(policy), sb.Agent(policy)
        pay_one, pay_other = Payer(tape), Payer(tape)
        while other.pulls.sum() < length:
            plan = np.minimum(other.plan, 40 * length // policy.n_arms)
            sums = [sum(pay_other(arm) for _ in range(plan[arm])) for arm in range(policy.n_arms)]
            other.learn(plan, sums)
            for _ in range(plan.sum()):
                decision = one.ask()
                one.tell(decision.id, pay_one(decision.arm))
            assert (one.pulls == other.pulls).all()
        assert one.active_arms == other.active_arms
        assert one.empty == other.empty


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(0, 9), min_size=30, max_size=300))
def test_whatever_happens_to_rewards_every_told_one_counts_once(seed: int, luck: list[int]) -> None:
    """Random asking ahead, telling out of order, losing, cancelling and saving."""
    rng = np.random.default_rng(seed)
    policy = policies(L, 500, 0.5)[seed % 8]
    agent = sb.Agent(policy)
    told = np.zeros(3, int)
    for event in luck:
        pending = agent.pending
        if event < 5 or not pending:
            decision = agent.ask()
            assert decision in agent.pending
        elif event < 8:
            decision = pending[rng.integers(len(pending))]
            agent.tell(decision.id, float(rng.integers(2)))
            told[decision.arm] += 1
        elif event < 9:
            agent.cancel(pending[rng.integers(len(pending))].id)
        else:
            agent = sb.Agent.from_json(agent.to_json(), policy)
        assert agent.pulls.tolist() == told.tolist()
    assert agent.plan.sum() > 0


def test_more_asks_than_the_plan_holds_go_on_with_the_next_phase_and_are_counted() -> None:
    agent = sb.Agent(sb.SAE.paper(R, 1000))
    size = int(agent.plan.sum())
    asked = [agent.ask() for _ in range(size + 6)]
    assert [decision.arm for decision in asked[size:]] == [0, 1, 2, 3, 0, 1]
    assert [decision.extra for decision in asked] == [False] * size + [True] * 6
    assert agent.extra_decisions == 6
    for decision in asked:
        agent.tell(decision.id, 1.0)
    assert agent.pulls.sum() == size + 6  # the extra rewards count


def test_a_lost_reward_never_freezes_the_agent() -> None:
    """The reward of the first decision never comes; the agent still gets through its phases."""
    agent = sb.Agent(sb.SAE.paper(R, 10_000))
    rng = np.random.default_rng(0)
    lost = agent.ask()
    for _ in range(4000):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < R.means(0)[decision.arm]))
    assert agent.pending == (lost,)
    assert agent.active_arms != (0, 1, 2, 3)
    assert agent.extra_decisions > 3000  # every decision after those of the first plan
    agent.tell(lost.id, 1.0)  # and it may come after all
    assert agent.pending == ()


def test_a_cancelled_decision_is_asked_again() -> None:
    agent = sb.Agent(sb.SAE.paper(R, 1000))
    size = int(agent.plan.sum())
    decisions = [agent.ask() for _ in range(size)]
    agent.cancel(decisions[7].id)
    again = agent.ask()
    assert (again.arm, again.extra) == (decisions[7].arm, False)
    assert agent.ask().extra


def test_a_late_reward_of_an_earlier_plan_makes_it_plan_anew() -> None:
    agent = sb.Agent(sb.UCB(2, alpha=0.01))
    late = agent.ask()
    for reward in (1.0, 1.0):  # the other arm, then an extra decision in place of the late one
        decision = agent.ask()
        agent.tell(decision.id, reward)
    agent.learn([300, 600], [300, 0])
    assert agent.plan.tolist() == [1, 0]
    agent.tell(late.id, 0.0)
    assert agent.pulls.tolist() == [301, 602]
    fresh = sb.Agent(sb.UCB(2, alpha=0.01))
    fresh.learn(agent.pulls, agent._state.data.sums)
    assert agent.plan.tolist() == fresh.plan.tolist()


def test_logged_data_before_the_start() -> None:
    agent = sb.Agent(sb.SAE.paper(R, 10_000))
    agent.learn([350, 350, 350, 350], [280, 245, 210, 175])  # the means of the first model
    assert agent.active_arms == (0, 1)  # the radius 0.229 removes all but the gap of 0.22
    assert agent.empty == 0


def test_the_agent_says_when_the_structure_is_wrong() -> None:
    for policy in (sb.SAE.paper(R, 10_000), sb.SUCB.paper(R), sb.ASAE.paper(R)):
        agent = sb.Agent(policy)
        for _ in range(3000):
            decision = agent.ask()
            agent.tell(decision.id, 0.0)
        assert agent.empty > 0
        assert "empty=" in repr(agent)


def test_active_arms_shrink_and_are_named() -> None:
    names = ["a", "b", "c", "d"]
    structure = sb.FiniteStructure([R.means(model) for model in range(4)], arms=names)
    agent = sb.Agent(sb.SUCB.paper(structure))
    assert agent.ask().name == "b"
    assert agent.active_arms == (0, 1, 2, 3)
    agent.learn([5000, 5000, 5000, 5000], [4000, 3500, 3000, 2500])
    assert agent.active_arms == (0,)


@pytest.mark.parametrize("index", range(8))
def test_a_restored_agent_asks_the_same_arms(index: int) -> None:
    case = draw_case(42, index, "curves" if index % 2 else "finite", full_size=False)
    for policy in policies(case.structure, case.horizon, case.alpha):
        rng = np.random.default_rng(index)
        agent = sb.Agent(policy, seed=3)
        for step in range(150):
            decision = agent.ask()
            if step % 7:  # some stay pending
                agent.tell(decision.id, float(rng.integers(2)))
        text = agent.to_json()
        twin = sb.Agent.from_json(text, policy)
        assert twin.to_json() == text
        assert twin.pending == agent.pending
        for _ in range(150):
            mine, theirs = agent.ask(), twin.ask()
            assert mine == theirs
            reward = float(rng.integers(2))
            agent.tell(mine.id, reward)
            twin.tell(theirs.id, reward)
        assert twin.to_json() == agent.to_json()


def test_snapshots_are_plain_json_with_the_structure_by_hash() -> None:
    text = sb.Agent(sb.SAE.paper(R, 100)).to_json()
    saved = json.loads(text, parse_constant=pytest.fail)  # no NaN, no Infinity
    assert saved["structured_bandits_agent"] == 3
    assert saved["content"]["policy"]["structure"] == R.fingerprint
    assert saved["content"]["library"] == sb.__version__
    assert "0.92" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "{", "the snapshot is not JSON"),
        (
            lambda text: "[]",
            "the snapshot has version None; this version of the library reads 1 to 3",
        ),
        (lambda text: text.replace('agent":3', 'agent":99'), "the snapshot has version 99"),
        (lambda text: text.replace('"told":[0', '"told":[1'), "the snapshot was edited or damaged"),
        (
            lambda text: resealed(json.loads(text.replace('"pulls"', '"pills"'))),
            "the snapshot is damaged: KeyError 'pulls'",
        ),
        (
            lambda text: resealed(json.loads(text.replace('"told":[0,', '"told":['))),
            "the snapshot is damaged",
        ),
        (
            lambda text: resealed(json.loads(text.replace('"told":[0,', '"told":[-1,'))),
            "the snapshot is damaged",
        ),
        (lambda text: '{"structured_bandits_agent": 1, "policy": "x"}', "the snapshot has version"),
        (lambda text: '{"structured_bandits_agent": 3, "content": 1}', "the snapshot has version"),
    ],
)
def test_damaged_snapshots_are_refused(change: Any, message: str) -> None:
    policy = sb.SAE.paper(R, 100)
    with pytest.raises(sb.FileFormatError, match=re.escape(message)):
        sb.Agent.from_json(change(sb.Agent(policy).to_json()), policy)


@pytest.mark.parametrize(
    ("policy", "what"),
    [
        (sb.SAE.paper(R, 200), "parameters"),
        (sb.SUCB.paper(R), "class"),
        (sb.SAE.paper(L, 100), "arms"),
        (sb.SAE.paper(sb.FiniteStructure(R.cells.table[::-1]), 100), "structure"),
    ],
)
def test_a_snapshot_of_another_policy_is_refused(policy: Any, what: str) -> None:
    text = sb.Agent(sb.SAE.paper(R, 100)).to_json()
    with pytest.raises(sb.FileFormatError, match=f"does not fit the policy: its {what}"):
        sb.Agent.from_json(text, policy)


def test_bad_rewards_and_ids_change_nothing() -> None:
    agent = sb.Agent(sb.SAE.paper(R, 100))
    first, second = agent.ask(), agent.ask()
    agent.tell(first.id, 1.0)
    agent.cancel(second.id)
    third = agent.ask()
    before = agent.to_json()
    refused: list[tuple[Any, type[Exception], str]] = [
        (
            lambda: agent.tell(first.id, 1.0),
            sb.DecisionError,
            "decision 0 was already told or cancelled",
        ),
        (
            lambda: agent.tell(second.id, 1.0),
            sb.DecisionError,
            "decision 1 was already told or cancelled",
        ),
        (
            lambda: agent.cancel(first.id),
            sb.DecisionError,
            "decision 0 was already told or cancelled",
        ),
        (
            lambda: agent.tell(77, 1.0),
            sb.DecisionError,
            "decision 77 is unknown: no ask() returned it",
        ),
        (lambda: agent.tell("x", 1.0), sb.DecisionError, "decision 'x' is unknown"),
        (lambda: agent.tell(True, 1.0), sb.DecisionError, "decision True is unknown"),
        (lambda: agent.tell(np.int64(0), 1.0), sb.DecisionError, "was already told or cancelled"),
        (lambda: agent.tell(third, 1.0), sb.DecisionError, "pass its id, 2"),
        (lambda: agent.tell(third.id, "0.5"), sb.RewardError, "reward='0.5': expected"),
        (lambda: agent.learn([1e300, 0, 0, 0], [0] * 4), sb.RewardError, "less than 2**52"),
        (
            lambda: agent.tell(third.id, 1.5),
            sb.RewardError,
            "reward=1.5: expected a number in [0, 1]",
        ),
        (lambda: agent.tell(third.id, float("nan")), sb.RewardError, "reward=nan: expected"),
        (lambda: agent.tell(third.id, "high"), sb.RewardError, "reward='high': expected"),
        (lambda: agent.learn([1, 1], [1, 1]), sb.RewardError, "expected (4,) each"),
        (
            lambda: agent.learn([1, -1, 0, 0], [1, 1, 0, 0]),
            sb.RewardError,
            "expected whole numbers >= 0",
        ),
        (
            lambda: agent.learn([1, 0.5, 0, 0], [1, 0, 0, 0]),
            sb.RewardError,
            "expected whole numbers >= 0",
        ),
        (
            lambda: agent.learn([2, 0, 0, 0], [2.5, 0, 0, 0]),
            sb.RewardError,
            "sums[0]=2.5: 2 rewards in [0, 1] sum to between 0 and 2",
        ),
        (lambda: agent.learn([0, 0, 0, 0], [1, 0, 0, 0]), sb.RewardError, "sums[0]=1: 0 rewards"),
        (lambda: agent.learn("ab", [1]), sb.RewardError, "expected one number per arm"),
    ]
    for call, kind, message in refused:
        with pytest.raises(kind, match=re.escape(message)):
            call()
        assert agent.to_json() == before


def test_rounded_sums_are_taken_and_nothing_is_nothing() -> None:
    agent = sb.Agent(sb.UCB(2, reward_range=(0, 0.1)))
    agent.learn([15, 0], [sum([0.1] * 15), 0])  # a little more than 1.5
    before = agent.to_json()
    agent.learn([0, 0], [0, 0])
    assert agent.to_json() == before


def test_unbounded_rewards_are_taken() -> None:
    agent = sb.Agent(sb.UCB(2, reward_range=None, sigma=1.0))
    decision = agent.ask()
    agent.tell(decision.id, -37.5)
    assert agent.pulls.sum() == 1


class Armless(NamedTuple):
    """A policy that does not say how many arms it has."""

    def init(self) -> Any:
        return ()

    def plan(self, state: Any, now: sb.Now, quota: Any, rng: Any) -> int:
        return 0

    def observe(self, state: Any, seen: sb.Seen) -> None:
        pass


def test_an_agent_needs_a_policy() -> None:
    with pytest.raises(sb.ParameterError, match="expected a policy such as"):
        sb.Agent(object())
    with pytest.raises(sb.ParameterError, match="expected a policy with n_arms"):
        sb.Agent(Armless())


def test_empty_sets_are_counted_as_they_are_met() -> None:
    """Found in review: a long plan on an empty set was counted at once, though rewards may change it."""
    policy = sb.SUCB.paper(sb.FiniteStructure([[0.9, 0.1], [0.8, 0.2]]), alpha=0.01)
    agent = sb.Agent(policy)
    for _ in range(5):
        agent.tell(agent.ask().id, 0.0)
    assert 1 <= agent.empty <= 5


def test_very_many_pending_decisions_are_small_and_come_back() -> None:
    """A million of them take at most 40 MB: 40 bytes each."""
    policy, count = sb.ImprovedUCB(10, 10**6), 50_000
    agent = sb.Agent(policy)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(count):
        agent.ask()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert used <= 40 * count
    for decision in list(agent.pending)[::2]:
        agent.tell(decision.id, 1.0)
    text = agent.to_json()
    twin = sb.Agent.from_json(text, policy)
    assert len(agent.pending) == count // 2
    assert twin.pending == agent.pending
    assert twin.to_json() == text


def test_a_snapshot_holds_no_scratch_memory() -> None:
    table = np.random.default_rng(0).random((1000, 10))
    structured = sb.Agent(sb.SUCB.paper(sb.FiniteStructure(table))).to_json()
    assert len(structured) < len(sb.Agent(sb.UCB(10)).to_json()) + 500


def test_squares_are_unknown_only_where_nobody_knows_them() -> None:
    policy = sb.UCB(2)
    agent = sb.Agent(policy)
    agent.learn([4, 0], [2.0, 0.0])
    agent.learn([0, 2], [0.0, 1.5], squares=[0.0, 1.25])
    assert np.isnan(agent._seen.squares[0])
    assert agent._seen.squares[1] == 1.25
    twin = sb.Agent.from_json(agent.to_json(), policy)
    assert twin.to_json() == agent.to_json()
    with pytest.raises(sb.RewardError, match=r"squares\[0\]=3: 4 rewards .* between 1 and 2"):
        agent.learn([4, 0], [2.0, 0.0], squares=[3.0, 0.0])


# ------------------------------------------------------------------------- beyond the horizon

TWO = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
UP_TO_3 = {
    "SAE": sb.SAE.paper(TWO, 3),
    "MOSS": sb.MOSS(2, horizon=3),
    "KLUCB": sb.KLUCB(2, variant="++", horizon=3),
    "Guarded": sb.Guarded(sb.SAE.paper(TWO, 3)),
}


@pytest.mark.parametrize("name", UP_TO_3)
def test_asking_beyond_the_horizon_warns_once(name: str) -> None:
    """Rewards that are out count as pulls; a restored agent has warned already."""
    agent = sb.Agent(UP_TO_3[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.tell(agent.ask().id, 1.0)
        agent.ask(2)
    with pytest.warns(
        sb.HorizonWarning, match="is tuned for horizon=3 and is asked for pull number 4. Beyond"
    ) as caught:
        agent.ask()
    assert [warning.filename for warning in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.ask()
        sb.Agent.from_json(agent.to_json(), agent.policy).ask()


def test_learning_beyond_the_horizon_warns() -> None:
    agent = sb.Agent(sb.SAE.paper(TWO, 3))
    with pytest.warns(sb.HorizonWarning, match="horizon=3 and has the results of 4 pulls"):
        agent.learn([2, 2], [1, 1])


def test_policies_without_a_horizon_never_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sb.Agent(sb.MOSS(2)).learn([500, 500], [100, 100])
        sb.Agent(sb.KLUCB(2, horizon=3)).learn([500, 500], [100, 100])  # a use in "++" alone
