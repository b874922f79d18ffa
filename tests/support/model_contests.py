"""GreedyMLE and OSSB on tables of models, each with its oracle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from oracles import policies as naive
from oracles import posteriors
from support.exactness import Contest
from support.set_contests import any_case, small_table_case

import structured_bandits as sb

GREEDY_SQUARES = Contest(
    any_case,
    lambda case: sb.GreedyMLE(case.structure),
    lambda case, _, __: naive.greedy_mle(case.oracle, case.rewards.tolist(), case.horizon),
)
GREEDY_LIKELIHOOD = Contest(
    small_table_case,
    lambda case: sb.GreedyMLE(case.structure, "likelihood"),
    lambda case, _, __: posteriors.greedy_likelihood(
        case.structure.cells.table.tolist(), case.rewards.tolist(), case.horizon
    ),
)


@dataclass
class AllocationCase:
    """A table of models, rewards, and how willingly OSSB explores."""

    table: np.ndarray
    rewards: np.ndarray  # arms x horizon
    horizon: int
    epsilon: float
    gamma: float


def draw_table(rng: np.random.Generator) -> np.ndarray:
    """Draw models that often agree on an arm, so that there is something to refute."""
    models, arms = int(rng.integers(1, 9)), int(rng.integers(1, 6))
    grid = int(rng.choice([2, 8, 16]))  # the first has means 0 and 1 in plenty
    table = rng.integers(0, grid + 1, (models, arms)) / grid
    agree = rng.random((models, arms)) < rng.choice([0.0, 0.5, 0.8])
    table = np.where(agree, table[0], table)
    if models > 1 and rng.random() < 0.2:
        table[-1] = table[0]
    return table


def draw_tape(rng: np.random.Generator, means: Any, horizon: int) -> np.ndarray:
    """Draw rewards of 0 and 1, sometimes all zeros first, sometimes in runs."""
    rewards = (rng.random((len(means), horizon)) < np.asarray(means)[:, None]).astype(float)
    style = rng.random()
    if style < 0.2:
        return np.sort(rewards, axis=1)
    return np.repeat(rewards[:, ::9], 9, axis=1)[:, :horizon] if style < 0.4 else rewards


def draw_allocation_case(seed: int, index: int) -> AllocationCase:
    rng = np.random.default_rng([seed, index])
    table = draw_table(rng)
    truth = table[0] if rng.random() < 0.7 else rng.random(table.shape[1])
    horizon = int(rng.integers(1, 300))
    return AllocationCase(
        table,
        draw_tape(rng, truth, horizon),
        horizon,
        epsilon=float(rng.choice([0.0, 0.0, 0.0625, 0.5])),
        gamma=float(rng.choice([0.0, 0.125, 1.0])),
    )


OSSB = Contest(
    draw_allocation_case,
    lambda case: sb.OSSB(sb.FiniteStructure(case.table), case.epsilon, case.gamma),
    lambda case, policy, _: posteriors.ossb(
        case.table.tolist(),
        case.rewards.tolist(),
        case.horizon,
        policy.cells.allocations.tolist(),
        case.epsilon,
        case.gamma,
    ),
)
