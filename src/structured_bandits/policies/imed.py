"""IMED: the least evidence against being best (Honda and Takemura, 2015)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.corners import Reach, stopping_streak
from structured_bandits.planning.indices import CLOSE, SPREAD, Front, front_of
from structured_bandits.planning.intervals import RELATIVE_ERROR
from structured_bandits.planning.kl import coin_divergence
from structured_bandits.planning.kl_leads import MOST_LOG
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.index_policy import IndexPolicy, IndexState
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure

LOG_MARGIN = 1e-11  # of indices, relatively: more than rounding can do to a logarithm


class _IMED(NamedTuple):
    n_arms: int
    playable: Ints
    sigma: float
    bottom: float
    top: float


@registered
class IMED(IndexPolicy, _IMED):
    """Play the arm with the least T d+(m, highest mean) + log T, each arm once first.

    T and m are the pulls and the mean of an arm. d+ is the Kullback-Leibler divergence of two coins with
    these means, and 0 for the arm with the highest mean. For Gaussian rewards (no range) it is (highest
    mean - m)^2 / (2 sigma^2). It needs no horizon and no constant.

    >>> IMED(3)
    IMED(3 arms, arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    arms: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> IMED:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        playable = playable_arms(structure, n_arms, arms)
        policy = super().__new__(
            cls, n_arms, playable, *checked_rewards(reward_range, sigma, structure)
        )
        policy.structure, policy.arms = structure, arms
        return policy

    def streak(self, state: IndexState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the least index; the one with the highest mean as long as that is sure."""
        for place in range(len(self.playable)):
            if state.data.pulls[self.playable[place]] == 0:
                return certain_streak(self.playable[place], 1, 0)
        best = front_of(state.means, self.playable)
        arm = least_index(state, self.playable, best.highest, self.sigma, self.bottom)
        if now.limit == 1 or not math.isfinite(self.bottom):
            return certain_streak(arm, 1, 0)
        if len(self.playable) == 1:
            return certain_streak(arm, now.limit, 0)
        if arm != best.arm or best.highest - best.second < CLOSE:
            return certain_streak(arm, 1, 0)
        return imed_streak(state, self.playable, best, now.limit, self.top)


@compilable
def least_index(
    state: IndexState, playable: Ints, highest: float, sigma: float, bottom: float
) -> int:
    """Write the indices and return the arm with the least one, the lowest of several."""
    choice = playable[0]
    for place in range(len(playable)):
        arm = playable[place]
        mean = state.means[arm]
        if mean >= highest:
            divergence = 0.0
        elif math.isfinite(bottom):
            divergence = coin_divergence(mean, highest)
        else:
            divergence = 0.5 * ((highest - mean) / sigma) ** 2
        pulls = state.data.pulls[arm]
        state.indices[arm] = pulls * divergence + math.log(pulls)
        if state.indices[arm] < state.indices[choice]:
            choice = arm
    return choice


@compilable
def imed_streak(state: IndexState, playable: Ints, best: Front, limit: int, top: float) -> Streak:
    """Pull the arm with the highest mean, which has the least index, as long as it surely has both.

    While its mean stays at `low` or above, the index of another arm is no less than it is at `low`, and
    its own is the logarithm of its pulls (docs/planning.md 18.2).
    """
    arm = best.arm
    pulls = float(state.data.pulls[arm])
    low = low_mean(state, playable, best)
    least = math.inf
    for place in range(len(playable)):
        other = playable[place]
        if other != arm:
            index = state.data.pulls[other] * coin_divergence(state.means[other], low)
            least = min(least, index + math.log(state.data.pulls[other]))
    least = min(least, MOST_LOG)
    length = math.exp(least - LOG_MARGIN * (1.0 + least)) - pulls
    misses = pulls * state.means[arm] / (low + SPREAD) * (1.0 - RELATIVE_ERROR) - pulls
    if length < 1.0 or misses < 0.0:
        return certain_streak(arm, 1, 0)
    reach = Reach(int(min(length, limit - 1.0)), int(misses))
    return stopping_streak(arm, reach, top)


@compilable
def low_mean(state: IndexState, playable: Ints, best: Front) -> float:
    """Return how far the highest mean may fall in a plan; a guess, any mean above the others is right.

    So far that each other index keeps about half of its lead: indices are convex in the highest mean,
    so tangents tell.
    """
    own = state.indices[best.arm]
    mean = best.highest
    fall = 0.9 * (mean - best.second)
    if mean >= 1.0:  # the other indices are infinite, and stay high until the first miss
        return mean - min(fall, CLOSE)
    for place in range(len(playable)):
        arm = playable[place]
        if arm != best.arm:
            slope = state.data.pulls[arm] * (mean - state.means[arm]) / (mean * (1.0 - mean))
            fall = min(fall, 0.5 * (state.indices[arm] - own) / slope)
    return mean - fall
