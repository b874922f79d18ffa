"""KL-UCB, IMED, MOSS and UCB-V play what their definitions say, planned or not, compiled or not.

The oracles (oracles/indices.py, written without sight of the library) decide pull by pull, in 60 digits
where floats are near a tie. Every case is played by the library four ways (support/exactness.py). Minimum numbers of what makes cases hard are asserted, so that they stay hard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import indices
from oracles.policies import Trace
from support import index_contests
from support.exactness import Contest, assert_met, compare
from support.index_contests import IndexCase
from support.play import play
from support.stretches import Player

import structured_bandits as sb
from structured_bandits.protocols import Now, Outcome

CASES = 100
HARD = {"cases": CASES, "ties": 300, "candidates": 5, "one_arm": 8, "scaled": 30, "fractions": 25}


def hardness(case: IndexCase) -> Counter[str]:
    return Counter(
        candidates=case.playable is not None and len(case.playable) < len(case.shares),
        one_arm=len(case.shares) == 1,
        scaled=case.reward_range != (0.0, 1.0),
        fractions=bool(((case.shares > 0) & (case.shares < 1)).any()),
    )


def met_in(seed: int, contest: Contest) -> Counter[str]:
    tapes = [contest.draw(seed, index) for index in range(CASES)]
    met = compare(iter(tapes), contest, every_pull=False)
    return sum(map(hardness, tapes), start=met)


def test_kl_ucb() -> None:
    assert_met(met_in(31, index_contests.KLUCB), **HARD, long_plans=60, saved=5000)


def test_kl_ucb_plus_plus() -> None:
    assert_met(met_in(32, index_contests.KLUCB_PLUS_PLUS), **HARD, long_plans=60, saved=5000)


@pytest.mark.parametrize("anytime", [False, True], ids=["horizon", "anytime"])
def test_moss(anytime: bool) -> None:
    met = met_in(33 + anytime, index_contests.moss(anytime))
    assert_met(met, **HARD, long_plans=60, saved=5000)


def test_imed() -> None:
    assert_met(met_in(35, index_contests.IMED), **HARD, long_plans=60, saved=5000)


def test_ucb_v() -> None:
    assert_met(met_in(36, index_contests.UCBV), **HARD)


class GaussianCase(NamedTuple):
    """Rewards without bounds, in eighths."""

    sigma: float
    rewards: Any  # arms x horizon
    horizon: int


def draw_gaussian(seed: int, index: int) -> GaussianCase:
    rng = np.random.default_rng([seed, index])
    arms, horizon = int(rng.integers(1, 6)), int(rng.integers(1, 150))
    sigma = float(rng.choice([0.25, 1.0, 8.0]))
    means = rng.integers(-4, 5, (arms, 1)) / 4
    rewards = np.round(8 * (means + sigma * rng.standard_normal((arms, horizon)))) / 8
    return GaussianCase(sigma, rewards, horizon)


GAUSSIAN: dict[str, tuple[Callable[..., Any], Callable[..., Trace]]] = {
    "KLUCB": (
        lambda arms, n, **rewards: sb.KLUCB(arms, c=1.0, **rewards),
        lambda arms, rewards, n, sigma, _: indices.klucb(arms, rewards, n, c=1.0, sigma=sigma),
    ),
    "KLUCB++": (
        lambda arms, n, **rewards: sb.KLUCB(arms, variant="++", horizon=n, **rewards),
        lambda arms, rewards, n, sigma, _: indices.klucb(
            arms, rewards, n, variant="++", n=n, sigma=sigma
        ),
    ),
    "MOSS": (
        lambda arms, n, **rewards: sb.MOSS(arms, n, **rewards),
        lambda arms, rewards, n, sigma, _: indices.moss(arms, rewards, n, n=n, sigma=sigma),
    ),
    "MOSS-anytime": (
        lambda arms, n, **rewards: sb.MOSS(arms, **rewards),
        lambda arms, rewards, n, sigma, _: indices.moss(arms, rewards, n, sigma=sigma),
    ),
    "IMED": (
        lambda arms, n, **rewards: sb.IMED(arms, **rewards),
        lambda arms, rewards, n, sigma, played: indices.imed(
            arms, rewards, n, sigma=sigma, follow=played
        ),
    ),
}


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_rewards(name: str) -> None:
    """Without bounds on rewards plans hold one pull, and indices are closed forms."""
    make, oracle = GAUSSIAN[name]
    contest = Contest(
        draw_gaussian,
        lambda case: make(len(case.rewards), case.horizon, reward_range=None, sigma=case.sigma),
        lambda case, _, arms: oracle(
            len(case.rewards), case.rewards.tolist(), case.horizon, case.sigma, arms
        ),
    )
    met = compare((draw_gaussian(37, index) for index in range(24)), contest, every_pull=False)
    assert met["saved"] == 0, "a plan of more than one pull cannot be certain"
    assert_met(met, cases=24)


ALL = [
    sb.KLUCB(3),
    sb.KLUCB(3, c=3.0, variant="++", horizon=1000),
    sb.MOSS(3),
    sb.MOSS(3, 1000),
    sb.IMED(3),
    sb.UCBV(3),
]


def draw_long_tape(rng: np.random.Generator, style: int, horizon: int) -> Any:
    """Rewards on which plans become long: far, close, rare, fractional, lucky or perfect arms."""
    arms = int(rng.integers(2, 11))
    means = rng.random(arms)
    means = {0: np.full(arms, means[0]), 1: 0.98 + 0.02 * means, 2: 0.02 * means}.get(style, means)
    tape = (rng.random((arms, horizon)) < means[:, None]).astype(float)
    if style == 3:
        tape = np.round(16 * rng.beta(2 * means + 0.1, 2.1 - 2 * means, (horizon, arms)).T) / 16
    if style == 4:
        tape = np.repeat(tape[:, ::50], 50, axis=1)
    if style == 5:
        tape[rng.integers(arms)] = 1.0
    return tape


@pytest.mark.parametrize("style", range(6))
def test_long_plans_change_nothing(style: int) -> None:
    """Compiled, 20,000 pulls: what the oracles are too slow for."""
    rng, horizon, saved = np.random.default_rng([38, style]), 20_000, 0
    for _ in range(4):
        tape = draw_long_tape(rng, style, horizon)
        arms, tuned = len(tape), int(horizon * rng.choice([0.3, 1.0, 10.0]))
        for policy in (
            sb.KLUCB(arms, c=float(rng.choice([0.0, 1.0, 3.0]))),
            sb.KLUCB(arms, variant="++", horizon=tuned),
            sb.MOSS(arms, tuned),
            sb.MOSS(arms),
            sb.IMED(arms),
        ):
            planned = play(policy, tape, horizon, compiled=True, planning=True)
            assert planned.arms == play(policy, tape, horizon, compiled=True, planning=False).arms
            saved += horizon - planned.plans
    assert saved > 4 * 5 * horizon // 4, "a quarter of the pulls, at least, needs no decision"


def worst_paths(streak: Any, rng: np.random.Generator) -> list[list[float]]:
    """Rewards that a streak has to bear: all its misses first, last, in the middle, or halves."""
    length = streak.length - 1
    misses = min(streak.misses, length)
    first = [0.0] * misses + [1.0] * (length - misses)
    return [first, first[::-1], list(rng.permutation(first)), [max(x, 0.5) for x in first]]


@pytest.mark.parametrize("policy", ALL[:5], ids=repr)
def test_a_streak_survives_the_worst_rewards(policy: Any) -> None:
    """Asked before each pull of a streak, the policy must choose the same arm again."""
    rng, made, borne = np.random.default_rng(39), 0, 0
    for _ in range(200):
        limit = int(rng.choice([20, 150]))
        pulls = rng.integers(1, int(rng.choice([4, 40, 400])), 3)
        sums = rng.binomial(pulls, rng.choice([0.1, 0.5, 0.9, 1.0], 3))
        player = Player(policy, pulls, sums)
        streak = player.streak(Now(int(pulls.sum()), limit), rng)
        for path in worst_paths(streak, rng) if streak.length > 1 else []:
            there = deepcopy(player)
            for number, reward in enumerate(path):
                there.end(Outcome(streak.arm, 1, reward, reward**2))
                now = Now(int(pulls.sum()) + number + 1, 1)
                assert there.streak(now, rng).arm == streak.arm, (streak, pulls, path)
            made += 1
            borne += path.count(0.0)
    assert made > 200
    assert borne > 1000, "without misses this shows nothing"


def test_imed_stays_ahead_after_its_last_pull_and_all_its_misses() -> None:
    """At once, which no path reaches: so a length that is a little too long would show only here."""
    rng, policy, made = np.random.default_rng(40), sb.IMED(3), 0
    for _ in range(600):
        pulls = np.array([*rng.integers(5, 100, 2), 10 ** rng.integers(3, 7)])
        sums = rng.binomial(pulls, [0.5, 0.6, rng.choice([0.7, 0.9])])
        streak = Player(policy, pulls, sums).streak(Now(int(pulls.sum()), 2**52), rng)
        if streak.arm == 2 and 1 < streak.length < 2**52:
            mean = sums[2] / (pulls[2] + streak.misses)
            others = [
                pulls[i] * indices.kl(sums[i] / pulls[i], mean) + np.log(pulls[i]) for i in (0, 1)
            ]
            assert np.log(pulls[2] + streak.length - 1) < min(others)
            made += 1
    assert made > 100


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_an_agent_goes_on_from_a_snapshot(policy: Any) -> None:
    rewards = np.random.default_rng(5).integers(0, 9, (3, 200)) / 8
    agent, seen, arms = sb.Agent(policy), [0, 0, 0], []
    for pull in range(200):
        if pull % 37 == 5:
            agent = sb.Agent.from_json(agent.to_json(), policy)
        decision = agent.ask()
        arms.append(decision.arm)
        agent.tell(decision.id, rewards[decision.arm, seen[decision.arm]])
        seen[decision.arm] += 1
    assert arms == play(policy, rewards, 200, compiled=False, planning=False).arms


def test_candidates_are_the_arms_that_can_be_best() -> None:
    structure = sb.FiniteStructure([[0.5, 0.25, 0.75], [0.75, 0.5, 0.25]])
    for kind in (sb.KLUCB, sb.MOSS, sb.IMED, sb.UCBV):
        policy: Any = kind(structure, arms="candidates")
        assert policy.active_arms(policy.init(), 0) == (0, 2)
        assert set(play(policy, np.ones((3, 50)), 50, compiled=False, planning=True).arms) <= {0, 2}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sb.KLUCB(3, variant="++"), "horizon=None"),
        (lambda: sb.KLUCB(3, variant="+"), "accepted are 'plain' and '\\+\\+'"),
        (lambda: sb.KLUCB(3, c=-1.0), "c=-1.0"),
        (lambda: sb.MOSS(3, horizon=0), "horizon=0"),
        (lambda: sb.MOSS(3, alpha=-0.5), "alpha=-0.5"),
        (lambda: sb.IMED(3, arms="candidates"), "arms='candidates'"),
        (lambda: sb.IMED(3, reward_range=None), "need a sigma"),
        (lambda: sb.UCBV(3, reward_range=None), "reward_range=None: UCBV needs the range"),  # type: ignore[arg-type]
    ],
)
def test_wrong_parameters_are_named(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(sb.ParameterError, match=words):
        make()


def test_only_a_horizon_that_is_used_is_kept() -> None:
    """So that nobody is warned of a horizon which plain KL-UCB has no use for."""
    assert sb.KLUCB(3, horizon=100) == sb.KLUCB(3)
    assert sb.KLUCB(3, variant="++", horizon=100) != sb.KLUCB(3, variant="++", horizon=200)
