"""Thompson sampling: play each arm with the probability that it is the best."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.checks import checked_share
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.errors import ParameterError
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
from structured_bandits.policies.playing import add_outcome
from structured_bandits.protocols import Choice, Now, Outcome
from structured_bandits.structures.base import Structure


class _ThompsonSampling(NamedTuple):
    n_arms: int
    playable: Ints
    belief: Belief
    kept: float  # share of what was seen that counts after a further pull
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

    With a `discount` below 1 it forgets: at each pull all pulls and sums so far count that much less, so
    that the belief follows means which change (Raj and Kalyani, 2017). 1 / (1 - discount) is how many
    pulls it remembers, roughly. Rewards must have a range then. Of results that are learned at once
    (logs, batches) those of the last arm count as the newest.

    Simulations that plan ahead avoid most draws while one arm is clearly ahead. They have the same
    distribution as pull-by-pull play, but use other random numbers (docs/notes/lookahead.md 19). Live
    agents decide pull by pull.

    >>> ThompsonSampling(3)
    ThompsonSampling(3 arms, prior=(1.0, 1.0), arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    randomised = True

    prior: tuple[float, float] | None
    arms: str
    discount: float

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        prior: Any = None,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        discount: float = 1.0,
    ) -> ThompsonSampling:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        rewards = checked_rewards(reward_range, sigma, structure)
        playable = playable_arms(structure, n_arms, arms)
        belief, pair = checked_belief(prior, rewards)
        share = checked_share("discount", discount, 0.0, 1.0)
        if share == 0.0 or (share < 1.0 and belief.gaussian):
            wrong = "more than 0" if share == 0.0 else "1 for rewards without a range"
            raise ParameterError(f"discount={discount!r}: expected {wrong}")
        kind = cls if share == 1.0 else DiscountedThompsonSampling
        policy: ThompsonSampling = super().__new__(kind, n_arms, playable, belief, share, *rewards)
        policy.structure = structure
        policy.prior = pair
        policy.arms, policy.discount = arms, share
        return policy

    @property
    def idle_parameters(self) -> tuple[str, ...]:
        """The discount if there is none."""
        return () if self.discount < 1.0 else ("discount",)

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm of the highest draw; without a prior, first one that was never pulled."""
        return Choice(highest_draw(self.belief, state.data, self.playable, rng), 0)

    def active_arms(self, state: State, t: int) -> tuple[int, ...]:
        """Return the arms that are played at all."""
        return tuple(int(arm) for arm in self.playable)


class Fading(NamedTuple):
    """Pulls and sums of rewards, each worth less with every further pull."""

    pulls: Floats
    sums: Floats


class FadingState(NamedTuple):
    """Pulls and sums of each arm, all of them, and what still counts of them."""

    data: Data
    faded: Fading


class DiscountedThompsonSampling(ThompsonSampling):
    """Thompson sampling with a discount below 1."""

    learned = ("data", "faded")
    shown_as = "ThompsonSampling"

    @property
    def adapts(self) -> bool:
        """It forgets, since means may change."""
        return True

    def init(self) -> FadingState:
        """Return a fresh state."""
        return FadingState(
            fresh_data(self.n_arms), Fading(np.zeros(self.n_arms), np.zeros(self.n_arms))
        )

    def choose(self, state: Any, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm of the highest draw."""
        return Choice(highest_draw(self.belief, state.faded, self.playable, rng), 0)

    def update(self, state: FadingState, outcome: Outcome) -> None:
        """Let all that was seen fade, once for each pull, and add what is new."""
        add_outcome(self, state, outcome)
        share = self.kept**outcome.pulls
        for arm in range(self.n_arms):
            state.faded.pulls[arm] *= share
            state.faded.sums[arm] *= share
        state.faded.pulls[outcome.arm] += outcome.pulls
        state.faded.sums[outcome.arm] += outcome.total
