"""BestArm and certificates: the rules, and how often they are wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import binomtest

import structured_bandits as sb
from structured_bandits.base.confidence import Data
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.inference.certificate import best_from_arms
from structured_bandits.inference.likelihood_sets import table_sets
from structured_bandits.inference.mixture_evidence import lead_on_table
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.testing.tapes import play

SHOP = sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))
UNIFORM = sb.FiniteStructure(np.random.default_rng(1).uniform(0.05, 0.95, (20, 6)).round(3))
COINS = Rewards(0.5, 0.0, 1.0)


# ------------------------------------------------------------------------- the rules


def log_likelihoods(table: Any, pulls: Any, sums: Any) -> list[Any]:
    """Of rewards 0 and 1, with 50 digits."""
    return [
        sum(
            s * mp.log(p) + (n - s) * mp.log(1 - p)
            for p, n, s in zip(row, pulls, sums, strict=True)
        )
        for row in table
    ]


def by_the_rules(means: Any, rewards: Any, level: float, epsilon: float) -> tuple[list[int], int]:
    """Return the arms until it is certain, and the arm of which it is, as the docstring says."""
    with mp.workdps(50):
        table = [[mpf(x) for x in row] for row in means.tolist()]
        arms = range(len(table[0]))
        pulls, sums, played = [0] * len(arms), [0] * len(arms), list[int]()
        while True:
            logs = log_likelihoods(table, pulls, sums)
            lead = logs.index(max(logs))
            best = table[lead].index(max(table[lead]))
            rivals = [g for g, row in enumerate(table) if max(row) - row[best] > epsilon]
            mixture = mp.log(sum(mp.exp(each) for each in logs) / len(logs))
            if played and all(mixture - logs[g] >= mp.log(1 / mpf(level)) for g in rivals):
                return played, best
            rival = max(rivals, key=lambda g: (logs[g], -g)) if rivals else lead
            told = [
                p * mp.log(p / q) + (1 - p) * mp.log((1 - p) / (1 - q))
                for p, q in zip(table[lead], table[rival], strict=True)
            ]
            arm = told.index(max(told)) if rivals else best
            reward = rewards[arm][pulls[arm]]
            played.append(arm)
            pulls[arm] += 1
            sums[arm] += int(reward)


@pytest.mark.parametrize("index", range(12))
def test_its_arms_are_those_of_the_rules(index: int) -> None:
    rng = np.random.default_rng([50, index])
    means = np.round(rng.uniform(0.05, 0.95, (rng.integers(2, 8), rng.integers(2, 6))), 3)
    epsilon = 0.1 if index % 3 == 2 else 0.0
    rewards = (rng.random((means.shape[1], 3_000)) < means[0][:, None]).astype(float)
    arms, best = by_the_rules(means, rewards, 0.05, epsilon)
    policy = sb.BestArm(sb.FiniteStructure(means), 0.05, epsilon)
    horizon = len(arms) + 50
    for compiled in (False, True):
        for planning in (False, True):
            found = play(policy, rewards, horizon, compiled, planning).arms
            assert found == [*arms, *[best] * 50]


def test_an_agent_says_when_it_is_certain() -> None:
    agent, rng = sb.Agent(sb.BestArm(SHOP, level=0.1)), np.random.default_rng(3)
    for pull in range(2_000):
        certificate = agent.certificate
        assert certificate is not None
        assert certificate.given_models is not None
        if "has been certain" in agent.describe():
            break
        assert pull == 0 or certificate.given_models.error > 0.1
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < SHOP.means(2)[decision.arm]))
    assert certificate.given_models.error <= 0.1
    assert f"since pull {agent.rewards}" in agent.describe()
    assert agent.ask().arm == certificate.given_models.arm
    twin = sb.Agent.from_json(agent.to_json(), agent.policy)
    assert twin.describe() == agent.describe()


# ------------------------------------------------------------------------- how often it is wrong


def round_robin(table: Any, truth: int, level: float, runs: int, seed: int) -> float:
    """Return the mean pulls until certain if the arms take turns, many runs side by side."""
    rng = np.random.default_rng(seed)
    models, arms = table.shape
    best = table.argmax(axis=1)
    gaps = table.max(axis=1)[:, None] - table
    logs, stopped = np.zeros((runs, models)), np.zeros(runs, np.int64)
    for pull in range(20_000):
        arm = pull % arms
        hits = rng.random(runs) < table[truth, arm]
        logs += np.where(hits[:, None], np.log(table[:, arm]), np.log1p(-table[:, arm]))
        top = logs.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(logs - top).mean(axis=1))
        rivals = gaps[:, best[logs.argmax(axis=1)]].T > 0
        certain = total - np.where(rivals, logs, -np.inf).max(axis=1) >= -np.log(level)
        stopped[certain & (stopped == 0)] = pull + 1
        if (stopped > 0).all():
            return float(stopped.mean())
    raise AssertionError("the longest takes too long")


@pytest.mark.parametrize(
    ("structure", "most", "share"),
    [(figure1_right(), 27.0, 0.6), (SHOP, 180.0, 0.6), (UNIFORM, 60.0, 0.6)],
    ids=["Figure 1 right", "shop", "uniform"],
)
def test_it_is_rarely_wrong_and_soon_certain(structure: Any, most: float, share: float) -> None:
    """Over 2,000 lives; in turns it takes much longer."""
    table = structure.cells.table
    lives = -(-2_000 // len(table))
    means, turns, wrong = [], [], 0
    for truth in range(len(table)):
        world = sb.Bernoulli(table[truth])
        found = sb.identify(structure, world, runs=lives, horizon=20_000, seed=truth)
        assert found.undecided == 0
        means.append(found.mean)
        turns.append(round_robin(table, truth, 0.05, 200, seed=truth))
        wrong += int(found.wrong.sum())
    assert binomtest(wrong, lives * len(table), 0.05, alternative="greater").pvalue > 1e-6
    assert np.mean(means) <= most
    assert np.mean(means) <= share * np.mean(turns)


def test_gaussian_rewards() -> None:
    rng = np.random.default_rng(2)
    structure = sb.FiniteStructure(rng.normal(0.0, 1.0, (5, 4)).round(2), reward_range=(-9, 9))
    wrong = 0
    for truth in range(5):
        world = sb.Gaussian(structure.means(truth), sigma=1.0)
        found = sb.identify(structure, world, level=0.2, runs=400, horizon=2_000, seed=truth)
        assert found.undecided == 0
        wrong += int(found.wrong.sum())
    assert wrong > 0
    assert binomtest(wrong, 2_000, 0.2, alternative="greater").pvalue > 1e-6


def test_what_identify_says() -> None:
    world = sb.Bernoulli(SHOP.means(0))
    short = sb.identify(SHOP, world, runs=40, horizon=100, engine="python")
    assert short.undecided > 0
    assert short.mean == np.inf
    assert f"{short.undecided} of 40 runs were not certain in 100 pulls" in str(short)
    whole = sb.identify(SHOP, world, runs=40, horizon=5_000, engine="python")
    assert str(whole).startswith(
        f"Certain after {whole.mean:,.0f} pulls on average, 9 of 10 within "
    )
    assert whole.quantile(0.9) == np.sort(whole.pulls)[35]
    first = sb.identify(SHOP, world, runs=10, horizon=5_000, engine="python")
    assert (first.pulls == whole.pulls[:10]).all()
    with pytest.raises(sb.ParameterError, match="horizon=10000001: expected at most 10,000,000"):
        sb.identify(SHOP, world, horizon=10_000_001)


# ------------------------------------------------------------------------- certificates


def life(
    means: Any, rng: Any, choose: Callable[[Any, Any, Any], int], named: Callable[[Data], Any]
) -> float:
    """Return the least error of a wrong arm in a life that is looked at after every pull."""
    pulls, sums = np.zeros(len(means), np.int64), np.zeros(len(means))
    least = 1.0
    for _ in range(60):
        arm = choose(pulls, sums, rng)
        pulls[arm] += 1
        sums[arm] += rng.random() < means[arm]
        found, error = named(Data(pulls, sums))
        if means[found] < means.max():
            least = min(least, error)
    return least


def greedy(pulls: Any, sums: Any, rng: Any) -> int:
    """Pull the arm with the highest mean, now and then another."""
    if rng.random() < 0.2 or not pulls.all():
        return int(rng.integers(len(pulls)))
    return int((sums / pulls).argmax())


TABLE = np.array([[0.5, 0.4, 0.3], [0.4, 0.5, 0.3], [0.45, 0.4, 0.5]])


@pytest.mark.parametrize("given", [True, False], ids=["given the models", "from the arms"])
@pytest.mark.parametrize("truth", range(3))
def test_certificates_are_rarely_wrong_under_peeking(given: bool, truth: int) -> None:
    """In 1,000 lives each, whatever is pulled: at level 0.2, so that some are wrong."""
    rng = np.random.default_rng([60, truth])
    flat = np.full(3, -np.log(3.0))
    table = [np.array([0.5, 0.49, 0.3]), np.array([0.2, 0.5, 0.5]), np.array([0.9, 0.85, 0.8])]
    means = TABLE[truth] if given else table[truth]

    def named(data: Data) -> tuple[int, float]:
        if not given:
            return best_from_arms(COINS, data)
        lead = lead_on_table(table_sets(TABLE, flat, COINS), data, 0.0)
        return lead.arm, math.exp(min(0.0, -lead.log_evidence))

    wrong = sum(life(means, rng, greedy, named) <= 0.2 for _ in range(1_000))
    assert binomtest(wrong, 1_000, 0.2, alternative="greater").pvalue > 1e-6
    assert wrong > 0 or not given


def test_clicks_at_once_and_the_others_late_mislead_nobody() -> None:
    """Rewards count in the order of asking, so the certificate waits for those that are out."""
    rng, wrong, lives = np.random.default_rng(7), 0, 300
    structure = sb.FiniteStructure(TABLE)
    for seed in range(lives):
        agent, out, least = sb.Agent(sb.ModelTS(structure), seed=seed), list[int](), 1.0
        for _ in range(80):
            decision = agent.ask()
            if rng.random() < TABLE[0, decision.arm]:
                agent.tell(decision.id, 1.0)
            else:
                out.append(decision.id)
            if len(out) > 25:
                agent.tell(out.pop(0), 0.0)
            certificate = agent.certificate
            assert certificate is not None
            for each in (certificate.given_models, certificate.from_arms):
                if each is not None and each.arm != 0:
                    least = min(least, each.error)
        wrong += least <= 0.2
    assert binomtest(wrong, lives, 0.4, alternative="greater").pvalue > 1e-6  # two tests of 0.2


def test_evidence_of_a_pair_in_closed_form() -> None:
    """Two arms: Krichevsky and Trofimov's mixtures over the pooled likelihood."""
    with mp.workdps(40):
        mixtures = [
            mp.beta(h + mpf(1) / 2, n - h + mpf(1) / 2) / mp.pi for n, h in ((12, 9), (10, 2))
        ]
        pooled = mpf(11) / 22
        expected = pooled**11 * (1 - pooled) ** 11 / (mixtures[0] * mixtures[1])
    data = Data(np.array([12, 10]), np.array([9.0, 2.0]))
    arm, error = best_from_arms(COINS, data)
    assert arm == 0
    assert error == pytest.approx(float(min(expected, mpf(1))), rel=1e-10)
    assert best_from_arms(COINS, Data(np.array([3, 3]), np.array([2.0, 2.0])))[1] == 1.0


