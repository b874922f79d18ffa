"""The posterior of a model that may change: a filter over models and how often they change.

With hazard h the model after each reward is, with probability h, drawn afresh from the prior:

    w <- (1 - h) w' + h prior,   w' the weights times the likelihood of the reward, normalised.

Several hazards are weighed side by side, so that how often the model changes is learned, too:
weights are those of pairs of a hazard and a model, and a jump stays with its hazard
(docs/notes/mathematics.md 2.23).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.draws import Drawn, Known, draw_from, next_uniform
from structured_bandits.inference.table_posterior import TablePosterior, reward_counts
from structured_bandits.protocols import Outcome

LEAST_MASS = 1e-200  # of all weight: no hazard has less
HAZARDS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)


class SwitchingBelief(NamedTuple):
    """The weights of pairs, model by model in each hazard by hazard, with sum 1."""

    weights: Floats
    arms: Floats  # for each arm the weight of the models in which it is best
    masses: Floats  # memory for the weight of each hazard
    kept: Floats  # and for the chance that its model stays
    factors: Floats  # and for a likelihood of each model


class _Switching(NamedTuple):
    table: TablePosterior  # what rewards say of the models, which are sorted by their best arm
    prior: Floats  # of the models, in this order; their sum is 1
    hazards: Floats


class SwitchingPosterior(Record, _Switching):
    """A filter over the models of a table, to draw arms from."""

    def __new__(cls, table: TablePosterior, hazards: Floats) -> SwitchingPosterior:
        """Compute the prior that a model which changes is drawn from."""
        prior = np.exp(table.prior - table.prior.max())
        return super().__new__(cls, table, prior / prior.sum(), hazards)

    def fresh_belief(self) -> SwitchingBelief:
        """Return what is believed before the first pull: hazards are equally likely."""
        hazards, models = len(self.hazards), len(self.prior)
        arms = len(self.table.starts) - 1
        belief = SwitchingBelief(
            np.zeros(models * hazards),
            np.zeros(arms),
            np.zeros(hazards),
            np.zeros(hazards),
            np.zeros(models),
        )
        for pair in range(models * hazards):
            belief.weights[pair] = self.prior[pair // hazards] / hazards
        sum_by_arm(self, belief)
        return belief

    def take_in(self, belief: SwitchingBelief, outcome: Outcome) -> None:
        """Let the results of some pulls of one arm count; then the model may change as often.

        Of several pulls it is taken to have changed after all of them only.
        """
        arm = outcome.arm
        if outcome.pulls == 1 and outcome.total == self.table.top:
            total = multiply(belief, self.table.hit_factor[arm])
        elif outcome.pulls == 1 and outcome.total == self.table.bottom:
            total = multiply(belief, self.table.miss_factor[arm])
        else:
            total = weigh(self, belief, outcome)
        jump(self, belief, revive(self, belief, total), outcome.pulls)

    def believe(self, belief: SwitchingBelief, data: Data) -> None:
        """Sum up what is believed; it does not follow from the data, whose order counts."""
        sum_by_arm(self, belief)

    def draw_arm(self, belief: SwitchingBelief, known: Known, rng: np.random.Generator) -> Drawn:
        """Draw a model; return its best arm."""
        return Drawn(draw_from(belief.arms, next_uniform(known, rng)).arm, math.inf)


@compilable
def multiply(belief: SwitchingBelief, factors: Floats) -> float:
    """Multiply the weights of each model by its factor; write those of the hazards, return the sum."""
    weights, masses = belief.weights, belief.masses
    hazards = len(masses)
    for place in range(hazards):
        masses[place] = 0.0
    pair = 0
    for model in range(len(factors)):
        for place in range(hazards):
            weights[pair] *= factors[model]
            masses[place] += weights[pair]
            pair += 1
    total = 0.0
    for place in range(hazards):
        total += masses[place]
    return total


@compilable
def revive(posterior: SwitchingPosterior, belief: SwitchingBelief, total: float) -> float:
    """Let no hazard have less than LEAST_MASS of all weight; return the sum.

    What is smaller than any float would never come back, however much speaks for it later.
    """
    weights, masses = belief.weights, belief.masses
    count = len(masses)
    if total <= 0.0:  # all that was possible is less than the smallest float: begin anew
        for pair in range(len(weights)):
            weights[pair] = posterior.prior[pair // count] / count
        for place in range(count):
            masses[place] = 1.0 / count
        return 1.0
    least = LEAST_MASS * total
    for place in range(count):
        if masses[place] < least:
            for pair in range(place, len(weights), count):
                if masses[place] > 0.0:
                    weights[pair] *= least / masses[place]
                else:
                    weights[pair] = least * posterior.prior[pair // count]
            masses[place] = least
    return total


@compilable
def weigh(posterior: SwitchingPosterior, belief: SwitchingBelief, outcome: Outcome) -> float:
    """Multiply the weights by the likelihood of several pulls of an arm, or of a part of a reward."""
    table, arm = posterior.table, outcome.arm
    hits, misses = reward_counts(outcome.pulls, outcome.total, table.bottom, table.top)
    per_hit, per_miss = table.per_hit[arm], table.per_miss[arm]
    factors = belief.factors
    largest = -math.inf
    for model in range(len(per_hit)):
        factors[model] = hits * per_hit[model] + misses * per_miss[model]
        largest = max(largest, factors[model])
    for model in range(len(per_hit)):
        factors[model] = math.exp(factors[model] - largest)
    return multiply(belief, factors)


@compilable
def jump(posterior: SwitchingPosterior, belief: SwitchingBelief, total: float, pulls: int) -> None:
    """Let the model change so many times; weights are divided by their sum, and summed up by arm."""
    weights, masses, kept = belief.weights, belief.masses, belief.kept
    count = len(masses)
    for place in range(count):
        chance = 1.0 - posterior.hazards[place]
        if pulls > 1:
            chance = chance**pulls
        kept[place] = chance / total
        masses[place] *= (1.0 - chance) / total
    pair = 0
    for arm in range(len(belief.arms)):
        weight = 0.0
        for model in range(posterior.table.starts[arm], posterior.table.starts[arm + 1]):
            for place in range(count):
                found = kept[place] * weights[pair] + masses[place] * posterior.prior[model]
                weights[pair] = found
                weight += found
                pair += 1
        belief.arms[arm] = weight


@compilable
def sum_by_arm(posterior: SwitchingPosterior, belief: SwitchingBelief) -> None:
    """Write the weight of each arm."""
    count = len(posterior.hazards)
    for arm in range(len(belief.arms)):
        weight = 0.0
        for pair in range(
            posterior.table.starts[arm] * count, posterior.table.starts[arm + 1] * count
        ):
            weight += belief.weights[pair]
        belief.arms[arm] = weight
