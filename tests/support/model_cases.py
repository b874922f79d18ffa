"""Random tables of models, priors, rewards and uniforms for policies that keep a posterior.

Equal and nearly equal models, means of 0, 1 and beyond, one arm, one model, wrong truths; rewards and
uniforms that come in the worst order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from support.uniform_tapes import hostile_uniforms

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.testing.tapes import reward_tape

STYLES = ("figure1-right", "hard-copies", "tied", "near-equal", "split", "random", "tiny")


@dataclass
class ModelCase:
    """A table, what is believed of it at first, and what happens."""

    style: str
    table: np.ndarray
    prior: list[float] | None
    temper: float
    rewards: np.ndarray  # arms x horizon
    uniforms: np.ndarray

    @property
    def structure(self) -> sb.FiniteStructure:
        """The table as a structure."""
        return sb.FiniteStructure(self.table)


def draw_model_case(seed: int, index: int, hostile_for: Any = None) -> ModelCase:
    """Return case `index`; every second one has uniforms that are hostile for such a policy."""
    rng = np.random.default_rng([seed, index])
    style = STYLES[index % len(STYLES)]
    table = _table(rng, style)
    prior = _prior(rng, len(table))
    temper = 1.0 if rng.random() < 0.7 else float(rng.choice([0.25, 0.5, 0.75]))
    horizon = int(rng.integers(1, 300))
    case = ModelCase(
        style, table, prior, temper, _rewards(rng, table, horizon), rng.random(horizon)
    )
    if hostile_for is not None and index % 2:
        policy = hostile_for(case)
        case.uniforms = hostile_uniforms(policy, case.rewards, horizon, rng)
    return case


def _prior(rng: np.random.Generator, models: int) -> list[float] | None:
    """Equal weights, some random ones, or such that are nearly sure of what may be wrong."""
    style = rng.random()
    if style < 0.4:
        return None
    weights = rng.exponential(1.0, models) + 1e-3
    return (weights if style < 0.7 else weights * 10.0 ** -rng.uniform(0.0, 9.0, models)).tolist()


def _table(rng: np.random.Generator, style: str) -> np.ndarray:
    models, arms = int(rng.integers(2, 12)), int(rng.integers(2, 7))
    if style == "figure1-right":
        return figure1_right().cells.table.copy()
    if style == "hard-copies":
        table = np.tile(rng.random(arms), (models, 1))
        for row in table[1:]:
            row[rng.integers(arms)] /= 10.0
            row[rng.integers(arms)] = row.max() + 0.2 * rng.random()  # may be above 1
        return np.round(table, 3)
    if style == "tied":
        return rng.integers(0, 5, (models, arms)) / 4
    if style == "near-equal":
        base = rng.integers(1, 16, arms) / 16
        return np.asarray(base + rng.choice([0.0, 2.0**-20, 2.0**-7], (models, arms)))
    if style == "split":  # the first arm is best where it pays little and where it pays much
        low, high = rng.uniform(0.05, 0.3), rng.uniform(0.7, 0.95)
        return np.array([[low, 0.0], [high, 0.0], [0.5, 0.6]])
    if style == "tiny":
        return rng.integers(0, 9, (int(rng.integers(1, 3)), int(rng.integers(1, 3)))) / 8
    return np.round(rng.random((models, arms)), 3)


def _rewards(rng: np.random.Generator, table: np.ndarray, horizon: int) -> np.ndarray:
    """Rewards as a model of the table says, or from a wrong truth, or in the worst order."""
    arms = table.shape[1]
    if rng.random() < 0.5:
        number = int(rng.integers(80))
        return reward_tape(number, arms, horizon, coins=rng.random() < 0.7)
    truth = table[rng.integers(len(table))] if rng.random() < 0.7 else rng.random(arms)
    return (rng.random((arms, horizon)) < truth[:, None]).astype(float)