def test_certificates_of_other_policies() -> None:
    blind = sb.Agent(sb.ThompsonSampling(3))
    blind.learn([400, 380, 390], [280, 40, 60])
    certificate = blind.certificate
    assert certificate is not None
    assert certificate.given_models is None
    assert certificate.from_arms.name == "0"
    assert certificate.from_arms.error < 1e-6
    assert str(certificate) == (
        "By the rewards of the arms alone: '0' is best, with an error below 0.000001."
    )
    impossible = sb.Agent(sb.ModelTS(sb.FiniteStructure([[1.0, 0.2], [1.0, 0.9]])))
    impossible.learn([5, 0], [2, 0])
    found = impossible.certificate
    assert found is not None
    assert found.given_models is not None
    assert found.given_models.error in (0.0, 1.0)
    alone = sb.Agent(sb.ModelTS(sb.FiniteStructure([[0.5], [0.6]]))).certificate
    assert alone is not None
    assert alone.from_arms.error == 0.0


def test_what_is_refused() -> None:
    with pytest.raises(sb.ParameterError, match=r"BestArm cannot play on .*at most 1,000 pieces"):
        sb.BestArm(sb.product([sb.unimodal(11)] * 3))
    with pytest.raises(sb.ParameterError, match="level"):
        sb.BestArm(SHOP, level=0.0)
    with pytest.raises(sb.ParameterError, match="epsilon"):
        sb.BestArm(SHOP, epsilon=-0.1)


