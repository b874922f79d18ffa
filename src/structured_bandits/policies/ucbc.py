"""UCB-C: UCB on the arms that are best in some model that still fits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.compilable import chosen_by_class
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.kl_leads import Growth
from structured_bandits.planning.streaks import Streak
from structured_bandits.policies.base import (
    GivenRange,
    checked_cells,
    checked_rewards,
    checked_scale,
    checked_widths,
    registered,
)
from structured_bandits.policies.competitive import (
    CompetitivePolicy,
    CompetitiveState,
    Contest,
    highest_by_divergence,
    highest_by_radius,
    open_contest,
)
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
    """Play UCB among the arms that are best in some model that fits; among all arms if none fits.

    Models and indices have the same intervals, those of `UCB` and `SUCB` at equal alpha: radii, or KL
    intervals with confidence="kl". Among the arms that may be played, those without a pull come first.
    """

    confidence: str

    def __new__(
        cls,
        structure: Structure,
        alpha: float = 2.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        confidence: str = "hoeffding",
    ) -> UCBC:
        """Check the parameters."""
        cells = checked_cells(cls, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        widths = checked_widths(confidence, rewards)
        policy = super().__new__(cls, widths, cells, checked_scale("alpha", alpha), *rewards)
        policy.structure = structure
        policy.confidence = confidence
        return policy

    def streak(self, state: CompetitiveState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it surely may be played and has it."""
        return index_streak(self.widths, self, state, open_contest(self, state, now), now)


def radius_streak(
    widths: Hoeffding, policy: UCBC, state: CompetitiveState, contest: Contest, now: Now
) -> Streak:
    """Play by mean + radius."""
    return highest_by_radius(policy, state, contest, contest.prospect.level)


def divergence_streak(
    widths: Intervals, policy: UCBC, state: CompetitiveState, contest: Contest, now: Now
) -> Streak:
    """Play by the upper ends of KL intervals."""
    growth = Growth(2.0 * policy.alpha, 0.0)
    return highest_by_divergence(policy, state, contest, growth, now)


#: Pull the arm with the highest index, of those that may be played.
index_streak = chosen_by_class({Hoeffding: radius_streak}, divergence_streak)
