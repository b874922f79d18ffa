"""Thompson sampling: play each arm with the probability that it is the best."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    State,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.beliefs import Belief, checked_belief, highest_draw
from structured_bandits.protocol import Choice, Now
from structured_bandits.structures.base import Structure


class _ThompsonSampling(NamedTuple):
    n_arms: int
    playable: Ints
    belief: Belief
    sigma: float
    bottom: float
    top: float


@registered
class ThompsonSampling(ChoicePolicy, _ThompsonSampling):
    """Draw a mean for each arm from what is believed of it, and play the arm of the highest draw.

    For rewards in a range, scaled to [0, 1], the belief about an arm after T pulls with sum S is Beta(a
    + S, b + T - S), where `prior` = (a, b) is (1, 1) by default. That is the posterior for rewards of 0
    and 1; for others it is made from a quasi-likelihood, as if a reward of 0.3 were three tenths of a
    one. For Gaussian rewards (`reward_range=None` and a sigma) the belief is normal. It starts from
    `prior` = (mean, deviation); without one each arm is pulled once, and then its mean is believed to be
    around its average with deviation sigma / sqrt(T). `arms="candidates"` leaves out the arms that are
    best in no model of the structure.

    Simulations that plan ahead avoid most draws while one arm is clearly ahead. They have the same
    distribution as pull-by-pull play, but use other random numbers (docs/planning.md 19). Live agents
    decide pull by pull.

    >>> ThompsonSampling(3)
    ThompsonSampling(3 arms, prior=(1.0, 1.0), arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    randomised = True

    prior: tuple[float, float] | None
    arms: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        prior: Any = None,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> ThompsonSampling:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        rewards = checked_rewards(reward_range, sigma, structure)
        playable = playable_arms(structure, n_arms, arms)
        belief, pair = checked_belief(prior, rewards)
        policy = super().__new__(cls, n_arms, playable, belief, *rewards)
        policy.structure = structure
        policy.prior = pair
        policy.arms = arms
        return policy

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm of the highest draw; without a prior, first one that was never pulled."""
        return Choice(highest_draw(self.belief, state.data, self.playable, rng), 0)

    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        """Return the arms that are played at all."""
        return tuple(int(arm) for arm in self.playable)
