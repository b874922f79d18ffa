"""UCB-C: UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.planning.confidence import fresh_data
from structured_bandits.planning.intervals import Intervals
from structured_bandits.planning.leads import highest_index
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    checked_cells,
    checked_rewards,
    checked_scale,
    checked_widths,
    registered,
)
from structured_bandits.policies.competitive import (
    CompetitivePolicy,
    CompetitiveState,
    fresh_competition,
    looks_ahead,
    open_contest,
    while_competitive,
)
from structured_bandits.policies.ucb import leading_streak
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import CompetitiveCells


class _UCBC(NamedTuple):
    widths: Intervals  # of a budget of 0
    cells: CompetitiveCells
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class UCBC(CompetitivePolicy, _UCBC):
    """Play UCB on the arms that are best in some model that fits, all arms if none does.

    Models and indices have the same intervals, those of `UCB` and `SUCB` at equal alpha: radii, or KL
    intervals with confidence="kl". Among the arms that may be played, those without a pull come first.
    """

    confidence: str

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> UCBC:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        rewards = checked_rewards(reward_range, sigma)
        widths = checked_widths(confidence, rewards)
        policy = super().__new__(cls, widths, cells, checked_scale("alpha", alpha), *rewards)
        policy.structure = structure
        policy.confidence = confidence
        return policy

    def init(self) -> CompetitiveState:
        """Return a fresh state."""
        return CompetitiveState(fresh_data(self.cells.arm_count()), fresh_competition(self.cells))

    def streak(self, state: CompetitiveState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it surely may be played and has it."""
        data, competition = state.data, state.competition
        contest = open_contest(self, data, competition, now)
        leader = highest_index(data, contest.prospect.level, competition.found)
        if not looks_ahead(contest.prospect) or data.pulls[leader.arm] == 0:
            return certain_streak(leader.arm, 1, contest.empty)
        if contest.size == 1:
            streak = certain_streak(leader.arm, now.limit, 0)
        else:
            streak = leading_streak(self.widths, leader, data, contest.prospect)
        return while_competitive(self, data, competition, contest, streak)
