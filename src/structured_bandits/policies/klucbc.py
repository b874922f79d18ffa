"""KL-UCB-C: KL-UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.checks import checked_at_least
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.kl_leads import Growth, budget_at
from structured_bandits.planning.streaks import Streak
from structured_bandits.policies.base import (
    GivenRange,
    checked_cells,
    checked_rewards,
    checked_scale,
    registered,
)
from structured_bandits.policies.competitive import (
    CompetitivePolicy,
    CompetitiveState,
    highest_by_divergence,
    highest_by_radius,
    open_contest,
)
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import CompetitiveCells


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
    """Play KL-UCB among the arms that are best in some model that fits; among all arms if none fits.

    The index is that of `KLUCB`: the largest q with T d(m, q) <= log t + c log log t; for Gaussian
    rewards (no range) it is the mean + sigma sqrt(2 (log t + c log log t) / T). The models that fit are
    those of `SUCB` at equal alpha. Among the arms that may be played, those without a pull come first.
    """

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        c: float = 0.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> KLUCBC:
        """Check the parameters."""
        policy = super().__new__(
            cls,
            Hoeffding(0.0),
            checked_cells(cls, structure),
            checked_scale("alpha", alpha),
            checked_at_least("c", c, 0.0),
            *checked_rewards(reward_range, sigma, structure),
        )
        policy.structure = structure
        return policy

    def streak(self, state: CompetitiveState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it surely may be played and has it."""
        contest = open_contest(self, state, now)
        growth = Growth(1.0, self.c)
        if math.isfinite(self.bottom):
            return highest_by_divergence(self, state, contest, growth, now)
        budget = 2.0 * self.sigma * self.sigma * budget_at(growth, math.log(now.t + 1))
        return highest_by_radius(self, state, contest, Hoeffding(budget))
