"""TS-C: Thompson sampling on the arms that are best in some model that still fits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    checked_cells,
    checked_rewards,
    checked_scale,
    registered,
)
from structured_bandits.policies.beliefs import Belief, checked_belief, highest_draw
from structured_bandits.policies.competitive import (
    CompetitivePolicy,
    CompetitiveState,
    looks_ahead,
    open_contest,
    while_competitive,
)
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import CompetitiveCells


class _TSC(NamedTuple):
    widths: Intervals  # of a budget of 0
    cells: CompetitiveCells
    belief: Belief
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class TSC(CompetitivePolicy, _TSC):
    """Thompson sampling among the arms that are best in some model that fits; among all if none fits.

    Draws and `prior` are those of `ThompsonSampling`; the models that fit are those of `SUCB` at equal
    alpha. If a single arm may be played, nothing is drawn. For Gaussian rewards without a prior each arm
    is pulled once first, whatever fits.
    """

    randomised = True

    prior: tuple[float, float] | None

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        prior: Any = None,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> TSC:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        belief, pair = checked_belief(prior, rewards)
        scale = checked_scale("alpha", alpha)
        policy = super().__new__(cls, Hoeffding(0.0), cells, belief, scale, *rewards)
        policy.structure = structure
        policy.prior = pair
        return policy

    def streak(self, state: CompetitiveState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm of the highest draw; one that is alone as long as it surely is."""
        data = state.data
        contest = open_contest(self, state, now)
        members = state.competition.members[: contest.size]
        if self.belief.b == 0.0:  # without a prior nothing is known of an arm before its first pull
            for arm in range(len(data.pulls)):
                if data.pulls[arm] == 0:
                    return certain_streak(arm, 1, contest.empty)
        if contest.size > 1:
            return certain_streak(highest_draw(self.belief, data, members, rng), 1, contest.empty)
        arm = int(members[0])
        if not looks_ahead(contest.prospect):
            return certain_streak(arm, 1, contest.empty)
        alone = certain_streak(arm, now.limit, 0)
        return while_competitive(self, state, contest, alone)
