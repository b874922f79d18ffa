"""Thompson sampling: play each arm with the probability that it is the best."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.envelopes import Betas
from structured_bandits.planning.quiet import NOTHING, Quiet, end_quiet, fresh_quiet, quiet_streak
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    StreakPolicy,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.beliefs import Belief, beta_shape, checked_belief, highest_draw
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure


class ThompsonState(NamedTuple):
    """What was seen of each arm, the Beta laws of their means, and the quiet stretch."""

    data: Data
    betas: Betas
    quiet: Quiet


class _ThompsonSampling(NamedTuple):
    n_arms: int
    playable: Ints
    belief: Belief
    sigma: float
    bottom: float
    top: float


@registered
class ThompsonSampling(StreakPolicy, _ThompsonSampling):
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

    def init(self) -> ThompsonState:
        """Return a fresh state."""
        betas = Betas(np.full(self.n_arms, self.belief.a), np.full(self.n_arms, self.belief.b))
        return ThompsonState(fresh_data(self.n_arms), betas, fresh_quiet(self.n_arms))

    def restore(self, state: ThompsonState) -> None:
        """Compute the laws of the means."""
        for arm in range(self.n_arms):
            state.betas.a[arm], state.betas.b[arm] = beta_shape(self.belief, state.data, arm)

    def plan(self, state: ThompsonState, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Plan one pull, by a draw for each arm: a live agent may be told other rewards in between."""
        quota[:] = 0
        quota[highest_draw(self.belief, state.data, self.playable, rng)] = 1
        return 0

    def streak(self, state: ThompsonState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the leader as long as nothing happens, else the arm of the highest draw.

        Planning ahead: what is known of the last pull counts too, where now.limit is 1 as without.
        """
        quiet = state.quiet
        if not self.belief.gaussian and (now.limit > 1 or quiet.known[0] != NOTHING):
            streak = quiet_streak(quiet, state.betas, self.playable, now.limit, self.top, rng)
            if streak.length > 0:
                return streak
        return certain_streak(highest_draw(self.belief, state.data, self.playable, rng), 1, 0)

    def end_streak(self, state: ThompsonState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        arm = outcome.arm
        state.data.pulls[arm] += outcome.pulls
        state.data.sums[arm] += outcome.total
        if not self.belief.gaussian:
            state.betas.a[arm], state.betas.b[arm] = beta_shape(self.belief, state.data, arm)
            end_quiet(state.quiet, state.betas, self.playable, arm, outcome.pulls)

    def active_arms(self, state: ThompsonState, t: int) -> tuple[int, ...]:
        """Return the arms that are played at all."""
        return tuple(int(arm) for arm in self.playable)
