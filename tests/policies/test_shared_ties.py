"""SUCB where the structure says what the best mean is, but not whose: arms share what nobody can tell.

It played such ties in the order of the arms: of ten arms, one with a mean of 0.5 and nine with 0.4, it
lost 1.6 in 10,000 pulls if the best came first, and 383 if it came last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracles import polyhedral as naive
from support.play import play
from support.twins import by_programs

import structured_bandits as sb

KNOWN = sb.known_best_mean(3, 0.75)
NEAR = sb.intersection([KNOWN, sb.lipschitz([0, 1, 2], 0.5)])
CONCAVE = sb.intersection([KNOWN, sb.concave(3)])
STRUCTURES: dict[str, Any] = {
    "closed form": KNOWN,
    "linear programs": by_programs(KNOWN),
    "closed form, neighbours": NEAR,
    "concave": CONCAVE,
    "scaled": sb.scaled(KNOWN, [0.5, 0.5, 0.5]),
    "with a shape that has other best means": sb.union([KNOWN, sb.unimodal(3)]),
    "with a single model, which fixes none": sb.union(
        [KNOWN, sb.FiniteStructure([[0.25, 0.75, 0.5]])]
    ),
    "product": sb.product([KNOWN, sb.mixtures([[0.25, 0.5], [0.5, 0.25]])]),
    "product with a table": sb.product([KNOWN, sb.FiniteStructure([[0.25, 0.75], [0.75, 0.5]])]),
    "product of two": sb.product([KNOWN, KNOWN]),
    "equations that fix a mean": sb.PolyhedralStructure(
        [
            sb.Polytope(
                np.eye(3)[order],
                rows=[[1, 1, 0], [1, -1, 0], [0, 0, 1]],
                lower=[1.25, 0.25, 0.0],
                upper=[1.25, 0.25, 0.5],
            )
            for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0])
        ]
    ),
}


def tape(seed: int, means: Any, length: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 28])
    rewards: np.ndarray = (rng.random((len(means), length)) < np.array(means)[:, None]).astype(int)
    return rewards


def means_of(structure: Any, seed: int) -> list[float]:
    """Return the best mean for one arm and less for the others, or what no model of it has."""
    rng = np.random.default_rng([seed, 7])
    means = rng.choice([0.25, 0.5, 0.625], structure.n_arms)
    means[rng.integers(structure.n_arms)] = rng.choice([0.75, 0.75, 0.5])
    found: list[float] = means.tolist()
    return found


@pytest.mark.parametrize("name", STRUCTURES)
def test_the_arms_are_those_of_the_oracle(name: str) -> None:
    """The oracle finds by exact linear programs whether all cells have the same best mean."""
    structure = STRUCTURES[name]
    pieces = [naive.Polytope(*map(_plain, piece.arrays())) for piece in structure.polytopes]
    for seed in range(2):
        rewards = tape(seed, means_of(structure, seed), 30)
        for alpha in (0.0625, 0.5):
            trace = naive.sucb(pieces, rewards, 30, alpha)
            for planning in (False, True):
                policy = sb.SUCB.paper(structure, alpha=alpha)
                played = play(policy, rewards, 30, compiled=False, planning=planning)
                assert played.arms == trace.arms, (seed, alpha, planning)


def _plain(numbers: np.ndarray) -> Any:
    return numbers.tolist()


@pytest.mark.parametrize("confidence", ["hoeffding", "kl"])
@pytest.mark.parametrize("structure", [KNOWN, NEAR], ids=["known best mean", "neighbours"])
def test_planned_and_compiled_play_is_that_of_pull_by_pull(structure: Any, confidence: str) -> None:
    for seed in range(4):
        rewards = tape(seed, means_of(structure, seed), 1_000)
        policy = sb.SUCB.paper(structure, alpha=0.25, confidence=confidence)
        slow = play(policy, rewards, 1_000, compiled=False, planning=False)
        assert play(policy, rewards, 1_000, compiled=False, planning=True).arms == slow.arms
        assert play(policy, rewards, 1_000, compiled=True, planning=True).arms == slow.arms


@pytest.mark.parametrize("confidence", ["hoeffding", "kl"])
def test_of_the_arms_that_may_have_the_known_mean_the_least_pulled_is_played(
    confidence: str,
) -> None:
    """By the arms' own intervals alone: an arm may have the mean if it is inside its interval."""
    policy = sb.SUCB.paper(sb.known_best_mean(5, 0.5), alpha=0.5, confidence=confidence)
    rewards = tape(3, [0.3, 0.4, 0.2, 0.5, 0.45], 400)
    agent = sb.Agent(policy)
    full = 0
    for _ in range(400):
        level = policy.widths_at(None, int(agent.pulls.sum()))  # type: ignore[arg-type]
        low, high = level.intervals(agent.pulls, agent.sums)
        able = np.flatnonzero((low < 0.5) & (high > 0.5))
        decision = agent.ask()
        if len(able) and (low < 0.5).all():
            assert decision.arm == min(able, key=lambda arm: (agent.pulls[arm], arm))
            full += len(able) > 1
        agent.tell(decision.id, rewards[decision.arm, agent.pulls[decision.arm]])
    assert full > 100


def test_the_order_of_the_arms_does_not_matter() -> None:
    means = [0.5] + [0.4] * 4
    found = []
    for world in (means, means[::-1]):
        policy = sb.SUCB.paper(sb.known_best_mean(5, 0.5), alpha=0.5, confidence="kl")
        result = sb.simulate(policy, sb.Bernoulli(world), 5_000, runs=50, seed=1, checkpoints=1)
        found.append(result.regret["SUCB"][:, -1].mean())
    assert 0.8 < found[0] / found[1] < 1.25


def test_tables_and_curves_keep_the_lowest_arm() -> None:
    """Errata, I-29: their best means tie here too, and the paper's figures have such ties."""
    table = sb.FiniteStructure([[0.75, 0.25, 0.25], [0.25, 0.75, 0.25], [0.25, 0.25, 0.75]])
    flat = [0.75, 0.25, 0.5]
    curve = sb.CurveStructure(
        [sb.Piece(i, i + 1, np.roll(flat, i), np.roll(flat, i)) for i in range(3)]
    )
    points = sb.union([table, table])
    for structure in (table, curve, points, by_programs(points)):
        agent = sb.Agent(sb.SUCB.paper(structure, alpha=0.5))
        agent.learn([3, 1, 1], [2, 1, 1])
        assert agent.active_arms == (0, 1, 2)
        assert agent.ask().arm == 0


@pytest.mark.parametrize("structure", [KNOWN, CONCAVE], ids=["closed form", "linear programs"])
def test_of_the_available_arms_that_tie_the_least_pulled_is_given(structure: Any) -> None:
    """The plan is for arm 0, which is missing: arm 1 was given until its rewards refuted it."""
    agent = sb.Agent(sb.SUCB.paper(structure, alpha=0.5, confidence="kl"))
    agent.learn([4, 9, 7], [3, 7, 5])
    assert agent.ask().arm == 0
    given = [agent.ask(available=[1, 2]) for _ in range(7)]
    assert {each.reason for each in given} == {"restricted"}
    assert [each.arm for each in given] == [2, 2, 1, 2, 1, 2, 1]
