"""KL-UCB-C: KL-UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.checks import checked_at_least
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.indices import front_of
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.kl_leads import Growth, budget_at, kl_front, kl_streak
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    checked_cells,
    checked_rewards,
    checked_scale,
    registered,
)
from structured_bandits.policies.competitive import (
    Competition,
    CompetitivePolicy,
    fresh_competition,
    looks_ahead,
    note_change,
    open_contest,
    while_competitive,
)
from structured_bandits.policies.index_policy import IndexState, note_mean, take_in
from structured_bandits.policies.klucb import write_index
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import CompetitiveCells


class KLUCBCState(NamedTuple):
    """What was seen of each arm, its mean and index; the rest is scratch."""

    data: Data
    means: Floats  # scaled to [0, 1] if rewards have a range; of arms with pulls
    indices: Floats  # of Gaussian rewards
    competition: Competition


class _KLUCBC(NamedTuple):
    widths: Intervals  # of a budget of 0
    cells: CompetitiveCells
    alpha: float
    c: float
    sigma: float
    bottom: float
    top: float


@registered
class KLUCBC(CompetitivePolicy, _KLUCBC):
    """Play KL-UCB on the arms that are best in some model that fits, all arms if none does.

    The index is that of `KLUCB`: the largest q with T d(m, q) <= log t + c log log t, of Gaussian
    rewards (no range) the mean + sigma sqrt(2 (log t + c log log t) / T). The models that fit are those
    of `SUCB` at equal alpha. Among the arms that may be played, those without a pull come first.
    """

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        c: float = 0.0,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> KLUCBC:
        """Check the parameters."""
        policy = super().__new__(
            cls,
            Hoeffding(0.0),
            checked_cells(cls, structure),
            checked_scale("alpha", alpha),
            checked_at_least("c", c, 0.0),
            *checked_rewards(reward_range, sigma),
        )
        policy.structure = structure
        return policy

    def init(self) -> KLUCBCState:
        """Return a fresh state."""
        arms = self.cells.arm_count()
        return KLUCBCState(
            fresh_data(arms),
            np.zeros(arms),
            np.full(arms, math.inf),
            fresh_competition(self.cells),
        )

    def restore(self, state: KLUCBCState) -> None:
        """Compute the means, and let the cells look at all data."""
        super().restore(state)
        for arm in np.flatnonzero(state.data.pulls):
            note_mean(indexed(state), int(arm), self.bottom, self.top)

    def streak(self, state: KLUCBCState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it surely may be played and has it."""
        data, competition = state.data, state.competition
        contest = open_contest(self, data, competition, now)
        members = competition.members[: contest.size]
        growth = Growth(1.0, self.c)
        budget = budget_at(growth, math.log(now.t + 1))
        if math.isfinite(self.bottom):
            front = kl_front(data, state.means, members, budget)
        else:
            for arm in members:
                write_index(indexed(state), arm, budget, self.sigma, self.bottom)
            front = front_of(state.indices, members)
        if not looks_ahead(contest.prospect) or data.pulls[front.arm] == 0:
            return certain_streak(front.arm, 1, contest.empty)
        streak = kl_streak(indexed(state), members, front, growth, now, self.top)
        return while_competitive(self, data, competition, contest, streak)

    def end_streak(self, state: KLUCBCState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        take_in(indexed(state), outcome, self.bottom, self.top)
        note_change(state.competition, outcome.arm)


@compilable
def indexed(state: KLUCBCState) -> IndexState:
    """Return the part of a state that policies with indices have."""
    return IndexState(state.data, state.means, state.indices)
