"""IMED: the least evidence against being best (Honda and Takemura, 2015)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.kl import coin_divergence
from structured_bandits.policies.base import (
    GivenRange,
    State,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.index_policy import (
    NO_ARM,
    BlindPolicy,
    first_unpulled,
    scaled_means,
)
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure


class _IMED(NamedTuple):
    n_arms: int
    playable: Ints
    sigma: float
    bottom: float
    top: float


@registered
class IMED(BlindPolicy, _IMED):
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

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first arm without a pull, else the one with the least index."""
        unpulled = first_unpulled(state.data, self.playable)
        if unpulled != NO_ARM:
            return Choice(unpulled, 0)
        means = scaled_means(state.data, self.bottom, self.top)
        highest, pulls = means[self.playable].max(), state.data.pulls
        indices = [index(self, pulls[arm], means[arm], highest) for arm in self.playable]
        return Choice(int(self.playable[np.argmin(indices)]), 0)


@compilable
def index(policy: Any, pulls: int, mean: float, highest: float) -> float:
    """Return the index of an arm, given the highest mean of all."""
    if mean >= highest:
        divergence = 0.0
    elif math.isfinite(policy.bottom):
        divergence = coin_divergence(mean, highest)
    else:
        divergence = 0.5 * ((highest - mean) / policy.sigma) ** 2
    return pulls * divergence + math.log(pulls)
