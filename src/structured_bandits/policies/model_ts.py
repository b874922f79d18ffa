"""ModelTS: play the best arm of a model that is drawn from the posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_above, checked_share, numbers
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.errors import ParameterError
from structured_bandits.inference.draws import UNKNOWN, Sampling
from structured_bandits.inference.priors import believed_prior, plain_prior
from structured_bandits.inference.spike_and_slab import OFF, STRENGTHS, Doubt
from structured_bandits.inference.switching import HAZARDS
from structured_bandits.policies.base import (
    ChoicePolicy,
    GivenRange,
    StructuredPolicy,
    checked_rewards,
    checked_structure,
    registered,
)
from structured_bandits.policies.playing import add_outcome
from structured_bandits.policies.posteriors import filter_of, sampling_of
from structured_bandits.protocols import Choice, Now, Outcome
from structured_bandits.structures.base import Structure

STRONGEST = 1e12  # observations behind a mean; with more it is exact as far as floats go


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

    - `prior` has positive weights: one for each model of a table, one for each piece of a curve, or a
      prior for each group of a product. If none is given, the prior of the structure is taken; if it has
      none either, models of a table have equal weights, and pieces of a curve have their lengths;
    - `temper`, at most 1, multiplies the log-likelihood: with less than 1 the policy learns more
      cautiously;
    - `switching`: how probable it is, at each pull, that the true model is replaced by another one,
      drawn from the prior: one number; several numbers, among which the policy learns; or True for (0,
      1e-5, 1e-4, 1e-3, 1e-2). By default 0, never. For tables only, and with trust=1; such a policy
      makes no certificate, and there is no test of the structure, which would raise an alarm at each
      change;
    - `trust`: how far the models are believed, from 0 to 1, the default. With less than 1 a model may be
      wrong: it is exact with probability trust^2; with probability 2 trust (1 - trust) it is exact but
      for single arms, each of which is *off* with probability `off` (default 0.1), and then its mean may
      be anything; and with probability (1 - trust)^2 it is only near the truth, arms off included. How
      near is learned: each of the `strengths` (default 2, 10, 50, 250, 1000 and 4000) says that a mean
      of the model is worth that many observations. If you have no idea, take trust=0.5: that costs
      some regret if the models are right, and saves much if they are not
      (docs/guides/wrong-structure.md).

    A reward inside the range counts as a part of a success, which is exact for rewards of 0 and 1 and a
    quasi-likelihood otherwise; without a range rewards are Gaussian with deviation `sigma`
    (docs/notes/mathematics.md 2.17, 2.18). With margins (`sb.around`) a mean has a Beta law
    whose mean and variance are those of the uniform law within its margins. Polytopes are refused.

    When one arm has nearly all of the posterior probability, a simulation plays it many times without
    deciding again. That is exact: the arms are those of pull-by-pull play with the same uniform numbers
    (docs/notes/lookahead.md 20). On curves the probabilities of arms are right to 1e-10; with trust
    below 1 a curve counts as models whose means are at most 0.005 of the range of rewards apart.
    Products, margins and trust below 1 are played pull by pull.

    >>> from structured_bandits import FiniteStructure
    >>> ModelTS(FiniteStructure([[0.8, 0.3], [0.2, 0.7]]), trust=0.5).parameters()["off"]
    0.1
    """

    randomised = True
    asks = ("model_groups",)

    prior: Any
    temper: float
    trust: float
    off: float | None
    strengths: list[float] | None
    switching: float | list[float]

    def __new__(
        cls,
        structure: Structure,
        prior: Any = None,
        temper: float = 1.0,
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
        trust: float = 1.0,
        off: float | None = None,
        strengths: Any = None,
        switching: Any = 0.0,
    ) -> ModelTS:
        """Check the parameters."""
        known = checked_structure(cls, structure)
        prior = believed_prior(prior, structure)
        rewards = checked_rewards(reward_range, sigma, structure)
        share = checked_temper(temper)
        doubt, hazards = checked_doubt(trust, off, strengths), checked_hazards(switching)
        posterior: Any
        if hazards is None:
            posterior = sampling_of(known.model_groups, prior, share, rewards, doubt)
        elif doubt.trust < 1.0:
            raise ParameterError(
                f"switching={switching!r}: it needs trust=1; doubt knows no change"
            )
        else:
            posterior = filter_of(known, prior, share, rewards, hazards)
        policy = super().__new__(cls, posterior, *rewards)
        policy.structure = structure
        policy.prior = plain_prior(prior)
        policy.temper = share
        policy.trust = doubt.trust
        doubts = doubt.trust < 1.0
        policy.switching = 0.0 if hazards is None else hazards.tolist()
        if policy.adapts:
            policy.__dict__["learned"] = (
                "data",
                "belief",
            )  # which does not follow from the data alone
        policy.off, policy.strengths = (
            (doubt.off, list(doubt.strengths)) if doubts else (None, None)
        )
        return policy

    @property
    def adapts(self) -> bool:
        """Whether it expects the true model to change."""
        return self.switching != 0.0

    @property
    def model_prior(self) -> Any:
        """The prior."""
        return self.prior

    def model_weights(self, state: ModelTSState) -> dict[str, float] | None:
        """Return how likely each model is now, the likeliest first; None if the model never changes."""
        if not self.adapts:
            return None
        posterior: Any = self.posterior
        by_model = state.belief.weights.reshape(-1, len(posterior.hazards)).sum(axis=1)
        names, structure = posterior.table.order, self.structure
        order = np.argsort(-by_model, kind="stable")
        return {structure.model_name(int(names[model])): float(by_model[model]) for model in order}

    @property
    def idle_parameters(self) -> tuple[str, ...]:
        """Those of doubt with full trust, that of change if there is none."""
        doubt = ("trust", "off", "strengths") if self.trust == 1.0 else ()
        return doubt if self.adapts else (*doubt, "switching")

    def active_arms(self, state: ModelTSState, t: int) -> tuple[int, ...]:
        """Return the arms that are best in some model; all arms where models may be wrong."""
        if self.trust == 1.0 and hasattr(self.structure, "model_lines"):
            return self.structure.best_arms
        return tuple(range(self.n_arms))

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


