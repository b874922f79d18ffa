"""UCB-C: UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags
from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.base.confidence import Data, width_budget
from structured_bandits.base.intervals import Hoeffding, Intervals
from structured_bandits.policies.base import (
    GivenRange,
    State,
    checked_cells,
    checked_widths,
    registered,
)
from structured_bandits.policies.competitive import CompetitivePolicy, competitive_sets
from structured_bandits.policies.index_policy import scaled_means
from structured_bandits.policies.indices import highest_index, kl_front
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import Cells


class _UCBC(NamedTuple):
    widths: Any  # intervals of a budget of 0, or likelihood sets: which models fit
    indices: Intervals  # of a budget of 0: whose upper ends are compared
    cells: Cells
    alpha: float
    sigma: float
    bottom: float
    top: float


@registered
class UCBC(CompetitivePolicy, _UCBC):
    """Play UCB among the arms that are best in some model that fits; among all arms if none fits.

    Models and indices have the same intervals, those of `UCB` and `SUCB` at equal alpha (default 2):
    radii, or KL intervals with confidence="kl". With confidence="likelihood" the models are those of
    the likelihood set of `SUCB` (default alpha 1/2), and indices are upper ends of KL intervals. Among
    the arms that may be played, those without a pull come first.
    """

    def __new__(
        cls,
        structure: Structure,
        alpha: float | None = None,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> UCBC:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        sets = competitive_sets(structure, alpha, reward_range, sigma, confidence)
        sharp = "kl" if sets.confidence == "likelihood" else sets.confidence
        indices = checked_widths(sharp, sets.rewards)
        policy = super().__new__(cls, sets.widths, indices, cells, sets.alpha, *sets.rewards)
        policy.structure, policy.confidence = structure, sets.confidence
        return policy

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first competitive arm without a pull, else the one with the highest index."""
        arms, empty = self.competitive_arms(state, now.t)
        log_time = math.log(now.t + 1)
        return Choice(highest_upper_end(self.indices, self, state.data, arms, log_time), empty)


def highest_radius_index(
    indices: Hoeffding, policy: UCBC, data: Data, arms: Flags, log_time: float
) -> int:
    """Return the arm with the highest mean + 2 sigma sqrt(alpha log t / pulls)."""
    level = indices.at(width_budget(policy.alpha, policy.sigma, log_time))
    return highest_index(data, level, arms).arm


def highest_kl_index(
    indices: Intervals, policy: UCBC, data: Data, arms: Flags, log_time: float
) -> int:
    """Return the arm with the highest q such that pulls * kl(mean, q) <= 2 alpha log t."""
    means = scaled_means(data, policy.bottom, policy.top)
    return kl_front(data, means, np.flatnonzero(arms), 2.0 * policy.alpha * log_time).arm


#: Return which of these arms has the highest upper end of its interval.
highest_upper_end = chosen_by_class({Hoeffding: highest_radius_index}, highest_kl_index)
