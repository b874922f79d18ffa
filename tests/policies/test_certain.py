"""Certain: a policy that samples a little to be sure; and when any policy has become certain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, ttest_ind

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.policies.playing import moment_of
from structured_bandits.testing.tapes import play

SHOP = sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))
RIGHT = figure1_right()
LEVEL = 0.1


def inner_policies(table: sb.FiniteStructure) -> dict[str, Any]:
    return {
        "ModelTS": sb.ModelTS(table),
        "doubting": sb.ModelTS(table, trust=0.5),
        "SUCB": sb.SUCB(table),
        "ISAE": sb.ISAE(table),
        "IDS": sb.IDS(table),
        "blind": sb.ThompsonSampling(table),
        "KLUCB": sb.KLUCB(table),
    }


@pytest.mark.parametrize("name", ["ModelTS", "ISAE", "KLUCB"])
def test_compiled_play_is_that_of_python(name: str) -> None:
    rewards = (np.random.default_rng(3).random((4, 300)) < RIGHT.means(1)[:, None]).astype(float)
    policy = sb.Certain(inner_policies(RIGHT)[name], share=0.2, level=0.01)
    ways = [
        play(policy, rewards, 300, compiled, planning=True, seed=4) for compiled in (False, True)
    ]
    assert ways[0] == ways[1]


@pytest.mark.parametrize("name", list(inner_policies(RIGHT)))
def test_to_look_changes_no_arm(name: str) -> None:
    """Without a share of its own it draws nothing, and one that does not settle plays on."""
    rewards = (np.random.default_rng(5).random((4, 200)) < RIGHT.means(0)[:, None]).astype(float)
    inner = inner_policies(RIGHT)[name]
    watched = sb.Certain(inner, share=0.0, settles=False)
    arms = [
        play(policy, rewards, 200, compiled=False, planning=False, seed=6).arms
        for policy in (inner, watched)
    ]
    assert arms[0] == arms[1]


def test_it_is_certain_when_the_certificate_says_so() -> None:
    """And then it plays that arm to the end, whatever comes."""
    settled = 0
    for seed in range(20):
        agent = sb.Agent(sb.Certain(sb.ModelTS(RIGHT), level=LEVEL), seed=seed)
        rng, before, arms = np.random.default_rng(seed), 1.0, []
        for _ in range(400):
            decision = agent.ask()
            arms.append(decision.arm)
            moment = moment_of(agent.policy, agent._state)
            given: Any = agent.certificate.given_models if agent.rewards else None
            if moment and moment == agent.rewards:
                assert given.error <= LEVEL + 1e-12 < before + 1e-9
                assert decision.arm == given.arm
            elif not moment and given is not None:
                assert given.error > LEVEL - 1e-12
            before = 1.0 if given is None else given.error
            agent.tell(decision.id, float(rng.random() < RIGHT.means(2)[decision.arm]))
        moment = moment_of(agent.policy, agent._state)
        if 0 < moment < 399:
            settled += 1
            assert len(set(arms[moment:])) == 1
            assert f"It has been certain since pull {moment:,}" in agent.describe()
    assert settled >= 15


@pytest.mark.parametrize("table", [RIGHT, SHOP], ids=["Figure 1 right", "shop"])
def test_errors_are_at_most_the_level_and_a_share_makes_it_sooner(table: Any) -> None:
    """Of posterior sampling and of a blind policy, the truths in turn; with and without a share."""
    wrong = lives = 0
    times: dict[str, list[float]] = {"alone": [], "share": []}
    for truth in range(min(4, table.n_models)):
        means = table.means(truth)
        policies = {
            f"{way} {name}": sb.Certain(inner, share=share, level=LEVEL)
            for name, inner in inner_policies(table).items()
            if name in ("ModelTS", "blind")
            for way, share in (("alone", 0.0), ("share", 0.1))
        }
        result = sb.simulate(
            policies,
            sb.Bernoulli(means),
            4_000,
            runs=60,
            seed=truth,
            record_arms=True,
            checkpoints=1,
            misfit=False,
            progress=False,
        )
        for name, alarms in result.alarms.items():
            last = result.arms[name][:, -1]
            wrong += int(((alarms > 0) & (means[last] < means.max())).sum())
            lives += len(alarms)
            times[name.split()[0]] += np.where(alarms > 0, alarms, 4_000).tolist()
    assert binomtest(wrong, lives, LEVEL, alternative="greater").pvalue > 1e-4
    assert ttest_ind(times["share"], times["alone"], alternative="less").pvalue < 1e-3


def test_a_simulation_notes_when_policies_became_certain() -> None:
    world = sb.Bernoulli(RIGHT.means(1))
    policies = {"SUCB": sb.SUCB(RIGHT), "blind": sb.ThompsonSampling(RIGHT)}
    noted = sb.simulate(policies, world, 2_000, runs=20, stop=0.05, progress=False)
    assert (noted.alarms["SUCB"] > 0).all()
    assert noted.alarms["SUCB"].mean() < noted.alarms["blind"].mean()
    later = sb.simulate(policies, world, 2_000, runs=20, stop=0.001, progress=False)
    assert (later.alarms["SUCB"] >= noted.alarms["SUCB"]).all()
    plain = sb.simulate(policies, world, 2_000, runs=20, planning=False, progress=False)
    assert (plain.pulls["SUCB"] == noted.pulls["SUCB"]).all()
    assert not plain.alarms["SUCB"].any()


def test_late_rewards_and_worlds_that_change_are_played() -> None:
    policy = sb.Certain(sb.ModelTS(RIGHT), level=0.01)
    for world in (
        sb.Delayed(sb.Bernoulli(RIGHT.means(0)), 20),
        sb.Piecewise(RIGHT.cells.table[:2], [50]),
    ):
        one, other = (
            sb.simulate(policy, world, 300, runs=3, engine=engine, progress=False)
            for engine in ("python", "compiled")
        )
        assert (one.pulls["Certain"] == other.pulls["Certain"]).all()


def test_rewards_that_come_the_later_the_worse_they_are_keep_the_level() -> None:
    """They count in the order of asking: clicks at once and non-clicks late decide nothing wrong."""
    wrong = 0
    policy = sb.Certain(sb.ModelTS(RIGHT), level=LEVEL)
    for seed in range(60):
        agent, rng, late = sb.Agent(policy, seed=seed), np.random.default_rng(seed), []
        for t in range(150):
            decision = agent.ask()
            if rng.random() < RIGHT.means(3)[decision.arm]:
                agent.tell(decision.id, 1.0)
            else:
                late.append((t + 60, decision.id))
            while late and late[0][0] <= t:
                agent.tell(late.pop(0)[1], 0.0)
        found = agent.settled_arm
        wrong += found is not None and found.arm != RIGHT.means(3).argmax()
    assert binomtest(wrong, 60, LEVEL, alternative="greater").pvalue > 1e-3


def test_propensities_are_those_of_both() -> None:
    """Of a policy that says how likely its arms are, a share of the test mixed in."""
    table = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    assert sb.Agent(sb.Certain(sb.ISAE(table), share=0.0, settles=False)).ask().propensity == 1.0
    assert sb.Agent(sb.Certain(sb.ModelTS(table))).ask().propensity is None
    policy = sb.Certain(sb.ISAE(SHOP, leader="drawn"), share=0.25, level=0.01)
    counts, chances = np.zeros(8), np.zeros(8)
    for seed in range(400):
        agent = sb.Agent(policy, seed=seed)
        agent.learn(pulls=[6] * 8, sums=[1, 0, 0, 1, 0, 1, 0, 0])
        decision = agent.ask()
        counts[decision.arm] += 1
        chances[decision.arm] = decision.propensity
    assert chances.sum() == pytest.approx(1.0)
    spread = np.sqrt(400 * chances * (1 - chances)) + 1e-9
    assert (np.abs(counts - 400 * chances) <= 4.5 * spread).all()


def test_the_prior_of_the_policy_counts() -> None:
    table = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    policy = sb.Certain(sb.ModelTS(table, prior=[0.001, 0.999]))
    agent = sb.Agent(policy)
    agent.learn(pulls=[4, 0], sums=[4, 0])
    agent.ask()
    assert agent.settled_arm is None
    assert policy.test.prior == [0.001, 0.999]


def test_a_snapshot_remembers_what_is_certain() -> None:
    policy = sb.Certain(sb.ISAE(RIGHT), level=0.2)
    agent = sb.Agent(policy, seed=2)
    agent.learn(pulls=[10, 0, 60, 10], sums=[8, 0, 50, 1])
    agent.ask()
    other = sb.Agent.from_json(agent.to_json(), policy)
    assert moment_of(policy, other._state) == moment_of(policy, agent._state) > 0
    assert other.ask().arm == agent.ask().arm
    assert policy.parameters()["policy"]["kind"] == "ISAE"
    assert repr(policy).startswith("Certain(ISAE(")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.Certain(sb.ThompsonSampling(3)), "expected a policy with a structure"),
        (lambda: sb.Certain(sb.ModelTS(SHOP, switching=0.1)), "of which one model stays true"),
        (lambda: sb.Certain(sb.SAE(SHOP, 100)), "expected one that decides before each pull"),
        (lambda: sb.Certain(sb.Certain(sb.SUCB(SHOP))), "neither guarded nor Certain"),
        (lambda: sb.Certain(sb.Guarded(sb.SUCB(SHOP))), "neither guarded nor Certain"),
        (lambda: sb.Guarded(sb.Certain(sb.SUCB(SHOP))), "in the order of asking, as a guard does"),
        (lambda: sb.Guarded(sb.SUCB(SHOP), sb.Certain(sb.SUCB(SHOP))), "^fallback=Certain"),
        (lambda: sb.Agent(sb.SUCB(SHOP)).switch(sb.Certain(sb.SUCB(SHOP))), "Guarded, Certain"),
        (lambda: sb.Certain(sb.SUCB(SHOP), settles="no"), "settles='no': expected True or False"),
        (lambda: sb.Certain(sb.SUCB(sb.product([sb.unimodal(11)] * 3))), "BestArm cannot play on"),
        (lambda: sb.Certain(sb.SUCB(SHOP), share=1.5), "share=1.5: expected 0 to 1"),
        (lambda: sb.Certain(sb.SUCB(SHOP), level=0.0), "level=0.0: expected a probability"),
        (
            lambda: sb.simulate(sb.UCB(2), sb.Bernoulli([0.5, 0.4]), 10, stop=0.05),
            "expected a policy with a structure",
        ),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        make()


@pytest.mark.parametrize(
    "structure",
    [
        sb.unimodal(4),
        sb.CurveStructure([sb.Piece(0.0, 1.0, (0.8, 0.6, 0.2, 0.1), (0.2, 0.7, 0.3, 0.9))]),
        sb.around([[0.2, 0.8, 0.5, 0.3], [0.7, 0.3, 0.4, 0.3]], 0.1),
    ],
    ids=["unimodal", "curve", "margins"],
)
def test_agents_become_certain_beyond_tables(structure: sb.Structure) -> None:
    """And say the same after they were saved, in the middle and at the end."""
    means = [0.2, 0.8, 0.5, 0.3] if structure.kind != "curves" else structure.means(0.6).tolist()
    best = int(np.argmax(means))
    policy = sb.Certain(sb.SUCB(structure), share=0.5, level=0.2)
    agent, rng = sb.Agent(policy, seed=1), np.random.default_rng(2)
    for pull in range(3_000):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < means[decision.arm]))
        if pull in (10, 60):
            twin = sb.Agent.from_json(agent.to_json(), policy)
            assert twin.to_json() == agent.to_json()
            agent = twin
        if agent.settled_arm is not None:
            break
    assert agent.settled_arm is not None
    assert agent.settled_arm.arm == best
    assert {agent.ask().arm for _ in range(5)} == {best}
    again = sb.Agent.from_json(agent.to_json(), policy)
    assert again.settled_arm == agent.settled_arm
