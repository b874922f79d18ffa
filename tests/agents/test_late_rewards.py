"""Rewards that are out: what an agent asks meanwhile, and in which order their results are settled."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any, NamedTuple

import numpy as np
import pytest

import structured_bandits as sb
from structured_bandits.agents.ordered_results import WaitingResults
from structured_bandits.experiments.paper.structures import figure1_right

R = figure1_right()
SHOP = sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))


def shares(decisions: Any, arms: int) -> Any:
    return np.bincount([each.arm for each in decisions], minlength=arms)


@pytest.mark.parametrize("confidence", ["hoeffding", "kl"])
def test_without_any_reward_every_candidate_has_a_fair_share(confidence: str) -> None:
    for policy, candidates in (
        (sb.UCB(SHOP, confidence=confidence), range(8)),
        (sb.SUCB.paper(SHOP, confidence=confidence), SHOP.best_arms),
        (sb.SAE.paper(SHOP, 20_000, confidence=confidence), SHOP.best_arms),
        (sb.ASAE.paper(SHOP, confidence=confidence), SHOP.best_arms),
    ):
        asked = sb.Agent(policy).ask(n=2000)
        least = 2000 / (4 * len(candidates))
        assert shares(asked, 8)[list(candidates)].min() >= least, policy
        assert {each.arm for each in asked} == set(candidates)


@pytest.mark.parametrize("policy", [sb.UCB(SHOP), sb.SUCB.paper(SHOP), sb.KLUCB(8)])
def test_with_2000_rewards_out_the_arms_differ(policy: Any) -> None:
    """Offer 5 looks best at first and is not: it does not get all of the visitors meanwhile."""
    agent = sb.Agent(policy)
    rng = np.random.default_rng(3)
    for _ in range(200):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < SHOP.means(0)[decision.arm]))
    asked = agent.ask(n=2000)
    assert all(each.extra == (each.reason == "extra") for each in asked)
    assert sum(each.extra for each in asked) > 1500
    assert shares(asked, 8).max() <= 1500
    assert (shares(asked, 8) >= 100).sum() >= 2


class Ledger:
    """What a naive index policy knows: rewards told, decisions out."""

    def __init__(self, arms: int) -> None:
        self.pulls, self.sums, self.out = np.zeros(arms), np.zeros(arms), np.zeros(arms)

    def indices(self, alpha: float) -> Any:
        """UCB's indices if every pending decision had paid the average of its arm, or 1/2."""
        average = np.where(self.pulls > 0, self.sums / np.maximum(self.pulls, 1), 0.5)
        count = self.pulls + self.out
        radius = np.sqrt(alpha * math.log(count.sum() + 1) / np.maximum(count, 1))
        return np.where(count > 0, average + radius, math.inf)


@pytest.mark.parametrize("seed", range(6))
def test_each_decision_of_ucb_has_the_highest_index_with_pending_pulls_at_their_average(
    seed: int,
) -> None:
    """Plans are certain whatever the rewards, so planning ahead is deciding each pull anew."""
    rng = np.random.default_rng(seed)
    truth, alpha = rng.random(4), float(rng.choice([0.1, 0.5, 2.0]))
    agent, ledger = sb.Agent(sb.UCB(4, alpha=alpha)), Ledger(4)
    out: list[Any] = []
    checked = 0
    for _ in range(800):
        if out and rng.random() < 0.48:
            each = out.pop(int(rng.integers(len(out))))
            reward = float(rng.random() < truth[each.arm])
            agent.tell(each.id, reward)
            ledger.out[each.arm] -= 1
            ledger.pulls[each.arm] += 1
            ledger.sums[each.arm] += reward
            continue
        indices = ledger.indices(alpha)
        out.append(agent.ask())
        ledger.out[out[-1].arm] += 1
        second, first = np.sort(indices)[-2:]
        if first == math.inf or first - second > 1e-9:
            assert indices[out[-1].arm] == first
            checked += 1
    assert checked >= 300


