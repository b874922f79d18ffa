"""SAE: structured arm elimination for a known horizon (paper, Algorithm 1)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.checks import checked_above, checked_at_least, checked_count
from structured_bandits.planning.confidence import width_budget
from structured_bandits.policies.base import (
    StructuredPolicy,
    checked_rewards,
    checked_structure,
    flagged,
)
from structured_bandits.policies.phases import (
    find_best_arms,
    keep_only,
    largest_gap,
    phase_target,
    top_up,
)
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import candidate_arms


class SAEState(NamedTuple):
    """Pulls and sums of each arm, the active arms and the phase; the rest is scratch."""

    pulls: Ints
    sums: Floats
    active: Flags
    phase: Ints  # one number
    box_low: Floats
    box_high: Floats
    found: Flags


class _SAE(NamedTuple):
    cells: Any
    horizon: int
    alpha: float
    beta: float
    sigma: float
    low: float
    high: float


class SAE(StructuredPolicy, _SAE):
    """Play all active arms in turn; at the end of a phase drop those that are best in no fitting model.

    Phase h ends when each active arm has ceil((2 sigma)^2 alpha log n (1 + 1/beta)^2 4^h / w^2)
    pulls, w the width of the rewards' range (1 if they have no bounds); the set is then rebuilt from
    the whole structure and from the data of all arms, so models may come back, arms may not. The
    theory has alpha = beta^2 (Theorem 3), the paper's experiments alpha = 2, beta = 1. Arms that are
    best in no model are never played.
    """

    def __new__(
        cls,
        structure: Structure,
        horizon: int,
        alpha: float = 2.0,
        beta: float = 1.0,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> SAE:
        """Check the parameters."""
        checked_structure(structure)
        policy = super().__new__(
            cls,
            structure.cells,
            checked_count("horizon", horizon),
            checked_above("alpha", alpha, 0.0),
            checked_at_least("beta", beta, 1.0),
            *checked_rewards(reward_range, sigma),
        )
        policy.structure = structure
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        return f"sqrt({width_budget(self.alpha, self.sigma, 1.0):g} log n / T)"

    def active_arms(self, state: SAEState, t: int) -> tuple[int, ...]:
        """Return the arms that have not been eliminated."""
        return flagged(state.active)

    def init(self) -> SAEState:
        """Return a fresh state: the arms that are best in some model are active."""
        arms = self.cells.arm_count()
        return SAEState(
            np.zeros(arms, np.int64),
            np.zeros(arms),
            candidate_arms(self.cells),
            np.zeros(1, np.int64),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(arms, np.bool_),
        )

    def plan(
        self, state: SAEState, t: int, limit: int, quota: Ints, rng: np.random.Generator
    ) -> int:
        """Plan the rest of the phase; phases that are complete are closed first."""
        budget = width_budget(self.alpha, self.sigma, math.log(self.horizon))
        gap = largest_gap(self.low, self.high)
        empty = 0
        while True:
            target = phase_target(budget, self.beta, gap, state.phase[0])
            if top_up(state.pulls, state.active, target, quota):
                return empty
            find_best_arms(
                self.cells,
                state.pulls,
                state.sums,
                budget,
                state.box_low,
                state.box_high,
                state.found,
            )
            empty += keep_only(state.active, state.found)
            state.phase[0] += 1
