"""SUCB: optimism over the models that still fit (UCB-S; paper, Appendix B)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.checks import checked_above
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import (
    Prospect,
    confidence_box,
    radius_growth,
    width_budget,
)
from structured_bandits.planning.leads import Leader, highest_index, lead_drift
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.watches import NO_ARM, SEVERAL
from structured_bandits.policies.base import (
    StreakPolicy,
    StructuredPolicy,
    checked_rewards,
    checked_structure,
    flagged,
)
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import candidate_arms


class SUCBState(NamedTuple):
    """Pulls and sums of each arm, the confidence box, and what a plan needs."""

    pulls: Ints
    sums: Floats
    low: Floats
    high: Floats
    candidates: Flags  # arms that are best in some model
    work: Any  # what the cells note of the models
    lengths: Ints  # length of the last plan for each arm, where it is searched
    news: Ints  # the arm with data that the cells have not seen, NO_ARM or SEVERAL


class _SUCB(NamedTuple):
    cells: Any
    alpha: float
    sigma: float
    low: float
    high: float


class SUCB(StructuredPolicy, StreakPolicy, _SUCB):
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
            np.full(1, NO_ARM, np.int64),
        )

    def streak(self, state: SUCBState, t: int, limit: int, rng: np.random.Generator) -> Streak:
        """Pull the optimistic arm, as long as it is certain to stay the choice."""
        factor = width_budget(self.alpha, self.sigma, 1.0)
        budget = factor * math.log(t + 1)
        arm = self.cells.choose(
            state.news[0], state.pulls, state.sums, budget, state.low, state.high, state.work
        )
        state.news[0] = NO_ARM
        prospect = Prospect(t, limit, factor, budget, self.low, self.high)
        far = limit > 1 and math.isfinite(self.low)  # rewards without bounds leave nothing certain
        if arm < 0:
            leader = highest_index(state.pulls, state.sums, budget, state.candidates)
            length = 1 + fallback_lasts(self.cells, state, leader, prospect) if far else 1
            return certain_streak(leader.arm, length, length)
        length = 1
        if far:
            length = self.cells.sure_pulls(
                arm, prospect, state.pulls, state.sums, state.work, state.lengths
            )
        return certain_streak(arm, length, 0)

    def end_streak(self, state: SUCBState, arm: int, pulls: int, total: float) -> None:
        """Add the pulls and the sum of their rewards."""
        state.pulls[arm] += pulls
        state.sums[arm] += total
        state.news[0] = arm if state.news[0] in (NO_ARM, arm) else SEVERAL


@compilable
def fallback_lasts(cells: Any, state: SUCBState, leader: Leader, prospect: Prospect) -> int:
    """Return for how many pulls after the first no model comes to fit and the leader surely leads.

    Its lead falls as that of UCB does, if there are nothing but the worst rewards (PLANNING, empty set).
    """
    if leader.lead <= 0.0:
        return 0
    pulls = state.pulls[leader.arm]
    miss = state.sums[leader.arm] / pulls - prospect.bottom
    growth = radius_growth(prospect.t + 1.0, prospect.budget / prospect.factor)
    own = 1.0 / math.sqrt(pulls)
    drift = lead_drift(math.sqrt(prospect.budget), own, leader.widest, pulls, growth)
    leads = leader.lead * pulls / (miss + drift)
    empty = cells.stays_empty(leader.arm, prospect, state.pulls, state.sums, state.work)
    return int(min(leads, empty, prospect.limit - 1.0))