def test_asking_for_several_is_asking_several_times() -> None:
    for policy in (sb.UCB(4), sb.SAE.paper(R, 300), sb.ThompsonSampling(4)):
        one, other = sb.Agent(policy, seed=4), sb.Agent(policy, seed=4)
        rng = np.random.default_rng(0)
        for count in (1, 5, 30, 2):
            decisions = one.ask(n=count)
            assert decisions == tuple(other.ask() for _ in range(count))
            for each in decisions[::2]:
                reward = float(rng.integers(2))
                one.tell(each.id, reward)
                other.tell(each.id, reward)
        assert one.to_json() == other.to_json()
    with pytest.raises(sb.ParameterError, match="n=0"):
        one.ask(n=0)


def test_planning_ahead_believes_nothing_that_was_not_seen() -> None:
    """However much is asked ahead, no phase ends, no arm is dropped and no empty set is counted."""
    for policy in (
        sb.SAE.paper(R, 1000),
        sb.ASAE.paper(R),
        sb.ImprovedUCB(4, 1000),
        sb.SUCB.paper(R, alpha=0.01),
    ):
        agent = sb.Agent(policy)
        agent.learn([3, 3, 3, 3], [3, 0, 0, 0])
        learned = [values.copy() for values in _learned(agent)]
        before = agent.plan.tolist(), agent.active_arms, agent.empty
        asked = agent.ask(n=3000)
        assert sum(each.extra for each in asked) > 1000
        assert (agent.plan.tolist(), agent.active_arms, agent.empty) == before
        assert all((a == b).all() for a, b in zip(_learned(agent), learned, strict=True))


def _learned(agent: Any) -> list[Any]:
    data = [agent._state.data.pulls, agent._state.data.sums]
    names = ("active", "phase", "round", "exponent", "ends", "counted", "carried")
    return data + [getattr(agent._state, name) for name in names if hasattr(agent._state, name)]


@pytest.mark.parametrize("make", [lambda: sb.SAE.paper(R, 500), lambda: sb.ImprovedUCB(4, 500)])
def test_late_rewards_count_towards_the_phase_and_none_ends_early(make: Any) -> None:
    """At any time, each active arm has at least the pulls that the phases before wanted of it."""
    rng = np.random.default_rng(1)
    agent = sb.Agent(make())
    out: list[Any] = []
    first = int(agent.plan.max())
    for _ in range(3000):
        out.append(agent.ask())
        if rng.random() < 0.97:
            each = out.pop(int(rng.integers(len(out))))
            agent.tell(each.id, float(rng.random() < R.means(1)[each.arm]))
        if len(agent.active_arms) < 4 or _phase(agent) > 0:
            assert agent.pulls.min() >= first
    assert _phase(agent) > 0
    target = agent.pulls + agent.plan
    assert len({int(target[arm]) for arm in agent.active_arms if agent.plan[arm]}) <= 1


def _phase(agent: Any) -> int:
    return int(getattr(agent._state, "phase", getattr(agent._state, "round", None))[0])


def test_many_pulls_at_once_lead_asae_into_the_period_in_which_they_end() -> None:
    """As it would be after single pulls: periods of 2, 3, 4, 5, … pulls, one after the other."""
    whole, single = sb.Agent(sb.ASAE.paper(R)), sb.Agent(sb.ASAE.paper(R))
    pulls = np.zeros(4, int)
    for _ in range(300):
        decision = single.ask()
        single.tell(decision.id, 0.5)
        pulls[decision.arm] += 1
    whole.learn(pulls, 0.5 * pulls, 0.25 * pulls)
    assert whole._state.ends[0] == single._state.ends[0]
    assert whole._state.exponent[0] == single._state.exponent[0]


class Recorder(sb.Agent):
    """An agent that notes what is settled."""

    def _settle_next(self, arm: int, reward: float) -> None:
        super()._settle_next(arm, reward)
        self.__dict__.setdefault("settled", []).append((arm, reward))


