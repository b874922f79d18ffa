"""SUCB: optimism over the models that still fit (UCB-S; paper, Appendix B)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.checks import checked_above
from structured_bandits.policies.base import (
    StructuredPolicy,
    checked_rewards,
    checked_structure,
    flagged,
)
from structured_bandits.policies.candidates import candidate_arms, highest_index
from structured_bandits.structures.base import Structure
from structured_bandits.structures.confidence import confidence_box, width_budget


class SUCBState(NamedTuple):
    """Pulls and sums of each arm, the confidence box, and what a plan needs."""

    pulls: Ints
    sums: Floats
    low: Floats
    high: Floats
    candidates: Flags  # arms that are best in some model
    work: Floats  # what the cells note of the models
    lengths: Ints  # length of the last plan for each arm, where it is searched


class _SUCB(NamedTuple):
    cells: Any
    alpha: float
    sigma: float
    low: float
    high: float


class SUCB(StructuredPolicy, _SUCB):
    """Play the best arm of the most optimistic model that fits the data at level log t.

    The set is {theta : |mean_i - mu_i(theta)| < 2 sigma sqrt(alpha log t / T_i) for all pulled i};
    on equal values the lowest arm is played. If nothing fits, a sign that the structure is wrong,
    this is counted, and the highest UCB index among the arms that are best in some model is played
    (errata, I-15). The paper's own parameter is twice our alpha (docs/notation.md).
    """

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> SUCB:
        """Check the parameters."""
        checked_structure(structure)
        rewards = checked_rewards(reward_range, sigma)
        policy = super().__new__(cls, structure.cells, checked_above("alpha", alpha, 0.0), *rewards)
        policy.structure = structure
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        return f"sqrt({width_budget(self.alpha, self.sigma, 1.0):g} log t / T)"

    def active_arms(self, state: SUCBState, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all candidates if none does."""
        low, high = np.empty(self.n_arms), np.empty(self.n_arms)
        found = np.zeros(self.n_arms, np.bool_)
        budget = width_budget(self.alpha, self.sigma, math.log(t + 1))
        confidence_box(state.pulls, state.sums, budget, low, high)
        return flagged(found if self.cells.best_arms_in(low, high, found) else state.candidates)

    def init(self) -> SUCBState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        candidates = candidate_arms(self.cells)
        return SUCBState(
            np.zeros(arms, np.int64),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(arms),
            candidates,
            self.cells.workspace(),
            np.ones(arms, np.int64),
        )

    def plan(
        self, state: SUCBState, t: int, limit: int, quota: Ints, rng: np.random.Generator
    ) -> int:
        """Plan a run of the optimistic arm, as long as it is certain to stay the choice."""
        quota[:] = 0
        budget = width_budget(self.alpha, self.sigma, math.log(t + 1))
        arm = self.cells.choose(state.pulls, state.sums, budget, state.low, state.high, state.work)
        if arm < 0:
            quota[highest_index(state.pulls, state.sums, budget, state.candidates)] = 1
            return 1
        quota[arm] = 1
        if limit > 1 and math.isfinite(self.low):  # rewards without bounds leave nothing certain
            quota[arm] = self.cells.sure_pulls(
                arm,
                t,
                limit,
                state.pulls,
                state.sums,
                width_budget(self.alpha, self.sigma, 1.0),
                self.low,
                self.high,
                state.work,
                state.lengths,
            )
        return 0
