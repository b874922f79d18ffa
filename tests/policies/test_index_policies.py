"""KL-UCB, IMED, MOSS and UCB-V play what their definitions say, planned or not, compiled or not.

The oracles (oracles/indices.py, written without sight of the library) decide pull by pull, in 60 digits
where floats are near a tie. Every case is played by the library four ways: Python and compiled, planning
ahead and pull by pull. Minimum numbers of what makes cases hard are asserted, so that they stay hard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from oracles import indices
from oracles.policies import Trace
from support.cases import draw_case
from support.play import Spy, play

import structured_bandits as sb

CASES = 120


@dataclass
class Tape:
    """Rewards for the oracle, in [0, 1], and the same for the library, in a range of its own."""

    structure: Any  # of which only the best arms matter
    shares: Any  # arms x pulls
    horizon: int
    reward_range: tuple[float, float]
    arms: str
    rng: np.random.Generator  # for the parameters

    @property
    def rewards(self) -> Any:
        low, high = self.reward_range
        return low + (high - low) * self.shares

    @property
    def playable(self) -> list[int] | None:
        return None if self.arms == "all" else sorted(self.structure.best_arms)


def draw_tape(seed: int, index: int) -> Tape:
    """Return 0/1 rewards, or fractions of 8; the k-th case is the same each time."""
    case = draw_case(seed, index, "finite", full_size=False)
    rng = np.random.default_rng([seed, index])
    shares = np.array(case.rewards, dtype=float)
    if rng.random() < 0.4:  # between both rewards of two arms of the tape there are others
        shares = rng.integers(0, 9, shares.shape) / 8 * shares
    if rng.random() < 0.1:
        shares[0] = 1.0
    if rng.random() < 0.1:
        shares[-1] = shares[0]
    ranges = [(0.0, 1.0), (0.0, 1.0), (-1.0, 3.0), (2.0, 2.5)]
    low, high = ranges[rng.integers(len(ranges))]
    arms = "candidates" if rng.random() < 0.3 else "all"
    return Tape(case.structure, shares, case.horizon, (low, high), arms, rng)


def compare(policy: Any, rewards: Any, horizon: int, oracle: Callable[..., Trace]) -> Counter[str]:
    """Play one case every way; return what was met. `oracle` gets the arms that were played."""
    planned = play(policy, rewards, horizon, compiled=True, planning=True)
    trace = oracle(planned.arms)
    spy = Spy(policy)
    ways = {
        "compiled, planning": planned,
        "compiled, pull by pull": play(policy, rewards, horizon, compiled=True, planning=False),
        "Python, planning": play(policy, rewards, horizon, compiled=False, planning=True),
        "Python, as an agent plans": play(spy, rewards, horizon, compiled=False, planning=True),
        "Python, pull by pull": play(policy, rewards, horizon, compiled=False, planning=False),
    }
    met = Counter(cases=1, ties=trace.ties, saved=horizon - planned.plans)
    met["long_plans"] = int(spy.longest > 1)
    for name, way in ways.items():
        if way.arms != trace.arms:
            assert trace.closest < 1e-9, f"{policy!r}, {name}: not what the oracle plays"
            met["near_ties_broken"] = 1
    return met


def met_in(
    seed: int,
    make: Callable[[Tape], Any],
    oracle: Callable[[Tape, Any, list[int]], Trace],
    cases: int = CASES,
) -> Counter[str]:
    met: Counter[str] = Counter()
    for index in range(cases):
        tape = draw_tape(seed, index)
        policy = make(tape)
        met += compare(policy, tape.rewards, tape.horizon, lambda arms: oracle(tape, policy, arms))  # noqa: B023
        met["candidates"] += tape.playable is not None and len(tape.playable) < policy.n_arms
        met["one_arm"] += policy.n_arms == 1
        met["scaled"] += tape.reward_range != (0.0, 1.0)
        met["fractions"] += bool(((tape.shares > 0) & (tape.shares < 1)).any())
    assert met["near_ties_broken"] <= 1
    return met


def assert_met(met: Counter[str], **least: int) -> None:
    for name, count in least.items():
        assert met[name] >= count, f"{name}: {met[name]}, at least {count} expected; {met}"


HARD = {"cases": CASES, "ties": 300, "candidates": 5, "one_arm": 10, "scaled": 40, "fractions": 30}


def test_kl_ucb() -> None:
    met = met_in(
        31,
        lambda tape: sb.KLUCB(
            tape.structure,
            c=float(tape.rng.choice([0.0, 0.5, 3.0])),
            arms=tape.arms,
            reward_range=tape.reward_range,
        ),
        lambda tape, policy, _: indices.klucb(
            policy.n_arms, tape.shares.tolist(), tape.horizon, c=policy.c, arms=tape.playable
        ),
    )
    assert_met(met, **HARD, long_plans=60, saved=5000)


def test_kl_ucb_plus_plus() -> None:
    met = met_in(
        32,
        lambda tape: sb.KLUCB(
            tape.structure,
            variant="++",
            horizon=max(1, int(tape.horizon * tape.rng.choice([0.5, 1.0, 1.0, 20.0]))),
            arms=tape.arms,
            reward_range=tape.reward_range,
        ),
        lambda tape, policy, _: indices.klucb(
            policy.n_arms,
            tape.shares.tolist(),
            tape.horizon,
            variant="++",
            n=policy.horizon,
            arms=tape.playable,
        ),
    )
    assert_met(met, **HARD, long_plans=60, saved=5000)


@pytest.mark.parametrize("anytime", [False, True], ids=["horizon", "anytime"])
def test_moss(anytime: bool) -> None:
    met = met_in(
        33 + anytime,
        lambda tape: sb.MOSS(
            tape.structure,
            None if anytime else max(1, int(tape.horizon * tape.rng.choice([0.5, 1.0, 1.0, 20.0]))),
            alpha=float(tape.rng.choice([0.0, 1.0, 1.35])),
            arms=tape.arms,
            reward_range=tape.reward_range,
        ),
        lambda tape, policy, _: indices.moss(
            policy.n_arms,
            tape.shares.tolist(),
            tape.horizon,
            n=policy.horizon,
            alpha=policy.alpha,
            arms=tape.playable,
        ),
    )
    assert_met(met, **HARD, long_plans=60, saved=5000)


def test_imed() -> None:
    met = met_in(
        35,
        lambda tape: sb.IMED(tape.structure, arms=tape.arms, reward_range=tape.reward_range),
        lambda tape, policy, arms: indices.imed(
            policy.n_arms, tape.shares.tolist(), tape.horizon, arms=tape.playable, follow=arms
        ),
    )
    assert_met(met, **HARD, long_plans=60, saved=5000)


def test_ucb_v() -> None:
    met = met_in(
        36,
        lambda tape: sb.UCBV(tape.structure, arms=tape.arms, reward_range=tape.reward_range),
        lambda tape, policy, _: indices.ucbv(
            policy.n_arms, tape.shares.tolist(), tape.horizon, arms=tape.playable
        ),
    )
    assert_met(met, **HARD)


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
    met: Counter[str] = Counter()
    for index in range(24):
        rng = np.random.default_rng([37, index])
        arms, horizon = int(rng.integers(1, 6)), int(rng.integers(1, 150))
        sigma = float(rng.choice([0.25, 1.0, 8.0]))
        means = rng.integers(-4, 5, (arms, 1)) / 4
        rewards = np.round(8 * (means + sigma * rng.standard_normal((arms, horizon)))) / 8
        policy = make(arms, horizon, reward_range=None, sigma=sigma)
        met += compare(
            policy,
            rewards,
            horizon,
            lambda played: oracle(arms, rewards.tolist(), horizon, sigma, played),  # noqa: B023
        )
    assert met["saved"] == 0, "a plan of more than one pull cannot be certain"
    assert met["near_ties_broken"] <= 1
    assert_met(met, cases=24)


ALL = [
    sb.KLUCB(3),
    sb.KLUCB(3, c=3.0, variant="++", horizon=1000),
    sb.MOSS(3),
    sb.MOSS(3, 1000),
    sb.IMED(3),
    sb.UCBV(3),
]


@pytest.mark.parametrize("policy", ALL, ids=repr)
def test_the_librarys_own_checks(policy: Any) -> None:
    sb.testing.check_policy(policy, compiled=False)


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
