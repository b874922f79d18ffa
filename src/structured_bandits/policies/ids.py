"""Information-directed sampling: pay regret only for information about the best arm."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.inference.priors import believed_prior, checked_prior, plain_prior
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    State,
    StructuredPolicy,
    checked_cells,
    checked_rewards,
    fresh_state,
    registered,
)
from structured_bandits.policies.best_arm_belief import (
    Belief,
    Groups,
    fresh_belief,
    group_models,
    likeliest_group,
    write_belief,
    write_information,
)
from structured_bandits.policies.information_ratio import NO_ARM, Mixture, least_ratio
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure


class _IDS(NamedTuple):
    groups: Groups
    sigma: float
    bottom: float
    top: float


@registered
class IDS(StructuredPolicy, ChoicePolicy, _IDS):
    """Information-directed sampling (Russo and Van Roy) on finitely many models.

    The arm is drawn at random, with the probabilities that make (expected regret)^2 / (information about
    which arm is best) smallest; both are expectations under the posterior over the models. At most two
    arms have a positive probability (docs/notes/mathematics.md 2.19). `prior` gives a weight to each
    model; by default these are the structure's weights, or equal ones if it has none. If all models
    agree on the mean of the arm that is played, its rewards teach nothing, and simulations do not
    decide again until it is the other arm's turn.

    >>> from structured_bandits import FiniteStructure
    >>> IDS(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), prior=[3, 1])
    IDS(FiniteStructure(2 models × 2 arms, 2 arms best in some model), prior=[3, 1], \
reward_range=(0.0, 1.0), sigma=0.5)
    """

    asks = ("table",)
    randomised = True

    prior: list[float] | None

    def __new__(
        cls,
        structure: Structure,
        prior: Any = None,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> IDS:
        """Check the parameters."""
        table = checked_cells(cls, structure).table
        prior = believed_prior(prior, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        log_prior = checked_prior(prior, len(table))
        policy = super().__new__(cls, group_models(table, log_prior, rewards), *rewards)
        policy.structure = structure
        policy.prior = plain_prior(prior)
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def init(self) -> State:
        """Return a fresh state."""
        return fresh_state(self.groups.gaps.shape[1])

    def choose(self, state: State, now: Now, rng: np.random.Generator) -> Choice:
        """Return one of the two arms of the best mixture."""
        mixture = best_mixture(self, state.data, fresh_belief(self.groups))
        return Choice(pick(mixture, rng.uniform(0.0, 1.0)), 0)


@compilable
def best_mixture(policy: Any, data: Data, belief: Belief) -> Mixture:
    """Return what to play after these data; `belief` is memory for what is believed."""
    write_belief(policy.groups, data, belief)
    write_information(math.isfinite(policy.bottom), belief)
    return mixture_of(policy.groups, belief)


@compilable
def mixture_of(groups: Groups, belief: Belief) -> Mixture:
    """Return what to play: if no arm says anything, the one that is most probably best."""
    for arm in range(len(belief.information)):
        if belief.information[arm] > 0.0:
            return least_ratio(belief.regret, belief.information)
    return Mixture(groups.arms[likeliest_group(belief.chances)], NO_ARM, 0.0)


@compilable
def pick(choice: Mixture, u: float) -> int:
    """Return the arm for a uniform number: the lower of the two if u is below its probability."""
    if choice.second == NO_ARM:
        return choice.first
    if choice.first < choice.second:
        return choice.first if u < 1.0 - choice.share else choice.second
    return choice.second if u < choice.share else choice.first
