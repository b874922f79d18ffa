"""WAGP: the weighted arm greedy policy (Atan, Tekin, van der Schaar)."""

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
from structured_bandits.structures.curves.structure import CurveStructure


class WAGPState(NamedTuple):
    """Pulls and sums of each arm, and the parameter that each arm points to."""

    pulls: Ints
    sums: Floats
    pointed: Floats
    seen: Ints  # pulls of each arm when `pointed` was computed


class _WAGP(NamedTuple):
    cells: Any
    sigma: float
    low: float
    high: float


class WAGP(StructuredPolicy, StreakPolicy, _WAGP):
    """Average the parameters that the arms point to, weighted by pulls, and play the best arm there.

    Arm k points to the parameter whose mean of k is nearest to the empirical one; if there are
    several, to the middle between the smallest and the largest (errata, I-35). The first arm is
    random. No exploration. Needs a curve structure: averaging needs a number. It decides at every
    pull: its plans hold one.
    """

    def __new__(
        cls,
        structure: CurveStructure,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> WAGP:
        """Check the parameters."""
        checked_structure(structure, CurveStructure)
        policy = super().__new__(cls, structure.cells, *checked_rewards(reward_range, sigma))
        policy.structure = structure
        return policy

    def init(self) -> WAGPState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        return WAGPState(
            np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms, np.int64)
        )

    def streak(self, state: WAGPState, t: int, limit: int, rng: np.random.Generator) -> Streak:
        """Pull the best arm at the averaged parameter once."""
        arms = len(state.pulls)
        if t == 0:
            return certain_streak(int(rng.random() * arms), 1, 0)
        total = 0.0
        for arm in range(arms):
            if state.pulls[arm] > state.seen[arm]:
                mean = state.sums[arm] / state.pulls[arm]
                state.pointed[arm] = self.cells.closest_parameter(arm, mean)
                state.seen[arm] = state.pulls[arm]
            total += state.pulls[arm] * state.pointed[arm]
        return certain_streak(self.cells.arm_at(total / t), 1, 0)
