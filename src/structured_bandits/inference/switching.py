"""The posterior of a model that may change: a filter over models and how often they change.

With hazard h the model after each reward is, with probability h, drawn afresh from the prior:

    w <- (1 - h) w' + h prior,   w' the weights times the likelihood of the reward, normalised.

Several hazards are weighed side by side, so that how often the model changes is learned, too:
weights are those of pairs of a hazard and a model, and a jump stays with its hazard
(docs/mathematics.md 2.23).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data
from structured_bandits.planning.posterior import reward_counts
from structured_bandits.planning.posterior_draws import (
    NO_PLAN,
    Drawn,
    OddsReach,
    PlanMemory,
    draw_from,
)
from structured_bandits.planning.thinning import Known, next_uniform
from structured_bandits.protocol import Outcome
from structured_bandits.records import Record

HAZARDS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)


class SwitchingBelief(NamedTuple):
    """What is believed: the weights of pairs, hazard by hazard in each model by model, with sum 1."""

    weights: Floats
    arms: Floats  # for each arm the weight of the models in which it is best


class _Switching(NamedTuple):
    prior: Floats  # of the models, sorted by their best arm
    hazards: Floats
    per_hit: Floats  # arms x models: log-likelihood of a hit
    per_miss: Floats
    starts: Ints  # the models of arm i are those from starts[i] to starts[i + 1]
    order: Ints  # which model of the table each one is
    bottom: float  # the range of rewards
    top: float


class SwitchingPosterior(Record, _Switching):
    """A filter over the models of a table, to draw arms from."""

    def __new__(
        cls,
        log_prior: Floats,
        hazards: Floats,
        per_hit: Floats,
        per_miss: Floats,
        best: Ints,
        reward_range: tuple[float, float],
    ) -> SwitchingPosterior:
        """Sort the models by their best arm; the evidence is models x arms."""
        order = np.argsort(best, kind="stable").astype(np.int64)
        prior = np.exp(log_prior[order] - log_prior.max())
        return super().__new__(
            cls,
            prior / prior.sum(),
            hazards,
            np.ascontiguousarray(per_hit[order].T),
            np.ascontiguousarray(per_miss[order].T),
            np.searchsorted(best[order], np.arange(per_hit.shape[1] + 1)).astype(np.int64),
            order,
            *reward_range,
        )

    def fresh_belief(self) -> SwitchingBelief:
        """Return what is believed before the first pull: hazards are equally likely."""
        hazards, models = len(self.hazards), len(self.prior)
        pairs = hazards * models
        belief = SwitchingBelief(np.zeros(pairs), np.zeros(len(self.starts) - 1))
        for pair in range(pairs):
            belief.weights[pair] = self.prior[pair % models] / hazards
        sum_by_arm(self, belief)
        return belief

    def take_in(self, belief: SwitchingBelief, outcome: Outcome) -> None:
        """Let the results of some pulls of one arm count; then the model may change as often.

        Of several pulls it is taken to have changed after all of them only.
        """
        hits, misses = reward_counts(outcome.pulls, outcome.total, self.bottom, self.top)
        total = weigh(self, belief, outcome.arm, hits, misses)
        for place in range(len(self.hazards)):
            jump(self, belief, place, total, outcome.pulls)
        sum_by_arm(self, belief)

    def believe(self, belief: SwitchingBelief, data: Data) -> None:
        """Sum up what is believed; it does not follow from the data, whose order counts."""
        sum_by_arm(self, belief)

    def draw_arm(self, belief: SwitchingBelief, known: Known, rng: np.random.Generator) -> Drawn:
        """Draw a model; return its best arm."""
        return Drawn(draw_from(belief.arms, next_uniform(known, rng)).arm, math.inf)

    def odds_reach(
        self, belief: SwitchingBelief, memory: PlanMemory, drawn: Drawn, data: Data, limit: int
    ) -> OddsReach:
        """Promise nothing: the next model may be another."""
        return NO_PLAN


@compilable
def weigh(
    posterior: SwitchingPosterior, belief: SwitchingBelief, arm: int, hits: float, misses: float
) -> float:
    """Multiply the weights by the likelihood of some rewards of an arm; return their sum.

    It is not 0: a hazard leaves each model a part of its prior, also that which is likeliest now.
    """
    per_hit, per_miss, models = (
        posterior.per_hit[arm],
        posterior.per_miss[arm],
        len(posterior.prior),
    )
    largest = -math.inf
    for model in range(models):
        largest = max(largest, hits * per_hit[model] + misses * per_miss[model])
    total = 0.0
    for model in range(models):
        told = math.exp(hits * per_hit[model] + misses * per_miss[model] - largest)
        for pair in range(model, len(belief.weights), models):
            belief.weights[pair] *= told
            total += belief.weights[pair]
    return total


@compilable
def jump(
    posterior: SwitchingPosterior, belief: SwitchingBelief, place: int, total: float, pulls: int
) -> None:
    """Let the models of one hazard change so many times; weights are divided by their sum."""
    models = len(posterior.prior)
    stays = (1.0 - posterior.hazards[place]) ** pulls
    mass = 0.0
    for model in range(models):
        mass += belief.weights[place * models + model]
    for model in range(models):
        pair = place * models + model
        fresh = (1.0 - stays) * mass * posterior.prior[model]
        belief.weights[pair] = (stays * belief.weights[pair] + fresh) / total


@compilable
def sum_by_arm(posterior: SwitchingPosterior, belief: SwitchingBelief) -> None:
    """Write the weight of each arm."""
    models = len(posterior.prior)
    for arm in range(len(belief.arms)):
        weight = 0.0
        for model in range(posterior.starts[arm], posterior.starts[arm + 1]):
            for pair in range(model, len(belief.weights), models):
                weight += belief.weights[pair]
        belief.arms[arm] = weight
