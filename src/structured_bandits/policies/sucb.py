"""SUCB: optimism over the models that still fit (UCB-S; paper, Appendix B)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import (
    Box,
    Data,
    Prospect,
    fresh_box,
    fresh_data,
    radius_growth,
    width_budget,
    write_box,
)
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.leads import Leader, highest_index, lead_drift
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.watches import NO_ARM, SEVERAL
from structured_bandits.policies.base import (
    GivenRange,
    StreakPolicy,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    checked_scale,
    checked_widths,
    flagged,
    registered,
    width_in_words,
    widths_of,
)
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure
from structured_bandits.structures.choice_streaks import choice_streak
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.finite.ranked_cells import RankedCells
from structured_bandits.structures.questions import Cells, candidate_arms, forget_history
from structured_bandits.structures.shared_ties import least_pulled_tie


class SUCBState(NamedTuple):
    """What was seen of each arm; the rest is scratch."""

    data: Data
    box: Box
    candidates: Flags  # arms that are best in some model
    work: Any  # what the cells note of the models
    changed: Ints  # one number: the arm with data that the cells have not seen, NO_ARM or SEVERAL


class _SUCB(NamedTuple):
    widths: Intervals  # of a budget of 0
    cells: Cells
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class SUCB(StructuredPolicy, StreakPolicy, _SUCB):
    """Play the best arm of the most optimistic model that fits the data (structured UCB).

    The set is {theta : |mean_i - mu_i(theta)| < 2 sigma sqrt(alpha log t / T_i) for all pulled i}, or,
    with confidence="kl", {theta : T_i kl(mean_i, mu_i(theta)) < 2 alpha log t for all pulled i}, which
    is smaller and as safe for rewards in a range, and much smaller where means are close to 0 or 1. The
    most optimistic model is the one with the highest best mean; if two are equal, the lowest arm is
    played, or the least pulled where polytopes fix the best mean, and not its arm (docs/mathematics.md
    2.4). If no model fits, this is counted as an empty set, and the arm with the highest UCB index
    among those that are best in some model is played (errata, I-15). The paper's own parameter is twice
    our alpha (docs/concepts.md).
    """

    asks = ("choose", "certain_length", "empty_length", "best_arms_in")
    absent_parameters: ClassVar = {"confidence": "hoeffding"}
    confidence: str

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> SUCB:
        """Check the parameters."""
        rewards = checked_rewards(reward_range, sigma, structure)
        widths = checked_widths(confidence, rewards)
        cells = planning_cells(checked_cells(cls, structure), widths)
        policy = super().__new__(cls, widths, cells, checked_scale("alpha", alpha), *rewards)
        policy.structure = structure
        policy.confidence = confidence
        return policy

    def width(self) -> str:
        """Return the confidence interval in words."""
        return width_in_words(self, "t")

    def widths_at(self, state: SUCBState, t: int) -> Intervals:
        """Return the intervals of the next pull."""
        return widths_of(self, math.log(t + 1))

    def active_arms(self, state: SUCBState, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model that fits; all candidates if none does."""
        box, found = fresh_box(self.n_arms), np.zeros(self.n_arms, np.bool_)
        write_box(state.data, self.widths_at(state, t), box)
        alive = self.cells.best_arms_in(box, found, self.cells.fresh_notes())
        return flagged(found if alive else state.candidates)

    def init(self) -> SUCBState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        return SUCBState(
            fresh_data(arms),
            fresh_box(arms),
            candidate_arms(self.cells),
            self.cells.workspace(),
            np.full(1, NO_ARM, np.int64),
        )

    def restore(self, state: SUCBState) -> None:
        """Let the cells look at all data."""
        state.changed[0] = SEVERAL

    def forget(self, state: SUCBState) -> None:
        """Clear what the cells noted for earlier plans."""
        forget_history(self.cells, state.work)

    def streak(self, state: SUCBState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the optimistic arm, as long as it is certain to stay the choice."""
        data, work = state.data, state.work
        factor = width_budget(self.alpha, self.sigma, 1.0)
        level = self.widths.at(factor * math.log(now.t + 1))
        arm = self.cells.choose(state.changed[0], data, level, state.box, work)
        state.changed[0] = NO_ARM
        bounded = math.isfinite(self.bottom)  # rewards without bounds leave nothing certain
        far = now.limit > 1 and bounded
        prospect = Prospect(now.t, now.limit, factor, level, self.bottom, self.top)
        if arm < 0:
            leader = highest_index(data, level, state.candidates)
            length = 1 + fallback_length(self.cells, state, leader, prospect) if far else 1
            return certain_streak(leader.arm, length, length)
        arm = least_pulled_tie(self.cells, arm, data.pulls, state.box, work)
        if not far:
            return certain_streak(arm, 1, 0)
        counted = now.least == self.bottom and now.most == self.top
        return choice_streak(self.cells, arm, prospect, counted, data, work)

    def end_streak(self, state: SUCBState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        arm = outcome.arm
        state.data.pulls[arm] += outcome.pulls
        state.data.sums[arm] += outcome.total
        state.changed[0] = arm if state.changed[0] in (NO_ARM, arm) else SEVERAL


@compilable
def fallback_length(cells: Cells, state: SUCBState, leader: Leader, prospect: Prospect) -> int:
    """Return for how many pulls after the first no model comes to fit and the leader surely leads.

    Its lead falls as that of UCB does, if there are nothing but the worst rewards (docs/planning.md
    13.1). With KL intervals the cells say 0, and the formula for the lead is not used.
    """
    if leader.lead <= 0.0:
        return 0
    data = state.data
    pulls = data.pulls[leader.arm]
    miss = data.sums[leader.arm] / pulls - prospect.bottom
    budget = prospect.level.budget
    growth = radius_growth(prospect.t + 1.0, budget / prospect.factor)
    own = 1.0 / math.sqrt(pulls)
    drift = lead_drift(math.sqrt(budget), own, leader.widest, pulls, growth)
    leads = leader.lead * pulls / (miss + drift)
    empty = cells.empty_length(leader.arm, prospect, data, state.work)
    return int(min(leads, empty, prospect.limit - 1.0))


def planning_cells(cells: Any, widths: Intervals) -> Any:
    """Return cells that plan fastest: those of a table by rank, if the intervals are Hoeffding's."""
    if isinstance(cells, FiniteCells) and isinstance(widths, Hoeffding):
        return RankedCells(cells)
    return cells
