"""MOSS: minimax optimal in the stochastic case (Audibert and Bubeck, 2009)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.checks import checked_at_least
from structured_bandits.base.compilable import compilable
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
    checked_horizon,
    first_unpulled,
    scaled_means,
    width_of,
)
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure


class _MOSS(NamedTuple):
    n_arms: int
    playable: Ints
    pulls_in_all: int  # 0: the anytime form
    factor: float  # of the logarithm in the radius
    scale: float  # 2 sigma, on the scale of the means that the state has
    sigma: float
    bottom: float
    top: float


@registered
class MOSS(BlindPolicy, _MOSS):
    """Play the arm with the highest mean + 2 sigma sqrt(log+(n / (K T)) / T), each arm once first.

    T are the pulls of an arm, and K is the number of arms that it plays. Without a horizon n, the number
    of the decision takes its place, and the logarithm is multiplied by (1 + alpha) / 2.

    >>> MOSS(3, horizon=1000)
    MOSS(3 arms, horizon=1000, alpha=1.0, arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    horizon: int | None
    alpha: float
    arms: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        horizon: int | None = None,
        alpha: float = 1.0,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> MOSS:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        playable = playable_arms(structure, n_arms, arms)
        known, tuning = checked_horizon(horizon), checked_at_least("alpha", alpha, 0.0)
        factor = 0.5 * (1.0 + tuning) if known is None else 1.0
        rewards = checked_rewards(reward_range, sigma, structure)
        scale = 2.0 * rewards.sigma / width_of(rewards.bottom, rewards.top)
        policy = super().__new__(cls, n_arms, playable, known or 0, factor, scale, *rewards)
        policy.structure, policy.arms = structure, arms
        policy.horizon, policy.alpha = known, tuning
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        clock = "n" if self.pulls_in_all > 0 else "t"
        return f"sqrt({4.0 * self.sigma**2 * self.factor:g} log+({clock} / (K T)) / T)"

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first arm without a pull, else the one with the highest index."""
        unpulled = first_unpulled(state.data, self.playable)
        if unpulled != NO_ARM:
            return Choice(unpulled, 0)
        clock = self.pulls_in_all if self.pulls_in_all > 0 else now.t + 1
        means = scaled_means(state.data, self.bottom, self.top)
        pulls = state.data.pulls
        indices = [means[arm] + radius(self, pulls[arm], clock) for arm in self.playable]
        return Choice(int(self.playable[np.argmax(indices)]), 0)


@compilable
def radius(policy: Any, pulls: float, clock: float) -> float:
    """Return the radius of an arm after so many pulls; `clock` is the horizon or what stands for it."""
    ratio = clock / (len(policy.playable) * pulls)
    if ratio <= 1.0:
        return 0.0
    return policy.scale * math.sqrt(policy.factor * math.log(ratio) / pulls)
