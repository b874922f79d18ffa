"""WAGP: the weighted arm greedy policy (Atan, Tekin, van der Schaar)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    StreakPolicy,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    registered,
)
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import LineCells


class WAGPState(NamedTuple):
    """What was seen of each arm, and the parameter that each arm points to."""

    data: Data
    pointed: Floats
    counted: Ints  # pulls of each arm when `pointed` was computed


class _WAGP(NamedTuple):
    cells: LineCells
    sigma: float
    bottom: float
    top: float


@registered
class WAGP(StructuredPolicy, StreakPolicy, _WAGP):
    """Average the parameters that the arms point to, weighted by pulls, and play the best arm there.

    Arm k points to the parameter whose mean of k is nearest to the empirical one; if there are
    several, to the middle between the smallest and the largest (errata, I-35). The first arm is random.
    WAGP never explores. It needs a curve structure, because parameters are averaged. It decides before
    every pull.
    """

    asks = ("closest_parameter", "arm_at")
    randomised = True

    def __new__(
        cls,
        structure: Structure,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> WAGP:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        policy = super().__new__(cls, cells, *checked_rewards(reward_range, sigma, structure))
        policy.structure = structure
        return policy

    def init(self) -> WAGPState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        return WAGPState(fresh_data(arms), np.zeros(arms), np.zeros(arms, np.int64))

    def streak(self, state: WAGPState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the best arm at the averaged parameter once."""
        data = state.data
        arms = len(data.pulls)
        if now.t == 0:
            return certain_streak(int(rng.random() * arms), 1, 0)
        total = 0.0
        for arm in range(arms):
            if data.pulls[arm] > state.counted[arm]:
                mean = data.sums[arm] / data.pulls[arm]
                state.pointed[arm] = self.cells.closest_parameter(arm, mean)
                state.counted[arm] = data.pulls[arm]
            total += data.pulls[arm] * state.pointed[arm]
        return certain_streak(self.cells.arm_at(total / now.t), 1, 0)
