"""Greedy play of the best-fitting model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    StreakPolicy,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    registered,
)
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import FittingCells


class GreedyState(NamedTuple):
    """What was seen of each arm."""

    data: Data


class _GreedyMLE(NamedTuple):
    cells: FittingCells
    sigma: float
    bottom: float
    top: float


@registered
class GreedyMLE(StructuredPolicy, StreakPolicy, _GreedyMLE):
    """Play the best arm of the model with the least squares sum_i T_i (mean_i - mu_i(theta))^2.

    That is the most likely model for Gaussian rewards of equal variance. No exploration: with
    finitely many models, regret is logarithmic if there is no decoy, a model with another best arm that
    looks right on it, and linear with positive probability otherwise (Slivkins, Xu, Zuo).
    The first model wins a tie, also before the first pull. It decides at every pull: its plans hold
    one.
    """

    asks = ("fitting_arm",)

    def __new__(
        cls,
        structure: Structure,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> GreedyMLE:
        """Check the parameters."""
        cells = checked_cells(cls, structure, "fitting_cells")
        policy = super().__new__(cls, cells, *checked_rewards(reward_range, sigma))
        policy.structure = structure
        return policy

    def init(self) -> GreedyState:
        """Return a fresh state."""
        return GreedyState(fresh_data(self.cells.arm_count()))

    def streak(self, state: GreedyState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the fitting model's best arm once."""
        return certain_streak(self.cells.fitting_arm(state.data), 1, 0)
