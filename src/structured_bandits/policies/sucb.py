"""SUCB: optimism over the models that still fit (UCB-S; paper, Appendix B)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags
from structured_bandits.planning.confidence import box_of
from structured_bandits.planning.intervals import Intervals
from structured_bandits.planning.leads import highest_index
from structured_bandits.policies.base import (
    USERS_ALPHA,
    ChoicePolicy,
    GivenRange,
    PaperPolicy,
    State,
    checked_cells,
    checked_sets,
    flagged,
    fresh_state,
    registered,
    widths_of,
)
from structured_bandits.protocol import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells, candidate_arms
from structured_bandits.structures.shared_ties import least_pulled_tie


class _SUCB(NamedTuple):
    widths: Intervals  # of a budget of 0
    cells: Cells
    candidates: Flags  # arms that are best in some model
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class SUCB(PaperPolicy, ChoicePolicy, _SUCB):
    """Play the best arm of the most optimistic model that fits the data (structured UCB).

    The set is {theta : |mean_i - mu_i(theta)| < 2 sigma sqrt(alpha log t / T_i) for all pulled i}, or,
    with confidence="kl", {theta : T_i kl(mean_i, mu_i(theta)) < 2 alpha log t for all pulled i}, which
    is smaller and as safe for rewards in a range, and much smaller where means are close to 0 or 1. The
    most optimistic model is the one with the highest best mean; if two are equal, the lowest arm is
    played, or the least pulled where polytopes fix the best mean, and not its arm (docs/mathematics.md
    2.4). If no model fits, this is counted as an empty set, and the arm with the highest UCB index
    among those that are best in some model is played (errata, I-15).

    The defaults, alpha = 1/2 and KL intervals, are for use, outside the theorems. `SUCB.paper` has those
    of the paper's experiments. The paper's own parameter is twice our alpha (docs/concepts.md).
    """

    asks = ("choose", "certain_length", "empty_length", "best_arms_in")

    def __new__(
        cls,
        structure: Structure,
        alpha: float = USERS_ALPHA,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str | None = None,
    ) -> SUCB:
        """Check the parameters."""
        sets = checked_sets(structure, alpha, reward_range, sigma, confidence)
        cells = checked_cells(cls, structure)
        candidates = candidate_arms(cells)
        policy = super().__new__(cls, sets.widths, cells, candidates, sets.alpha, *sets.rewards)
        policy.structure, policy.confidence = structure, sets.confidence
        return policy

    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all candidates if none does."""
        box, found = box_of(state.data, self.widths_at(state, t)), np.zeros(self.n_arms, np.bool_)
        alive = self.cells.best_arms_in(box, found, self.cells.fresh_notes())
        return flagged(found if alive else self.candidates)

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.cells.arm_count())

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the best arm of the most optimistic model that fits."""
        level = widths_of(self, math.log(now.t + 1))
        box, notes = box_of(state.data, level), self.cells.fresh_notes()
        arm = self.cells.optimistic_arm(box, notes)
        if arm < 0:
            return Choice(highest_index(state.data, level, self.candidates).arm, 1)
        return Choice(least_pulled_tie(self.cells, arm, state.data.pulls, box, notes), 0)
