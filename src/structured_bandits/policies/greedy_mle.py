"""Greedy play of the best-fitting model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    StreakPolicy,
    StructuredPolicy,
    checked_rewards,
    checked_structure,
)
from structured_bandits.structures.base import Structure


class GreedyState(NamedTuple):
    """Pulls and sums of rewards of each arm."""

    pulls: Ints
    sums: Floats


class _GreedyMLE(NamedTuple):
    cells: Any
    sigma: float
    low: float
    high: float


class GreedyMLE(StructuredPolicy, StreakPolicy, _GreedyMLE):
    """Play the best arm of the model with the least squares sum_i T_i (mean_i - mu_i(theta))^2.

    That is the most likely model for Gaussian rewards of equal variance. No exploration: with
    finitely many models, regret is logarithmic if there is no decoy, a model with another best arm that
    looks right on it, and linear with positive probability otherwise (Slivkins, Xu, Zuo).
    The first model wins a tie, also before the first pull. It decides at every pull: its plans hold
    one.
    """

    def __new__(
        cls,
        structure: Structure,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> GreedyMLE:
        """Check the parameters."""
        checked_structure(structure)
        policy = super().__new__(
            cls, structure.fitting_cells, *checked_rewards(reward_range, sigma)
        )
        policy.structure = structure
        return policy

    def init(self) -> GreedyState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        return GreedyState(np.zeros(arms, np.int64), np.zeros(arms))

    def streak(self, state: GreedyState, t: int, limit: int, rng: np.random.Generator) -> Streak:
        """Pull the fitting model's best arm once."""
        return certain_streak(self.cells.fitting_arm(state.pulls, state.sums), 1, 0)