def in_asked_order(asked: list[Any], rewards: dict[int, Any], out: set[int]) -> list[Any]:
    """The results before the first decision that is out; cancelled ones are passed over."""
    settled = []
    for decision in asked:
        if decision.id in out:
            break
        if decision.id in rewards:
            settled.append((decision.arm, rewards[decision.id]))
    return settled


@pytest.mark.parametrize("seed", range(5))
def test_results_are_settled_in_asked_order_up_to_the_oldest_that_is_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    agent = Recorder(sb.UCB(3))
    asked: list[Any] = []
    rewards: dict[int, float] = {}
    out: set[int] = set()
    for _ in range(600):
        event = rng.random()
        if not out or event < 0.5:
            asked.append(agent.ask())
            out.add(asked[-1].id)
        elif event < 0.52:
            late = agent.expire(int(rng.integers(20)), 1.0)
            assert list(late) == sorted(late)
            rewards.update(dict.fromkeys(late, 1.0))
            out -= set(late)
        else:
            chosen = sorted(out)[int(rng.integers(len(out)) * rng.random())]  # rather old ones
            out.remove(chosen)
            if event < 0.6:
                agent.cancel(chosen)
            else:
                rewards[chosen] = float(rng.random())
                agent.tell(chosen, rewards[chosen])
        expected = in_asked_order(asked, rewards, out)
        assert getattr(agent, "settled", []) == expected
        if rng.random() < 0.1:
            settled = getattr(agent, "settled", [])
            agent = Recorder.from_json(agent.to_json(), agent.policy)
            agent.settled = settled
    assert len(expected) > 100
    assert agent._settled.pulls.sum() == len(expected)
    for each in sorted(out):
        agent.cancel(each)
    assert agent._settled.pulls.tolist() == agent.pulls.tolist()


def settled_sums(
    told: list[tuple[int, list[int], list[float]]], out: set[int]
) -> list[list[float]]:
    """Pulls and sums of what was told, by the last decision of each part, and before all that is out."""
    pulls, sums = [0.0, 0.0], [0.0, 0.0]
    for last, counts, totals in told:
        if not out or last < min(out):
            for arm in (0, 1):
                pulls[arm] += counts[arm]
                sums[arm] += totals[arm]
    return [pulls, sums]


@pytest.mark.parametrize("seed", range(3))
def test_results_told_together_wait_for_what_was_asked_before_the_last_of_them(seed: int) -> None:
    rng = np.random.default_rng([seed, 4])
    agent, out, told = sb.Agent(sb.UCB(2)), set[int](), []
    waited = 0
    for _ in range(300):
        event = rng.random()
        if len(out) < 2 or event < 0.5:
            out |= {each.id for each in agent.ask(n=3)}
        elif event < 0.55:
            lost = min(out)
            out.remove(lost)
            agent.cancel(lost)
        else:
            chosen = rng.choice(sorted(out), size=1 + (event > 0.7), replace=False).tolist()
            counts = [sum(agent.pending_arm(each) == arm for each in chosen) for arm in (0, 1)]
            sums = [0.25 * count for count in counts]
            agent.tell_totals(chosen, sums)
            out -= set(chosen)
            told.append((max(chosen), counts, sums))
        if rng.random() < 0.2:
            agent = sb.Agent.from_json(agent.to_json(), agent.policy)
        expected = settled_sums(told, out)
        assert [agent.tested.pulls.tolist(), agent.tested.sums.tolist()] == expected
        assert agent.waiting_count == agent.rewards - sum(expected[0])
        waited += agent.waiting_count > 0
    assert waited > 100


def test_learned_results_are_settled_at_once() -> None:
    agent = sb.Agent(sb.UCB(2))
    agent.ask()
    agent.learn([3, 4], [1, 2])
    assert agent._settled.pulls.tolist() == [3, 4]
    assert agent._settled.sums.tolist() == [1, 2]


