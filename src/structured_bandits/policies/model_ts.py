"""ModelTS: play the best arm of a model that is drawn from the posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.checks import checked_above
from structured_bandits.errors import ParameterError
from structured_bandits.inference.priors import believed_prior, plain_prior
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.planning.posterior_draws import Sampling
from structured_bandits.planning.thinning import UNKNOWN
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    StructuredPolicy,
    checked_rewards,
    checked_structure,
    registered,
)
from structured_bandits.policies.playing import add_outcome
from structured_bandits.policies.posteriors import sampling_of
from structured_bandits.protocol import Choice, Now, Outcome
from structured_bandits.structures.base import Structure


class ModelTSState(NamedTuple):
    """What was seen of each arm, and the posterior that follows from it."""

    data: Data
    belief: Any


class _ModelTS(NamedTuple):
    posterior: Sampling
    sigma: float
    bottom: float
    top: float


@registered
class ModelTS(StructuredPolicy, ChoicePolicy, _ModelTS):
    """Draw a model from the posterior and play its best arm (posterior sampling over models).

    `prior` has positive weights: one for each model of a table, one for each piece of a curve, or a
    prior for each group of a product. If none is given, the prior of the structure is taken; if it has
    none either, models of a table have equal weights, and pieces of a curve have their lengths.
    `temper`, at most 1, multiplies the log-likelihood: with less than 1 the policy learns more
    cautiously. A reward inside the range counts as a part of a success, which is exact for rewards of 0
    and 1 and a quasi-likelihood otherwise; without a range rewards are Gaussian with deviation `sigma`
    (docs/mathematics.md 2.17).

    When one arm has nearly all of the posterior probability, a simulation plays it many times without
    deciding again. That is exact: the arms are those of pull-by-pull play with the same uniform numbers
    (docs/planning.md 20). On curves the probabilities of arms are right to 1e-10. Products are played
    pull by pull; polytopes are refused.
    """

    randomised = True
    asks = ("model_lines",)

    prior: Any
    temper: float

    def __new__(
        cls,
        structure: Structure,
        prior: Any = None,
        temper: float = 1.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> ModelTS:
        """Check the parameters."""
        lines: Any = checked_structure(cls, structure)
        prior = believed_prior(prior, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        share = checked_temper(temper)
        posterior = sampling_of(lines.model_lines, prior, share, rewards)
        policy = super().__new__(cls, posterior, *rewards)
        policy.structure = structure
        policy.prior = plain_prior(prior)
        policy.temper = share
        return policy

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def active_arms(self, state: ModelTSState, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model: no other arm is ever drawn."""
        return self.structure.best_arms

    def init(self) -> ModelTSState:
        """Return a fresh state."""
        belief = self.posterior.fresh_belief()
        return ModelTSState(fresh_data(len(belief.arms)), belief)

    def restore(self, state: ModelTSState) -> None:
        """Compute the posterior from all data."""
        self.posterior.believe(state.belief, state.data)

    def forget(self, state: ModelTSState) -> None:
        """Compute the posterior from all data: it must not depend on how these came in."""
        self.posterior.believe(state.belief, state.data)

    def choose(self, state: ModelTSState, now: Now, rng: np.random.Generator) -> Choice:
        """Return the best arm of a model that is drawn."""
        return Choice(self.posterior.draw_arm(state.belief, UNKNOWN, rng).arm, 0)

    def update(self, state: ModelTSState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards, to the data and to the posterior."""
        add_outcome(self, state, outcome)
        self.posterior.take_in(state.belief, outcome)


def checked_temper(temper: Any) -> float:
    """Return a number above 0, at most 1."""
    share = checked_above("temper", temper, 0.0)
    if share > 1.0:
        raise ParameterError(f"temper={temper!r}: expected a number above 0, at most 1")
    return share
