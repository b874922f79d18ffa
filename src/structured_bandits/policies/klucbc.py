"""KL-UCB-C: KL-UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.checks import checked_at_least
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.kl_leads import Growth, budget_at, kl_front
from structured_bandits.planning.leads import highest_index
from structured_bandits.policies.base import (
    GivenRange,
    State,
    checked_cells,
    checked_rewards,
    checked_scale,
    registered,
)
from structured_bandits.policies.competitive import CompetitivePolicy
from structured_bandits.policies.index_policy import scaled_means
from structured_bandits.protocol import Choice, Now
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

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first competitive arm without a pull, else the one with the highest index."""
        arms, empty = self.competitive_arms(state, now.t)
        budget = budget_at(Growth(1.0, self.c), math.log(now.t + 1))
        if math.isfinite(self.bottom):
            means = scaled_means(state.data, self.bottom, self.top)
            return Choice(kl_front(state.data, means, np.flatnonzero(arms), budget).arm, empty)
        level = Hoeffding(2.0 * self.sigma * self.sigma * budget)
        return Choice(highest_index(state.data, level, arms).arm, empty)