class Notes(NamedTuple):
    pulls: Any
    settled: Any


class Careful(NamedTuple):
    """A policy that must be told results in asked order: it plays arm 1 once arm 0 has paid nothing."""

    n_arms: int = 2
    in_order: bool = True

    def init(self) -> Notes:
        return Notes(np.zeros(2, np.int64), np.zeros(2))

    def plan(self, state: Notes, now: sb.Now, quota: Any, rng: Any) -> int:
        quota[:] = (0, 1) if state.settled[1] > 0 else (1, 0)
        return 0

    def observe(self, state: Notes, seen: sb.Seen) -> None:
        pytest.fail("a policy with in_order is told by hear and settle")

    def hear(self, state: Notes, seen: sb.Seen) -> None:
        state.pulls[:] += seen.pulls

    def settle(self, state: Notes, seen: sb.Seen) -> bool:
        before = state.settled[1] > 0
        state.settled[:] += (seen.sums[0], (seen.pulls - seen.sums)[0])
        return bool(before != (state.settled[1] > 0))  # then there must be another plan


def test_a_policy_may_be_told_in_asked_order() -> None:
    agent = sb.Agent(Careful())
    first, second, third = agent.ask(n=3)
    agent.tell(second.id, 0.0)
    assert agent._state.pulls.tolist() == [1, 0]
    assert agent._state.settled.tolist() == [0.0, 0.0]
    assert agent.ask().arm == 0
    agent.tell(first.id, 1.0)  # settles both, and what was settled shows in the plan
    assert agent._state.settled.tolist() == [1.0, 1.0]
    assert agent.plan.tolist() == [0, 1]
    agent = sb.Agent(Careful())
    lost, told = agent.ask(n=2)
    agent.tell(told.id, 0.0)
    assert agent.plan.tolist() == [1, 0]
    agent.cancel(lost.id)  # now it is settled
    assert agent.plan.tolist() == [0, 1]
    agent.learn([2, 0], [1, 0])
    assert agent._state.settled.tolist() == [1.0, 2.0]
    assert third.reason == "extra"


class Hasty(sb.UCB):
    """It says that it wants results in asked order, and has no methods for that."""

    in_order = True


def test_a_policy_with_in_order_needs_the_methods_for_it() -> None:
    with pytest.raises(sb.ParameterError, match="in_order = True, so it needs the methods hear"):
        sb.Agent(Hasty(2))


def test_decisions_expire_by_their_age() -> None:
    agent = sb.Agent(sb.UCB(2))
    asked = agent.ask(n=10)
    agent.tell(asked[1].id, 1.0)
    twin = sb.Agent.from_json(agent.to_json(), agent.policy)
    assert agent.expire(7, 0.0) == (0, 2)
    for each in (0, 2):
        twin.tell(each, 0.0)
    assert agent.to_json() == twin.to_json()
    assert agent.expire(7, 0.0) == ()
    assert agent.expire(0, None) == (3, 4, 5, 6, 7, 8, 9)
    assert agent.pending == ()
    assert agent.pulls.sum() == 3
    before = agent.to_json()
    with pytest.raises(sb.RewardError, match="reward=2"):
        agent.expire(3, 2)
    with pytest.raises(sb.ParameterError, match="older_than=-1"):
        agent.expire(-1, 0.0)
    assert agent.to_json() == before


def test_rewards_that_wait_for_a_lost_one_are_small() -> None:
    waiting, count = WaitingResults(), 50_000
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(1, count + 1):
        waiting.add(number, 3, 0.5, oldest=0)
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert len(waiting) == count
    assert used <= 16 * count
    assert list(waiting.settled_before(3)) == [(3, 0.5), (3, 0.5)]
    assert len(list(waiting.settled_before(None))) == count - 2
    assert len(waiting) == 0