# ------------------------------------------------------------------------- found by an attack


def test_a_log_is_taken_in_as_a_whole() -> None:
    """It was arm by arm, and certain of the first before it had heard of the second."""
    agent = sb.Agent(sb.BestArm(sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])))
    agent.learn([10, 1_000], [8, 700])
    assert agent.ask().arm == 1
    assert "since pull 1,010" in agent.describe()


def test_a_shorter_horizon_has_no_more_errors() -> None:
    """Runs that were certain at the last pull were judged by the arm of that pull."""
    structure, world = sb.FiniteStructure([[0.8, 0.3], [0.75, 0.9]]), sb.Bernoulli([0.8, 0.3])
    how: Any = {"runs": 2_000, "level": 0.2, "engine": "python"}
    wrong = [sb.identify(structure, world, horizon=n, **how).wrong.sum() for n in (5, 8, 12, 20)]
    assert wrong == sorted(wrong)


def test_what_identify_refuses() -> None:
    world = sb.Bernoulli(SHOP.means(0))
    with pytest.raises(sb.ParameterError, match="rewards have to come at once"):
        sb.identify(SHOP, sb.Delayed(world, 3))
    found = sb.identify(SHOP, world, horizon=1e3, runs=1e1, engine="python")  # type: ignore[arg-type]
    assert (found.horizon, len(found.pulls)) == (1_000, 10)
    with pytest.raises(
        sb.ParameterError, match=r"share=2\.0: expected a number above 0, at most 1"
    ):
        found.quantile(2.0)
    with pytest.raises(sb.ParameterError, match=r"has no sigma; leave sigma out$"):
        sb.BestArm(SHOP, sigma=0.1)
