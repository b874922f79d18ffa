"""SAE: structured arm elimination for a known horizon (paper, Algorithm 1)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Ints
from structured_bandits.base.checks import checked_at_least, checked_count
from structured_bandits.planning.confidence import Box, Data, fresh_box, fresh_data, width_budget
from structured_bandits.planning.intervals import Intervals
from structured_bandits.policies.base import (
    USERS_ALPHA,
    GivenRange,
    PaperPolicy,
    checked_cells,
    checked_sets,
    flagged,
    registered,
    widths_of,
)
from structured_bandits.policies.phases import (
    Presence,
    all_present,
    check_first_phase,
    check_phase,
    find_best_arms,
    keep_only,
    largest_gap,
    note_here,
    phase_target,
    top_up,
)
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells, candidate_arms, forget_history


class SAEState(NamedTuple):
    """What was seen of each arm, the active arms and the phase; the rest is scratch."""

    data: Data
    active: Flags
    phase: Ints  # one number
    presence: Presence
    box: Box
    found: Flags
    notes: Any  # of the cells


class _SAE(NamedTuple):
    widths: Intervals  # of a budget of 0
    cells: Cells
    horizon: int
    alpha: float
    beta: float
    sigma: float
    bottom: float
    top: float


@registered
class SAE(PaperPolicy, _SAE):
    """Play all active arms in turn; at the end of a phase drop those that are best in no fitting model.

    Phase h ends when each active arm has ceil((2 sigma)^2 alpha log n (1 + 1/beta)^2 4^h / w^2) pulls,
    where n is the horizon and w the width of the range of rewards (1 if they have no bounds). The set of
    fitting models is then rebuilt from the whole structure and from the data of all arms. So a model
    that did not fit may fit again, but an arm that was dropped does not come back. The theory has alpha
    = beta^2 (Theorem 3), the paper's experiments alpha = 2, beta = 1 and Hoeffding's intervals, which is
    `SAE.paper(structure, horizon)`; the defaults are for use, outside the theorem. Arms that are best in
    no model are never played. With confidence="kl" models are compared with KL intervals instead of
    radii (see `SUCB`); the phases are the same.
    """

    asks = ("best_arms_in",)
    learned = ("data", "active", "phase")
    clock = "n"

    def __new__(
        cls,
        structure: Structure,
        horizon: int,
        alpha: float = USERS_ALPHA,
        beta: float = 1.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str | None = None,
    ) -> SAE:
        """Check the parameters."""
        sets = checked_sets(structure, alpha, reward_range, sigma, confidence)
        policy = super().__new__(
            cls,
            sets.widths,
            checked_cells(cls, structure),
            checked_count("horizon", horizon),
            sets.alpha,
            checked_at_least("beta", beta, 1.0),
            *sets.rewards,
        )
        policy.structure, policy.confidence = structure, sets.confidence
        check_first_phase(policy, width_budget(policy.alpha, policy.sigma, math.log(horizon)))
        return policy

    def widths_at(self, state: SAEState, t: int) -> Intervals:
        """Return the intervals, which do not depend on time."""
        return widths_of(self, math.log(self.horizon))

    def active_arms(self, state: SAEState, t: int) -> tuple[int, ...]:
        """Return the arms that have not been eliminated."""
        return flagged(state.active)

    def init(self) -> SAEState:
        """Return a fresh state: the arms that are best in some model are active."""
        arms = self.cells.arm_count()
        return SAEState(
            fresh_data(arms),
            candidate_arms(self.cells),
            np.zeros(1, np.int64),
            all_present(arms),
            fresh_box(arms),
            np.zeros(arms, np.bool_),
            self.cells.fresh_notes(),
        )

    def forget(self, state: SAEState) -> None:
        """Clear what the cells noted for earlier plans."""
        forget_history(self.cells, state.notes)

    def check_learned(self, state: SAEState, t: int) -> None:
        """Raise a ValueError if this is no phase of the policy."""
        check_phase(int(state.phase[0]), state.active, candidate_arms(self.cells))

    def plan(self, state: SAEState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan the rest of the phase; phases that are complete are closed first."""
        budget = width_budget(self.alpha, self.sigma, math.log(self.horizon))
        level = self.widths.at(budget)
        gap = largest_gap(self.bottom, self.top)
        empty = 0
        while True:
            target = phase_target(budget, self.beta, gap, state.phase[0])
            note_here(state.active, state.presence)
            if top_up(state.data.pulls, state.presence.here, target, quota):
                return empty
            find_best_arms(self.cells, state.data, level, state.box, state.found, state.notes)
            empty += keep_only(state.active, state.found)
            state.phase[0] += 1
