"""SUCB: optimism over the models that still fit (UCB-S; paper, Appendix B)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags
from structured_bandits.base.confidence import Data, box_of
from structured_bandits.base.intervals import Intervals
from structured_bandits.inference.likelihood_sets import (
    NO_ARM,
    LikelihoodSets,
    budget_at,
    by_sets,
)
from structured_bandits.policies.base import (
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
from structured_bandits.policies.indices import highest_index, least_pulled
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells, candidate_arms
from structured_bandits.structures.shared_ties import least_pulled_tie

LIKELIHOOD_ALPHA = 0.5  # of the users' default on tables


class _SUCB(NamedTuple):
    widths: Any  # intervals of a budget of 0, or likelihood sets
    cells: Cells
    candidates: Flags  # arms that are best in some model
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class SUCB(PaperPolicy, ChoicePolicy, _SUCB):
    """Play the best arm of the most optimistic model that fits the data (structured UCB).

    With confidence="likelihood", the default on tables, the set is {theta : log N - L_theta <
    alpha log(max(t, 1) + 1)}, where L is the log-likelihood of all rewards and N the mean of the models'
    likelihoods by their prior. With "hoeffding" it is {theta : |mean_i - mu_i(theta)| < 2 sigma
    sqrt(alpha log t / T_i) for all pulled i}, with "kl" {theta : T_i kl(mean_i, mu_i(theta)) < 2 alpha
    log t for all pulled i}, whose intervals are never wider and miss the truth as rarely, for
    rewards in a range. The most optimistic model is the one with the highest best mean; if two are
    equal, the lowest arm is played. (Where a polyhedral structure fixes the best mean but not its arm,
    the least pulled of these arms is played: docs/notes/mathematics.md 2.4.) If no model fits, this is
    counted as an empty set, and among the arms that are best in some model the one with the highest UCB
    index is played (errata, I-15), with likelihood sets the least pulled one.

    The defaults (alpha = 1/2; KL intervals where there is no table) lose less in practice and are
    outside the theorems. `SUCB.paper` is the rule of the paper's experiments. The paper's own parameter
    is twice our alpha (docs/concepts.md).
    """

    asks = ("best_arms_in", "optimistic_arm")

    def __new__(
        cls,
        structure: Structure,
        alpha: float | None = None,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str | None = None,
    ) -> SUCB:
        """Check the parameters."""
        sets = checked_sets(structure, alpha, reward_range, sigma, confidence, LIKELIHOOD_ALPHA)
        cells = checked_cells(cls, structure)
        candidates = candidate_arms(cells)
        policy = super().__new__(cls, sets.widths, cells, candidates, sets.alpha, *sets.rewards)
        policy.structure, policy.confidence = structure, sets.confidence
        return policy

    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all candidates if none does."""
        found = np.zeros(self.n_arms, np.bool_)
        level = self.widths_at(state, t)
        if level is None:
            sets: Any = self.widths
            budget = budget_at(self.alpha, t)
            alive = sets.arms_in_set(state.data, budget, sets.fresh_logs(), found)
        else:
            box = box_of(state.data, level)
            alive = self.cells.best_arms_in(box, found, self.cells.fresh_notes())
        return flagged(found if alive else self.candidates)

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.cells.arm_count())

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the best arm of the most optimistic model that fits."""
        return optimistic_choice(self.widths, self, state.data, now.t)


def in_box(widths: Intervals, policy: SUCB, data: Data, t: int) -> Choice:
    """Choose among the models with means in the intervals of all arms."""
    level = widths_of(policy, math.log(t + 1))
    box, notes = box_of(data, level), policy.cells.fresh_notes()
    arm = policy.cells.optimistic_arm(box, notes)
    if arm < 0:
        return Choice(highest_index(data, level, policy.candidates).arm, 1)
    return Choice(least_pulled_tie(policy.cells, arm, data.pulls, box, notes), 0)


def in_likelihoods(widths: LikelihoodSets, policy: SUCB, data: Data, t: int) -> Choice:
    """Choose among the models that the likelihood does not refute."""
    arm = widths.arm_in_set(data, budget_at(policy.alpha, t), widths.fresh_logs())
    if arm == NO_ARM:  # rewards that are impossible in all models
        return Choice(least_pulled(data.pulls, policy.candidates), 1)
    return Choice(arm, 0)


optimistic_choice = by_sets(in_likelihoods, in_box)
