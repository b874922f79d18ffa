"""SUCB, SAE, ASAE with likelihood sets play what their rules say, in high precision and in long stretches."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from oracles import likelihood_sets as oracle

import structured_bandits as sb
from structured_bandits.experiments.policies import build_policy
from structured_bandits.testing.tapes import play

PULLS = 300
ALPHAS = (0.37, 1.37, 0.71, 0.13)
SHOP = sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))


def table_of(index: int) -> Any:
    """Draw a table; of five one has ties, one an arm on which all agree, one means of 0 and 1."""
    rng = np.random.default_rng([40, index])
    table = np.round(rng.uniform(0.05, 0.95, (rng.integers(2, 9), rng.integers(2, 7))), 4)
    if index % 5 == 1:
        table = np.round(table * 8) / 8
    if index % 5 == 2:
        table[:, rng.integers(table.shape[1])] = 0.5
    if index % 5 == 3:
        table[:, 0] = np.arange(len(table)) % 2
    return table


def contests(index: int) -> dict[str, tuple[Any, Any]]:
    """Return policies and what their rules say, on tape number `index`."""
    table = table_of(index)
    rng = np.random.default_rng([41, index])
    prior = (rng.random(len(table)) + 0.1).tolist() if index % 3 == 2 else None
    structure = sb.FiniteStructure(table, prior=prior)
    alpha, n = ALPHAS[index % len(ALPHAS)], (PULLS, 40)[index % 2]
    tape = rewards_of(index, table)
    chosen: dict[str, Any] = {"alpha": alpha, "confidence": "likelihood"}
    return {
        "SUCB": (sb.SUCB(structure, **chosen), oracle.sucb(table, tape, PULLS, alpha, prior)),
        "ASAE": (sb.ASAE(structure, **chosen), oracle.asae(table, tape, PULLS, alpha, prior)),
        "SAE": (
            sb.SAE(structure, n, **chosen),
            oracle.sae(table, tape, PULLS, n, alpha, "round", prior),
        ),
        "SAE by phase": (
            sb.SAE(structure, n, looks="phase", **chosen),
            oracle.sae(table, tape, PULLS, n, alpha, "phase", prior),
        ),
    }


def rewards_of(index: int, table: Any) -> Any:
    """Return a hostile tape, or rewards of a model of the table."""
    if index % 2:
        return sb.testing.reward_tape(index, table.shape[1], PULLS, coins=index % 4 == 1)
    rng = np.random.default_rng([42, index])
    truth = table[rng.integers(len(table))]
    return (rng.random((table.shape[1], PULLS)) < truth[:, None]).astype(float)


@pytest.mark.parametrize("index", range(20))
def test_arms_are_those_of_the_rules(index: int) -> None:
    tape = rewards_of(index, table_of(index))
    for name, (policy, expected) in contests(index).items():
        found = play(policy, tape, PULLS, compiled=False, planning=True)
        count = len(expected.arms)
        assert found.arms[:count] == expected.arms, name
        if count == PULLS:
            assert found.empty == expected.empty, name


def test_enough_was_compared() -> None:
    met = Counter[str]()
    for index in range(20):
        for name, (_, expected) in contests(index).items():
            met[name] += len(expected.arms)
            met[f"{name}, empty"] += expected.empty > 0
            met[f"{name}, arms"] += len(set(expected.arms[20:])) > 1
    for name in ("SUCB", "ASAE", "SAE", "SAE by phase"):
        assert met[name] > 15 * PULLS, met
        assert met[f"{name}, empty"] > 0, met
        assert met[f"{name}, arms"] > 0, met


@pytest.mark.parametrize("index", range(8))
def test_engines_and_lookahead_change_nothing(index: int) -> None:
    table = table_of(index)
    structure = sb.FiniteStructure(table)
    tape = sb.testing.reward_tape(index, table.shape[1], 3_000, coins=True)
    if index % 2 == 0:
        truth = table[0]
        tape = (np.random.default_rng(index).random(tape.shape) < truth[:, None]).astype(float)
    alpha = ALPHAS[index % len(ALPHAS)]
    for policy in (
        sb.SUCB(structure, alpha=alpha, confidence="likelihood"),
        sb.ASAE(structure, alpha=alpha, confidence="likelihood"),
        sb.SAE(structure, 3_000, alpha=alpha, confidence="likelihood"),
    ):
        plain = play(policy, tape, 3_000, compiled=False, planning=False)
        for compiled in (False, True):
            fast = play(policy, tape, 3_000, compiled=compiled, planning=True)
            assert (fast.arms, fast.empty) == (plain.arms, plain.empty)
            assert fast.plans <= plain.plans


def test_long_runs_decide_seldom() -> None:
    for policy, most in (
        (sb.SUCB(SHOP), 500),
        (sb.ASAE(SHOP), 1_000),
        (sb.SAE(SHOP, 10_000), 1_000),
    ):
        result = sb.simulate(policy, sb.Bernoulli(SHOP.means(1)), 10_000, 5, progress=False)
        assert (next(iter(result.plans.values())) < most).all()


@pytest.mark.parametrize("kind", [sb.SUCB, sb.SAE, sb.ASAE])
def test_on_tables_it_is_the_default(kind: Any) -> None:
    more = (1_000,) if kind is sb.SAE else ()
    policy = kind(SHOP, *more)
    assert policy.confidence == "likelihood"
    assert policy.alpha == (1.0 if kind is sb.SAE else 0.5)
    assert kind(SHOP, *more, sigma=0.7).confidence == "hoeffding"
    assert kind(sb.concave(3), *more).confidence == "kl"
    assert kind.paper(SHOP, *more).confidence == "hoeffding"
    gaussian = kind(SHOP, *more, reward_range=None, sigma=0.3)
    assert (gaussian.confidence, gaussian.width()[:9]) == ("likelihood", "log N - L")


def test_gaussian_sets() -> None:
    """Against the rule in NumPy; rewards are multiples of 1/8, so that sums are exact."""
    rng = np.random.default_rng(3)
    table, sigma = np.round(rng.normal(0.0, 1.0, (6, 4)), 2), 0.8
    structure = sb.FiniteStructure(table, reward_range=(-9, 9))
    agent = sb.Agent(sb.SUCB(structure, reward_range=None, sigma=sigma))
    for t in range(120):
        pulls, sums = agent.pulls, agent.sums
        logs = (sums * table - pulls * table**2 / 2).sum(axis=1) / sigma**2
        total = logs.max() + np.log(np.exp(logs - logs.max()).mean())
        inside = np.flatnonzero(total - logs < 0.5 * np.log(max(t, 1) + 1))
        best = inside[table[inside].max(axis=1).argmax()]
        decision = agent.ask()
        assert decision.arm == table[best].argmax()
        agent.tell(decision.id, float(np.round(8 * rng.normal(table[2, decision.arm], sigma)) / 8))


def test_agents_are_saved_and_go_on_and_say_what_is_in_the_race() -> None:
    rng = np.random.default_rng(5)
    for policy in (sb.SUCB(SHOP), sb.ASAE(SHOP), sb.SAE(SHOP, 400)):
        agent = sb.Agent(policy)
        for _ in range(150):
            decision = agent.ask()
            agent.tell(decision.id, float(rng.random() < SHOP.means(2)[decision.arm]))
        twin = sb.Agent.from_json(agent.to_json(), policy)
        assert set(agent.active_arms) <= set(SHOP.best_arms)
        assert twin.active_arms == agent.active_arms
        for _ in range(100):
            one, two = agent.ask(), twin.ask()
            assert one == two
            reward = float(rng.random() < SHOP.means(2)[one.arm])
            agent.tell(one.id, reward)
            twin.tell(two.id, reward)


def test_a_log_is_looked_at_once() -> None:
    """A million pulls of all arms are no million looks."""
    agent = sb.Agent(sb.SAE(SHOP, 10**8))
    agent.learn([10**6] * 8, (SHOP.means(2) * 10**6).round())
    assert agent.active_arms == (int(SHOP.means(2).argmax()),)


def test_parked_arms_are_waited_for() -> None:
    agent = sb.Agent(sb.ASAE(SHOP))
    first = agent.ask()
    agent.park(first.arm)
    agent.tell(first.id, 0.0)
    assert all(agent.ask().arm != first.arm for _ in range(10))


def test_what_is_refused() -> None:
    refused = sb.ParameterError
    with pytest.raises(refused, match="confidence='likelihood': needs a table of models"):
        sb.SUCB(sb.concave(3), confidence="likelihood")
    with pytest.raises(
        refused, match=r"sigma=0\.7: the likelihood of rewards in a range has no sigma"
    ):
        sb.SUCB(SHOP, sigma=0.7, confidence="likelihood")
    with pytest.raises(refused, match="accepted are 'hoeffding', 'kl' and 'likelihood'"):
        sb.SUCB(SHOP, confidence="KL")
    with pytest.raises(refused, match="accepted are 'hoeffding' and 'kl'"):
        sb.UCB(3, confidence="likelihood")
    with pytest.raises(refused, match="looks='round': only confidence='likelihood' has looks"):
        sb.SAE(SHOP, 100, confidence="kl", looks="round")
    with pytest.raises(refused, match="looks='daily': accepted are 'round' and 'phase'"):
        sb.SAE(SHOP, 100, looks="daily")
    with pytest.raises(
        refused, match=r"beta=2\.0: the looks of confidence='likelihood' have no beta"
    ):
        sb.SAE(SHOP, 100, beta=2.0)
    with pytest.raises(refused, match="confidence='likelihood' has no periods"):
        sb.ASAE(SHOP, eta=1.0)


def test_an_arm_that_comes_back_catches_up_round_by_round() -> None:
    """Found by an attack: it was pulled as often as the others at once, with no look."""
    models = [[0.6, 0.5, 0.5, 0.4], [0.6, 0.7, 0.5, 0.4], [0.6, 0.5, 0.7, 0.4]]
    agent, rng = sb.Agent(sb.SAE(sb.FiniteStructure(models), 100_000)), np.random.default_rng(1)
    agent.park(2)
    for _ in range(3_000):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < models[0][decision.arm]))
    assert 2 in agent.active_arms
    agent.unpark(2)
    assert agent.plan[2] == 1
    for _ in range(400):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < models[0][decision.arm]))
    assert agent.active_arms == (0,)
    assert agent.pulls[2] < 300


@pytest.mark.parametrize(("kind", "alpha"), [("SUCB", 0.5), ("SAE", 1.0), ("ASAE", 0.5)])
def test_files_that_name_likelihood_sets_get_their_alpha(kind: str, alpha: float) -> None:
    """Found by an attack: they got the paper's, which is about other sets."""
    spec = {"kind": kind, "confidence": "likelihood"}
    assert build_policy(spec, SHOP, 1_000).alpha == alpha  # type: ignore[attr-defined]
    assert build_policy({"kind": kind}, SHOP, 1_000).alpha == 2.0  # type: ignore[attr-defined]
