"""ModelTS with switching: an exact filter, ModelTS without hazards, and agents that follow changes."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.cases import draw_case

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.inference.switching import HAZARDS
from structured_bandits.testing.tapes import play

ROWS = [[0.75, 0.25], [0.25, 0.5], [0.5, 0.875]]
TABLE = sb.FiniteStructure(ROWS, models=["a", "b", "c"])


def by_enumeration(
    prior: list[Fraction], hazards: list[Fraction], told: list[tuple[int, int]]
) -> dict[int, Fraction]:
    """The law of the model after the last reward, summed over all ways in which it may have changed.

    After each reward the model stays, or jumps to any model: every path of these is followed.
    """
    rows = [[Fraction(mean) for mean in row] for row in ROWS]
    masses = dict.fromkeys(range(3), Fraction(0))
    jumps = list(product([None, 0, 1, 2], repeat=len(told)))
    for hazard, first, path in product(hazards, range(3), jumps):
        chance, model = prior[first] / len(hazards), first
        for (arm, reward), jump in zip(told, path, strict=True):
            chance *= rows[model][arm] if reward else 1 - rows[model][arm]
            chance *= 1 - hazard if jump is None else hazard * prior[jump]
            model = model if jump is None else jump
        masses[model] += chance
    total = sum(masses.values())
    return {model: mass / total for model, mass in masses.items()}


@pytest.mark.parametrize("hazards", [[0.25], [0.0, 0.125, 0.5]], ids=len)
def test_the_filter_sums_over_all_paths(hazards: list[float]) -> None:
    rng = np.random.default_rng(len(hazards))
    prior = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    policy: Any = sb.ModelTS(TABLE, prior=[2, 1, 1], switching=hazards)
    for _ in range(3):
        told = [(int(rng.integers(2)), int(rng.integers(2))) for _ in range(4)]
        state = policy.init()
        for arm, reward in told:
            policy.update(state, sb.Outcome(arm, 1, float(reward), float(reward)))
        wanted = by_enumeration(prior, [Fraction(each) for each in hazards], told)
        found = policy.model_weights(state)
        for model, name in enumerate("abc"):
            assert found[name] == pytest.approx(float(wanted[model]), rel=1e-12)
        best = {"a": 0, "b": 1, "c": 1}
        for arm in range(2):
            weight = sum(found[name] for name in "abc" if best[name] == arm)
            assert state.belief.arms[arm] == pytest.approx(weight, rel=1e-12)


@pytest.mark.parametrize("number", range(10))
def test_without_hazards_it_is_model_ts_to_the_bit(number: int) -> None:
    case = draw_case(83, number, "finite", full_size=False)
    for compiled in (False, True):
        plain, never = (
            play(policy, case.rewards, case.horizon, compiled, planning=True, seed=number)
            for policy in (sb.ModelTS(case.structure), sb.ModelTS(case.structure, switching=0))
        )
        assert plain == never
    assert (
        sb.ModelTS(case.structure, switching=(0.0,)).parameters()
        == sb.ModelTS(case.structure).parameters()
    )


def test_a_tiny_hazard_is_nearly_none() -> None:
    rewards = (np.random.default_rng(1).random((2, 300)) < [[0.75], [0.25]]).astype(float)
    plain, rare = (
        play(policy, rewards, 300, compiled=False, planning=False, seed=5)
        for policy in (sb.ModelTS(TABLE), sb.ModelTS(TABLE, switching=1e-12))
    )
    assert plain.arms == rare.arms


@pytest.mark.parametrize("number", range(10))
def test_compiled_play_is_that_of_python(number: int) -> None:
    case = draw_case(84, number, "finite", full_size=False)
    policy = sb.ModelTS(case.structure, switching=True)
    ways = [
        play(policy, case.rewards, case.horizon, compiled, planning=True, seed=number)
        for compiled in (False, True)
    ]
    assert ways[0] == ways[1]


def changed(
    table: np.ndarray, changes: int, rng: np.random.Generator
) -> tuple[dict[str, Any], Any]:
    """Policies, and a world whose model changes at random moments to another one."""
    at = np.sort(rng.choice(np.arange(200, 19_800), changes, replace=False))
    rows = [int(rng.integers(len(table)))]
    for _ in at:
        rows.append(int(rng.choice([row for row in range(len(table)) if row != rows[-1]])))
    structure = sb.FiniteStructure(table)
    policies: dict[str, Any] = {
        "switching": sb.ModelTS(structure, switching=True),
        "never": sb.ModelTS(structure),
        "blind": sb.ThompsonSampling(structure.n_arms),
        "discount": sb.ThompsonSampling(structure.n_arms, discount=0.9995),
        "window": sb.KLUCB(structure.n_arms, window=4000),
    }
    return policies, sb.Piecewise(table[rows], at)


SHOP = np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3)


@pytest.mark.parametrize(
    ("table", "without", "with_five"),
    [(SHOP, 30.0, 150.0), (figure1_right().cells.table, 36.0, 195.0)],
    ids=["shop", "Figure 1 right"],
)
def test_changes_are_followed(table: np.ndarray, without: float, with_five: float) -> None:
    """In 20,000 pulls: what it costs to expect changes that do not come, and what it saves."""
    for changes, most in ((0, without), (5, with_five)):
        played = sb.simulate_random(
            lambda rng, changes=changes: changed(table, changes, rng),
            20_000,
            runs=60,
            seed=8,
            checkpoints=1,
            progress=False,
            workers=1,
        )
        mean = {name: float(each[:, -1].mean()) for name, each in played.regret.items()}
        error = played.regret["switching"][:, -1].std(ddof=1) / 60**0.5
        assert mean["switching"] <= most + 2.0 * error
        if changes:
            assert mean["switching"] < 0.4 * min(mean["never"], mean["blind"])
            assert mean["switching"] < 0.5 * min(mean["discount"], mean["window"])


# --------------------------------------------------------------------------------------- agents


def lived(policy: Any, seed: int = 0) -> sb.Agent:
    """An agent whose visitors become of another type after 300."""
    agent, rng = sb.Agent(policy, seed=seed), np.random.default_rng(4)
    for t in range(600):
        decision = agent.ask()
        agent.tell(decision.id, float(rng.random() < ROWS[0 if t < 300 else 2][decision.arm]))
    return agent


def test_an_agent_says_what_is_likely_now() -> None:
    never, follows = lived(sb.ModelTS(TABLE)), lived(sb.ModelTS(TABLE, switching=True))
    assert next(iter(follows.likely_models)) == "c"
    assert follows.likely_models["c"] > 0.95
    assert sum(follows.likely_models.values()) == pytest.approx(1.0)
    assert "the likeliest are 'c'" in follows.describe()
    assert follows.misfit is None
    assert follows.certificate is None
    assert never.misfit is not None
    assert never.certificate is not None


@pytest.mark.parametrize(
    "policy",
    [
        sb.ModelTS(TABLE, switching=True),
        sb.ThompsonSampling(2, discount=0.99),
        sb.KLUCB(2, window=40),
    ],
    ids=["switching", "discount", "window"],
)
def test_a_snapshot_goes_on_with_what_was_learned(policy: Any) -> None:
    """What counts does not follow from pulls and sums, so it is saved."""
    agent = lived(policy)
    other = sb.Agent.from_json(agent.to_json(), policy)
    rng = np.random.default_rng(9)
    for _ in range(60):
        ours, theirs = agent.ask(), other.ask()
        assert ours.arm == theirs.arm
        reward = float(rng.random() < 0.4)
        agent.tell(ours.id, reward)
        other.tell(theirs.id, reward)
    assert json.loads(agent.to_json()) == json.loads(other.to_json())
    assert agent.certificate is None


def test_a_log_counts_at_once() -> None:
    """Results that are learned together are taken to be of one moment."""
    policy: Any = sb.ModelTS(TABLE, switching=0.01)
    agent = sb.Agent(policy, seed=1)
    agent.learn(pulls=[100_000, 0], sums=[75_000, 0])
    weights = agent.likely_models
    stays = 0.99**100_000
    assert weights["a"] == pytest.approx(stays + (1.0 - stays) / 3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: sb.ModelTS(TABLE, switching=1.0),
            "switching=1.0: expected True, False, or how probable",
        ),
        (lambda: sb.ModelTS(TABLE, switching=-0.1), "switching=-0.1: expected True"),
        (lambda: sb.ModelTS(TABLE, switching=(0.1, 0.1)), "or several different ones"),
        (lambda: sb.ModelTS(TABLE, switching="often"), "switching='often': expected True"),
        (lambda: sb.ModelTS(TABLE, switching=0.1, trust=0.5), "it needs trust=1"),
        (lambda: sb.ModelTS(sb.around(ROWS, 0.1), switching=0.1), "on tables of models only"),
        (lambda: sb.ModelTS(sb.product([TABLE, TABLE]), switching=0.1), "on tables of models only"),
        (lambda: sb.Guarded(sb.ModelTS(TABLE, switching=0.1)), "expects changes needs no guard"),
        (lambda: sb.ThompsonSampling(2, discount=0.0), "discount=0.0: expected more than 0"),
        (lambda: sb.ThompsonSampling(2, discount=1.5), "discount=1.5: expected 0 to 1"),
        (
            lambda: sb.ThompsonSampling(2, discount=0.9, reward_range=None, sigma=1.0),
            "discount=0.9: expected 1 for rewards without a range",
        ),
        (lambda: sb.KLUCB(3, window=2), "expected at least as many pulls as arms, 3"),
        (lambda: sb.KLUCB(3, window=10**12), "expected at most 10,000,000 pulls"),
        (lambda: sb.KLUCB(3, window=9.5), "window=9.5: expected a whole number"),
        (lambda: sb.KLUCB(3, window=9, variant="++", horizon=100), "it is for variant='plain'"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(sb.ParameterError, match=message):
        make()


@pytest.mark.parametrize("hazards", [[0.0, 0.1], True])
def test_a_hazard_that_was_refuted_for_long_comes_back(hazards: Any) -> None:
    """Its weight must not become less than the smallest float: nothing could bring it back."""
    table = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    world = sb.Piecewise([[0.8, 0.3], [0.2, 0.7]], at=[20_000])
    policy = sb.ModelTS(table, switching=hazards)
    result = sb.simulate(
        policy, world, 40_000, runs=3, progress=False, checkpoints=[20_000, 40_000]
    )
    before, after = result.regret["ModelTS"].T
    assert (after - before < 4_000.0).all()


def test_huge_counts_leave_numbers() -> None:
    table = sb.FiniteStructure([[0.8, 0.3], [0.2, 0.7]])
    agent = sb.Agent(sb.ModelTS(table, switching=[0.0, 0.1]), seed=0)
    for _ in range(3):
        agent.learn(pulls=[25_000, 0], sums=[20_000, 0])
        agent.learn(pulls=[2_000, 2_000], sums=[400, 1_400])
        weights = agent.likely_models
        assert sum(weights.values()) == pytest.approx(1.0)
    agent.ask()


def test_policies_that_forget_say_nothing_of_models() -> None:
    agent = sb.Agent(sb.ThompsonSampling(TABLE, discount=0.99))
    agent.learn(pulls=[50, 50], sums=[40, 10])
    assert agent.likely_models is None
    assert "likeliest" not in agent.describe()


def test_true_stands_for_several_hazards() -> None:
    assert sb.ModelTS(TABLE, switching=True).parameters()["switching"] == list(HAZARDS)
    for never in (False, None, np.False_, 0):
        assert "switching" not in sb.ModelTS(TABLE, switching=never).parameters()
    assert sb.ModelTS(TABLE, switching=np.True_).switching == list(HAZARDS)
    assert repr(sb.ThompsonSampling(2, discount=0.9)).startswith("ThompsonSampling(2 arms, ")
    assert repr(sb.KLUCB(2, window=9)).startswith("KLUCB(2 arms, ")


# ------------------------------------------------------------------------- policies that forget


@pytest.mark.parametrize("number", range(8))
def test_discounted_thompson_sampling_is_the_textbook_loop(number: int) -> None:
    rng = np.random.default_rng(number)
    arms, discount = int(rng.integers(2, 5)), float(rng.choice([0.5, 0.9, 0.99]))
    rewards = (rng.random((arms, 200)) < rng.random((arms, 1))).astype(float)
    policy = sb.ThompsonSampling(arms, prior=(2.0, 3.0), discount=discount)
    for compiled in (False, True):
        played = play(policy, rewards, 200, compiled, planning=True, seed=number)
        draws = sb.testing.agent_generator(number)
        ones, zeros, pulls = np.zeros(arms), np.zeros(arms), np.zeros(arms, int)
        for arm in played.arms:
            means = [draws.beta(2.0 + s, 3.0 + f) for s, f in zip(ones, zeros, strict=True)]
            assert arm == int(np.argmax(means))
            reward = rewards[arm, pulls[arm]]
            ones, zeros = discount * ones, discount * zeros
            ones[arm] += reward
            zeros[arm] += 1.0 - reward
            pulls[arm] += 1


def kl_index(mean: float, pulls: int, budget: float) -> float:
    """The largest q with pulls d(mean, q) <= budget, by halving."""

    def divergence(q: float) -> float:
        parts = [(mean, q), (1.0 - mean, 1.0 - q)]
        return sum(p * np.log(p / r) for p, r in parts if p > 0.0)

    low, high = mean, 1.0 - 1e-16
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if pulls * divergence(middle) <= budget else (low, middle)
    return low


@pytest.mark.parametrize("number", range(8))
def test_windowed_kl_ucb_is_the_textbook_loop(number: int) -> None:
    rng = np.random.default_rng(number)
    arms = int(rng.integers(2, 5))
    window = int(rng.integers(arms, 60))
    rewards = (rng.random((arms, 150)) < rng.random((arms, 1))).astype(float)
    policy = sb.KLUCB(arms, window=window)
    for compiled in (False, True):
        played = play(policy, rewards, 150, compiled, planning=True, seed=number)
        past: list[tuple[int, float]] = []
        pulls = np.zeros(arms, int)
        for t, arm in enumerate(played.arms):
            last = past[-window:]
            seen = [[reward for each, reward in last if each == other] for other in range(arms)]
            budget = np.log(min(t + 1, window))
            indices = [
                kl_index(float(np.mean(each)), len(each), budget) if each else np.inf
                for each in seen
            ]
            assert indices[arm] >= max(indices) - 1e-9
            if max(indices) == np.inf:
                assert arm == int(np.argmax(indices))
            past.append((arm, rewards[arm, pulls[arm]]))
            pulls[arm] += 1