def checked_doubt(trust: Any, off: Any, strengths: Any) -> Doubt:
    """Return how far models are believed; what says how they are wrong needs a trust below 1."""
    believed = checked_share("trust", trust, 0.0, 1.0)
    if believed == 1.0:
        for name, value in (("off", off), ("strengths", strengths)):
            if value is not None:
                raise ParameterError(f"{name}={value!r}: with trust=1 no model is wrong; give less")
        return Doubt(1.0, 0.0, ())
    chance = checked_share("off", OFF if off is None else off, 0.0, 1.0)
    if chance == 1.0:
        raise ParameterError("off=1.0: expected less than 1, or models would say nothing")
    levels = numbers(STRENGTHS if strengths is None else strengths)
    if levels is None or levels.ndim > 1 or not levels.size:
        levels = np.zeros(1)
    if not ((levels > 0.0) & (levels <= STRONGEST)).all():
        raise ParameterError(
            f"strengths={strengths!r}: expected one or several positive numbers, up to {STRONGEST:g}"
        )
    return Doubt(believed, chance, tuple(levels.ravel().tolist()))


def checked_hazards(switching: Any) -> Floats | None:
    """Return how often the model changes, None for never; True stands for several hazards."""
    if switching is None or isinstance(switching, (bool, np.bool_)):
        return np.array(HAZARDS) if switching else None
    hazards = numbers(switching)
    if hazards is None or hazards.ndim > 1 or not hazards.size:
        hazards = np.full(1, -1.0)
    hazards = hazards.reshape(-1)
    if not ((hazards >= 0.0) & (hazards < 1.0)).all() or len(set(hazards.tolist())) < len(hazards):
        raise ParameterError(
            f"switching={switching!r}: expected True, False, or how probable it is that the model "
            "changes at a pull: one number from 0 to below 1, or several different ones"
        )
    return hazards if hazards.any() else None
