"""KL-UCB-C: KL-UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.checks import checked_at_least
from structured_bandits.base.intervals import Hoeffding
from structured_bandits.policies.base import (
    GivenRange,
    State,
    checked_cells,
    registered,
)
from structured_bandits.policies.competitive import CompetitivePolicy, competitive_sets
from structured_bandits.policies.index_policy import scaled_means
from structured_bandits.policies.indices import Growth, budget_at, highest_index, kl_front
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells


class _KLUCBC(NamedTuple):
    widths: Any  # intervals of a budget of 0, or likelihood sets
    cells: Cells
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
    those of `SUCB` with the same `confidence` and alpha (default 2; 1/2 with "likelihood"). Among the
    arms that may be played, those without a pull come first.
    """

    def __new__(
        cls,
        structure: Structure,
        alpha: float | None = None,
        c: float = 0.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> KLUCBC:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        sets = competitive_sets(structure, alpha, reward_range, sigma, confidence)
        more = checked_at_least("c", c, 0.0)
        policy = super().__new__(cls, sets.widths, cells, sets.alpha, more, *sets.rewards)
        policy.structure, policy.confidence = structure, sets.confidence
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
