"""WAGP: the weighted arm greedy policy (Atan, Tekin, van der Schaar)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    State,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    fresh_state,
    registered,
)
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import LineCells


class _WAGP(NamedTuple):
    cells: LineCells
    sigma: float
    bottom: float
    top: float


@registered
class WAGP(StructuredPolicy, ChoicePolicy, _WAGP):
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

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.cells.arm_count())

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return a random arm at first, then the best one at the averaged parameter."""
        pulls, sums = state.data
        if now.t == 0:
            return Choice(int(rng.random() * len(pulls)), 0)
        total = 0.0
        for arm in np.flatnonzero(pulls):
            total += pulls[arm] * self.cells.closest_parameter(int(arm), sums[arm] / pulls[arm])
        return Choice(self.cells.arm_at(total / now.t), 0)
