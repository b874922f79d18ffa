"""ISAE plays what its rules say, in high precision; with rewards out it says how likely each arm is."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from oracles import isae as oracle
from scipy.stats import chisquare

import structured_bandits as sb
from structured_bandits.base.confidence import Data
from structured_bandits.testing.tapes import play, play_in

PULLS = 250
SHOP = sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))


def table_of(index: int) -> Any:
    """Draw a table; of four one has means that tie, one an arm on which all agree, one rows that differ little."""
    rng = np.random.default_rng([30, index])
    table = rng.uniform(0.05, 0.95, (rng.integers(2, 9), rng.integers(2, 7)))
    if index % 4 == 1:
        table = np.round(table * 8) / 8
    if index % 4 == 2:
        table[:, rng.integers(table.shape[1])] = 0.5
    if index % 4 == 3:
        table = np.clip(table[0] + rng.normal(0.0, 0.04, table.shape), 0.01, 0.99)
    return np.round(table, 4)


def rule_of(index: int, models: int) -> tuple[dict[str, Any], oracle.Rule]:
    """Draw parameters, for the policy and for the oracle."""
    rng = np.random.default_rng([31, index])
    prior = (rng.random(models) + 0.1).tolist() if index % 3 == 2 else None
    leader = ("likeliest", "drawn", "auto")[index % 3]
    if index % 2:
        given = {"rule": "threshold", "c": [1.0, 0.5, 2.0][index % 3], "leader": leader}
        return {**given, "prior": prior}, oracle.Rule(
            "threshold", c=given["c"], leader=leader, prior=prior
        )
    numbers = [(0.3, 100.0, 1.0), (1.0, 10.0, 0.2), (0.1, 1000.0, 0.0)][index % 3]
    kappa, t0, f = numbers
    given = {"kappa": kappa, "t0": t0, "f": f, "leader": leader, "prior": prior}
    return given, oracle.Rule("value", kappa, t0, f=f, leader=leader, prior=prior)


def uniforms(seed: int) -> Any:
    """Return the numbers that a policy draws which is played with this seed."""
    rng = sb.testing.agent_generator(seed)
    return iter(rng.random, None)


# ------------------------------------------------------------------------- against the oracle


@pytest.mark.parametrize("index", range(24))
def test_its_arms_are_those_of_the_rules(index: int) -> None:
    table = table_of(index)
    given, rule = rule_of(index, len(table))
    rewards = sb.testing.reward_tape(index, table.shape[1], PULLS, coins=True)
    policy = sb.ISAE(sb.FiniteStructure(table), **given)
    found = play(policy, rewards, PULLS, compiled=False, planning=False, seed=index).arms
    expected = oracle.play(table, rewards, PULLS, rule, uniforms(index))
    assert len(expected) > 10, "up to a decision on a knife edge"
    assert found[: len(expected)] == expected
    if given["leader"] != "drawn":
        assert play(policy, rewards, PULLS, compiled=False, planning=True).arms == found


@pytest.mark.parametrize("delay", [1, 9, 40])
def test_with_rewards_out_its_arms_are_those_of_the_rules(delay: int) -> None:
    """Of the likeliest leader: a simulation draws also for plans that come to nothing."""
    met = Counter[str]()
    for index in range(6):
        table = table_of(index)
        given, rule = rule_of(index, len(table))
        given, rule = {**given, "leader": "likeliest"}, rule._replace(leader="likeliest")
        rewards = sb.testing.reward_tape(index + 3, table.shape[1], PULLS, coins=True)
        policy = sb.ISAE(sb.FiniteStructure(table), **given)
        world = sb.Delayed(sb.Tape(rewards), delay)
        found = play_in(world, policy, PULLS, False, True, sb.testing.agent_generator(index)).arms
        expected = oracle.late(table, rewards, PULLS, delay, rule, uniforms(index))
        assert found[: len(expected)] == expected
        met["compared"] += len(expected)
        met[str(given["leader"])] += found != play(policy, rewards, PULLS, False, True).arms
    assert all(met.values()), "late rewards matter"


def test_compiled_runs_are_those_of_the_other_engine() -> None:
    kinds = [{}, {"rule": "threshold"}, {"leader": "drawn"}]
    for index, given in enumerate(kinds * 2):
        table = table_of(index)
        policy = sb.ISAE(sb.FiniteStructure(table), **given)
        rewards = sb.testing.reward_tape(index, table.shape[1], 2_000, coins=True)
        world: Any = sb.Tape(rewards) if index < 3 else sb.Delayed(sb.Tape(rewards), 20)
        one, two = (
            play_in(world, policy, 2_000, compiled, True, sb.testing.agent_generator(index))
            for compiled in (False, True)
        )
        assert one == two


def test_long_runs_decide_seldom() -> None:
    """The lookahead of the value rule: a stretch at a time, and the same arms."""
    policy = sb.ISAE(SHOP)
    for seed, truth in enumerate(SHOP.means(model) for model in range(3)):
        rewards = np.random.default_rng(seed).random((8, 5_000)) < truth[:, None]
        fast, slow = (
            play(policy, rewards.astype(float), 5_000, False, planning)
            for planning in (True, False)
        )
        assert fast.arms == slow.arms
        assert slow.plans == 5_000
        assert fast.plans < 2_000


# ------------------------------------------------------------------------- rewards without a range


def gaussian_arm(table: Any, pulls: Any, sums: Any, sigma: float) -> int:
    """The value rule for Gaussian rewards with its default numbers, as one would write it down."""
    t = int(pulls.sum())
    with mp.workdps(40):
        mean, var = [[mpf(x) for x in row] for row in table.tolist()], mpf(sigma) ** 2
        arms = range(table.shape[1])
        logs = [
            sum((mpf(sums[k]) * row[k] - mpf(int(pulls[k])) * row[k] ** 2 / 2) / var for k in arms)
            for row in mean
        ]
        weights = [mp.exp(each - max(logs)) for each in logs]
        weights = [each / sum(weights) for each in weights]
        lead = weights.index(max(weights))
        best = mean[lead].index(max(mean[lead]))
        rivals = [g for g, row in enumerate(mean) if max(row) > row[best]]
        if not any(weights[g] > mpf(10) ** -9 for g in rivals):
            return best
        regret = [
            sum(w * (max(row) - row[k]) for w, row in zip(weights, mean, strict=True)) for k in arms
        ]
        told = [
            sum(weights[g] * (mean[lead][k] - mean[g][k]) ** 2 / (2 * var) for g in rivals)
            for k in arms
        ]
        ratios = [told[k] / (regret[k] + min(regret)) for k in arms]
        arm = ratios.index(max(ratios))
        total = sum(weights[g] for g in rivals)
        stay = sum(weights[g] * (max(mean[g]) - mean[g][best]) for g in rivals)
        nat = min(regret[k] * total / told[k] for k in arms if k != best and told[k] > 0)
        return best if arm == best or (t + 100) * stay < mpf("0.3") * nat else arm


def test_gaussian_rewards() -> None:
    rng = np.random.default_rng(5)
    table, sigma = np.round(rng.normal(0.0, 1.0, (7, 5)), 2), 1.5
    policy = sb.ISAE(
        sb.FiniteStructure(table, reward_range=(-9, 9)), reward_range=None, sigma=sigma
    )
    agent, met = sb.Agent(policy), set()
    for _ in range(150):
        expected = gaussian_arm(table, agent.pulls, agent.sums, sigma)
        decision = agent.ask()
        assert decision.arm == expected
        met.add(decision.arm)
        agent.tell(decision.id, float(np.round(rng.normal(table[3, decision.arm], sigma), 3)))
    assert len(met) > 1


# ------------------------------------------------------------------------- chances


def chances_of(policy: sb.ISAE, pulls: Any, sums: Any, pending: Any) -> Any:
    state = policy.init()._replace(data=Data(np.array(pulls), np.array(sums, float)))
    policy.expect(state, np.array(pending))
    return policy.chances(state, sb.Now(int(np.sum(pulls)), 1))


def test_chances_are_those_of_the_rules() -> None:
    several = Counter[str]()
    for index in range(24):
        table = table_of(index)
        given, rule = rule_of(index, len(table))
        policy = sb.ISAE(sb.FiniteStructure(table), **given)
        rng = np.random.default_rng(index)
        for _ in range(8):
            pulls, pending = rng.integers(0, 4, (2, table.shape[1]))
            sums = rng.binomial(pulls, table[rng.integers(len(table))]).astype(float)
            found = chances_of(policy, pulls, sums, pending)
            assert found.sum() == pytest.approx(1.0, abs=1e-12)
            try:
                expected = oracle.chances(
                    table, *map(np.ndarray.tolist, (pulls, sums, pending)), rule
                )
            except oracle.TooClose:
                continue
            np.testing.assert_allclose(found, [float(each) for each in expected], rtol=0, atol=1e-9)
            several[f"{given.get('rule')} {given['leader']}"] += int((found > 1e-6).sum() > 1)
    for rule_name in (None, "threshold"):
        for leader in ("auto", "drawn"):
            assert several[f"{rule_name} {leader}"] > 0
        assert several[f"{rule_name} likeliest"] == 0


def test_an_agent_says_how_likely_its_arms_were() -> None:
    """With three rewards out; each arm comes as often as its propensity says."""
    structure = sb.FiniteStructure(np.round(np.random.default_rng(0).uniform(0.2, 0.8, (8, 4)), 3))
    counts, expected = np.zeros(4), np.zeros(4)
    for seed in range(600):
        agent = sb.Agent(sb.ISAE(structure), seed=seed)
        first = agent.ask()
        assert first.propensity == 1.0
        decisions = agent.ask(3)
        pending = np.bincount([each.arm for each in (first, *decisions[:2])], minlength=4)
        said = chances_of(sb.ISAE(structure), [0] * 4, [0] * 4, pending)
        assert decisions[2].propensity == said[decisions[2].arm]
        counts[decisions[2].arm] += 1
        expected += said
    kept = expected > 5
    assert kept.sum() > 1
    scaled = expected[kept] * counts[kept].sum() / expected[kept].sum()
    assert chisquare(counts[kept], scaled).pvalue > 1e-3


def test_who_excludes_arms_gets_no_propensity() -> None:
    agent = sb.Agent(sb.ISAE(SHOP))
    agent.ask()
    assert agent.ask(available=range(7)).propensity is None
    assert agent.force(2).propensity is None
    agent.park(3)
    assert agent.ask().propensity is None
    agent.unpark(3)
    assert agent.ask().propensity is not None


def test_a_pull_that_is_taken_back_is_drawn_anew() -> None:
    """What was shown tells of the draw; another decision must not rest on the same one."""
    for leader, several in (("drawn", True), ("likeliest", False)):
        agent, arms = sb.Agent(sb.ISAE(SHOP, leader=leader), seed=4), set()
        for _ in range(40):
            decision = agent.ask()
            arms.add(decision.arm)
            agent.cancel(decision.id)
        assert (len(arms) > 1) is several


def test_an_agent_is_restored_with_rewards_out() -> None:
    policy = sb.ISAE(SHOP)
    agent, rng = sb.Agent(policy, seed=2), np.random.default_rng(0)
    for _ in range(60):
        decisions = agent.ask(3)
        agent.tell(decisions[0].id, float(rng.random() < 0.1))
        agent.tell(decisions[2].id, float(rng.random() < 0.1))
        twin = sb.Agent.from_json(agent.to_json(), policy)
        assert twin.pending == agent.pending
        if rng.random() < 0.5:
            agent = twin
    assert [(each.arm, each.propensity) for each in agent.ask(20)] == [
        (each.arm, each.propensity) for each in twin.ask(20)
    ] or agent is twin


def test_a_guard_passes_on_what_is_out() -> None:
    """Until its alarm rings a guarded ISAE asks for what ISAE asks for."""
    rewards = np.random.default_rng(8).random((8, 400)) < SHOP.means(2)[:, None]
    world = sb.Delayed(sb.Tape(rewards.astype(float)), 25)
    arms = [
        play_in(world, policy, 400, False, True, sb.testing.agent_generator(1)).arms
        for policy in (sb.ISAE(SHOP), sb.Guarded(sb.ISAE(SHOP), level=1e-6))
    ]
    assert arms[0] == arms[1]


# ------------------------------------------------------------------------- parameters


def test_what_it_refuses() -> None:
    with pytest.raises(
        sb.ParameterError, match="rule='best': accepted are 'value' and 'threshold'"
    ):
        sb.ISAE(SHOP, rule="best")
    with pytest.raises(
        sb.ParameterError, match="leader=3: accepted are 'auto', 'drawn' and 'likeliest'"
    ):
        sb.ISAE(SHOP, leader=3)  # type: ignore[arg-type]
    with pytest.raises(sb.ParameterError, match=r"c=1\.0: rule='value' has no c"):
        sb.ISAE(SHOP, c=1.0)
    with pytest.raises(sb.ParameterError, match=r"kappa=0\.3: rule='threshold' has no kappa"):
        sb.ISAE(SHOP, rule="threshold", kappa=0.3)
    with pytest.raises(sb.ParameterError, match="t0"):
        sb.ISAE(SHOP, t0=0.0)
    with pytest.raises(
        sb.ParameterError, match=r"ISAE cannot play on .*it plays tables and curves\. Take instead"
    ):
        sb.ISAE(sb.concave(3))


def test_a_policy_names_its_rule() -> None:
    assert sb.ISAE(SHOP).parameters() == {
        "rule": "value", "prior": None, "kappa": 0.3, "t0": 100.0, "c": None, "f": 1.0,
        "leader": "auto", "reward_range": (0.0, 1.0), "sigma": 0.5,
    }  # fmt: skip
    threshold = sb.ISAE(SHOP, rule="threshold", prior=[1, 1, 1, 1, 1, 5])
    assert {**threshold.parameters(), "prior": None} == {
        "rule": "threshold", "prior": None, "kappa": None, "t0": None, "c": 1.0, "f": 0.2,
        "leader": "auto", "reward_range": (0.0, 1.0), "sigma": 0.5,
    }  # fmt: skip
    assert sb.Agent(threshold).ask().arm == SHOP.means(5).argmax()


def test_one_model_and_arms_that_tie() -> None:
    one = sb.ISAE(sb.FiniteStructure([[0.4, 0.6, 0.6]]))
    assert play(one, np.zeros((3, 50)), 50, False, True).arms == [1] * 50
    twins = sb.FiniteStructure([[0.6, 0.6, 0.1], [0.6, 0.6, 0.9]])
    arms = play(sb.ISAE(twins), np.zeros((3, 50)), 50, False, True).arms
    assert set(arms[5:]) == {0}, "a model in which its best arm ties is no rival"


# ------------------------------------------------------------------------- found by an attack


def test_an_arm_that_is_best_in_all_models_ends_a_stretch() -> None:
    """Found by an attack: once the rivals counted again, the lookahead went on with the leader's arm."""
    structure = sb.FiniteStructure([[0.9, 0.5, 0.9], [0.3, 0.9, 0.9]], prior=[1e-9, 1.0])
    rewards = np.random.default_rng(64).random((3, 400)) < np.array([[0.9], [0.7], [0.9]])
    tape = rewards.astype(float)
    fast, slow = (play(sb.ISAE(structure), tape, 400, False, each).arms for each in (True, False))
    assert fast == slow
    assert set(slow[5:]) == {2}


def test_the_chance_of_an_arm_is_known_before_it_is_asked_for() -> None:
    """A service that gives some decisions to a control arm logs the chance of that arm, too."""
    structure = sb.FiniteStructure(np.round(np.random.default_rng(0).uniform(0.2, 0.8, (8, 4)), 3))
    for leader in ("auto", "drawn"):
        agent, several = sb.Agent(sb.ISAE(structure, leader=leader), seed=3), 0
        for _ in range(40):
            said = [agent.chance(arm) for arm in range(4)]
            assert sum(each for each in said if each is not None) == pytest.approx(1.0)
            several += sum(each is not None and each > 1e-6 for each in said) > 1
            decision = agent.ask()
            assert decision.propensity == said[decision.arm]
            if decision.id % 3:
                agent.tell(decision.id, float(decision.id % 2))
        assert several > 0
        assert agent.chance(0, available=[0, 1]) is None


def test_a_guard_draws_anew_after_a_pull_was_taken_back() -> None:
    agent = sb.Agent(sb.Guarded(sb.ISAE(SHOP), level=1e-6))
    first, second = agent.ask(2)
    agent.tell(first.id, 1.0)
    agent.cancel(second.id)
    assert not agent._state.inner.pending.any()
