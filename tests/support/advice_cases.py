"""Structures to ask advice on, and what candidates cost there, measured with other seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb
from structured_bandits.advice.candidates import BLIND, Candidate
from structured_bandits.advice.evaluation import Evaluator, TimeBudget
from structured_bandits.advice.options import Options, checked_options
from structured_bandits.advice.truths import Truths, outsides, truths_of
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)
from structured_bandits.structures.base import Structure

WRONG = (0.02, 0.05)


class AdviceCase(NamedTuple):
    """A structure and for how many pulls it is played."""

    make: Callable[[], Structure]
    horizon: int


def shop() -> sb.FiniteStructure:
    """Return 6 types of customers × 8 offers with the rates that shops have."""
    return sb.FiniteStructure(np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3))


CASES = {
    "R": AdviceCase(figure1_right, 5_000),
    "L": AdviceCase(figure1_left, 5_000),
    "D": AdviceCase(lambda: random_structure(np.random.default_rng(5), clip=True)[0], 5_000),
    "shop": AdviceCase(shop, 20_000),
    "lipschitz": AdviceCase(lambda: sb.lipschitz(np.linspace(0.0, 1.0, 6), 0.6), 2_000),
    "linear": AdviceCase(
        lambda: sb.linear([[1.0, 0.0], [0.7, 0.3], [0.5, 0.5], [0.2, 0.7], [0.0, 0.9]], (0.0, 1.0)),
        1_000,
    ),
    "unstructured": AdviceCase(lambda: sb.unstructured(5), 5_000),
}


def usual_options(structure: Structure, horizon: int, wrong: Any = (), seed: int = 0) -> Options:
    """Return the options of `sb.advise` with its defaults."""
    return checked_options(
        structure,
        horizon,
        family="bernoulli",
        trust=0.5,
        prior=None,
        wrong=wrong,
        level=0.05,
        runs=None,
        seconds=60.0,
        seed=seed,
    )


def measured(
    structure: Structure,
    horizon: int,
    policies: dict[str, Any],
    runs: int,
    seed: int,
    wrong: tuple[float, ...] = WRONG,
) -> dict[str, dict[str, Any]]:
    """Return regrets by policy and stage ("inside", or how far outside), in the same worlds for all."""
    options = usual_options(structure, horizon, wrong=wrong, seed=seed)
    with TimeBudget(60.0, False) as budget:
        evaluator = Evaluator(options, budget)
    inside = truths_of(options, None)
    stages: dict[str, Truths] = {"inside": inside}
    stages |= {name: each for name, each in outsides(options, inside).items() if each.exist(seed)}
    found: dict[str, dict[str, Any]] = {name: {} for name in policies}
    for stage, truths in stages.items():
        blocks = -(-runs // evaluator.block_size)
        for block in range(blocks):
            worlds = evaluator.worlds(stage, block, truths.draw)
            for name, policy in policies.items():
                more = evaluator.play(Candidate(name, policy, policy), stage, block, worlds)
                found[name][stage] = np.append(found[name].get(stage, []), more)
    return found


def survivors(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return the policies whose regret outside is clearly below twice the blind reference's."""
    sizes = [stage for stage in found[BLIND] if stage != "inside"]
    spared = {
        name: [2.0 * found[BLIND][size] - each[size] for size in sizes]
        for name, each in found.items()
    }
    return [
        name
        for name, each in spared.items()
        if name == BLIND or all(x.mean() > 3.0 * x.std() / np.sqrt(len(x)) for x in each)
    ]


def excess(found: dict[str, dict[str, Any]], name: str, others: Iterable[str]) -> tuple[float, Any]:
    """Return by how much of the best mean a policy is worse than the best, and with what error.

    The error is the standard error of the paired differences, in units of the same mean.
    """
    best = min(others, key=lambda other: float(found[other]["inside"].mean()))
    scale = float(found[best]["inside"].mean())
    behind = found[name]["inside"] - found[best]["inside"]
    error = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else np.nan
    return float(behind.mean()) / scale, float(error) / scale
