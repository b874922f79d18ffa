"""The leading model of a table, its rivals, and what a pull of each arm costs and tells against them.

The leader is the model with the largest posterior weight; its rivals are the models in which another
arm is better than the leader's best one (docs/notes/mathematics.md 2.22).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.likelihood import (
    Likelihood,
    divergence,
    likelihood_of,
    write_logs,
)
from structured_bandits.inference.weights import write_weights
from structured_bandits.policies.curve_rivals import (
    CurveModels,
    Places,
    fresh_places,
    keep_places,
    places_of,
    told_by_place,
    weigh_places,
)
from structured_bandits.structures.reward_ranges import Rewards

MOST_TOLD = 2_000_000  # numbers that are kept of a table


class _ModelTable(NamedTuple):
    means: Floats  # models x arms
    gaps: Floats  # models x arms: how far an arm is below the model's best mean
    best: Ints  # the best arm of each model, the first of several
    log_prior: Floats
    likelihood: Likelihood
    told: Floats  # models x models x arms: `told_of`; empty if that is too large to be kept


class ModelTable(Record, _ModelTable):
    """What the models of a table say of rewards and arms."""

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.means.shape[1]


class Expectations(NamedTuple):
    """Memory for the posterior and what is expected under it."""

    logs: Floats  # logarithms of the weights
    weights: Floats  # of each model; their sum is 1
    regret: Floats  # expected, of a pull of each arm
    information: Floats  # about the rivals of a leader, expected of a pull of each arm


class RivalModels(NamedTuple):
    """The models in which an arm is not best."""

    weight: float  # of all of them
    heaviest: float  # the largest weight of one
    regret: float  # what a pull of the arm is expected to cost


def models_of(table: Floats, log_prior: Floats, rewards: Rewards) -> ModelTable:
    """Return what the models of a table (models x arms) say."""
    gaps = table.max(axis=1)[:, None] - table
    best = table.argmax(axis=1).astype(np.int64)
    likelihood = likelihood_of(table, rewards)
    told = np.zeros((0, 0, 0))
    if len(table) * table.size <= MOST_TOLD:
        slope, rest = (
            np.ascontiguousarray((part[:, :, None] - part[:, None]).transpose(1, 2, 0))
            for part in (likelihood.per_reward, likelihood.per_pull)
        )
        told = np.maximum(table[:, None] * slope + rest, 0.0)
    return ModelTable(table, gaps, best, log_prior, likelihood, told)


def fresh_table_belief(models: ModelTable) -> Expectations:
    """Return memory for a belief about the models of a table."""
    count, arms = models.gaps.shape
    return Expectations(np.zeros(count), np.zeros(count), np.zeros(arms), np.zeros(arms))


#: `fresh_belief(models)`: memory for a belief.
fresh_belief = chosen_by_class({CurveModels: fresh_places}, fresh_table_belief)


def table_itself(models: ModelTable, belief: Expectations) -> ModelTable:
    """Return the models of a table, which are always the same."""
    return models


#: `models_in(models, belief)`: the models that the weights of a belief belong to.
models_in = chosen_by_class({CurveModels: places_of}, table_itself)


def weigh_table(models: ModelTable, data: Data, pending: Ints, belief: Expectations) -> int:
    """Write the weights of the models, from all data anew; return the heaviest model.

    A pull whose reward is pending lowers each model by its divergence from the heaviest one, as if it
    had paid the mean that this one says.
    """
    logs = belief.logs
    write_logs(models.likelihood, models.log_prior, data, logs)
    found = write_weights(logs, belief.weights)
    if counted(pending) > 0:
        for arm in range(len(pending)):
            if pending[arm] > 0:
                for model in range(len(logs)):
                    logs[model] -= pending[arm] * told_by_table(models, arm, found.place, model)
        found = write_weights(logs, belief.weights)
    for model in range(len(logs)):
        belief.weights[model] /= found.total
    return found.place


@compilable
def counted(pulls: Ints) -> int:
    """Return the number of pulls of all arms."""
    count = 0
    for each in pulls:
        count += each
    return count


def leave_out_of_table(models: ModelTable, budget: float, belief: Expectations) -> int:
    """Leave out the models with log(sum of prior times likelihood) - log-likelihood >= budget.

    Return the heaviest that is left. For a positive budget that is never none: the sum is at most the
    largest likelihood.
    """
    logs, weights = belief.logs, belief.weights
    top = 0
    for model in range(1, len(logs)):
        if logs[model] > logs[top]:
            top = model
    sum_log = logs[top] - math.log(weights[top])
    leader = -1
    total = 0.0
    for model in range(len(logs)):
        if sum_log - (logs[model] - models.log_prior[model]) >= budget:
            weights[model] = 0.0
        else:
            total += weights[model]
            if leader < 0 or weights[model] > weights[leader]:
                leader = model
    for model in range(len(logs)):
        weights[model] /= total
    return leader


#: `write_posterior(models, data, pending, belief)`: write the weights; return the leader.
write_posterior = chosen_by_class({CurveModels: weigh_places}, weigh_table)
#: `leave_out(models, budget, belief)`: leave out what a likelihood set refutes; return the leader.
leave_out = chosen_by_class({CurveModels: keep_places}, leave_out_of_table)


@compilable
def rivals_of(models: ModelTable, best: int, belief: Expectations) -> RivalModels:
    """Return what is believed of the models in which an arm is not best."""
    total = 0.0
    heaviest = 0.0
    regret = 0.0
    for model in range(len(belief.weights)):
        weight, gap = belief.weights[model], models.gaps[model, best]
        if gap > 0.0:
            total += weight
            heaviest = max(heaviest, weight)
            regret += weight * gap
    return RivalModels(total, heaviest, regret)


@compilable
def told_by_table(models: ModelTable, arm: int, model: int, other: int) -> float:
    """Return what a pull of an arm tells against another model if this one is right, in nats."""
    if len(models.told) > 0:
        return models.told[model, other, arm]
    return divergence(models.likelihood, arm, models.means[model, arm], model, other)


#: `told_of(models, arm, model, other)`: what a pull of an arm tells against another model, in nats.
told_of = chosen_by_class({Places: told_by_place}, told_by_table)


@compilable
def write_regret(models: ModelTable, belief: Expectations) -> int:
    """Write the expected regret of a pull of each arm; return the arm with the least."""
    regret = belief.regret
    regret[:] = 0.0
    for model in range(len(belief.weights)):
        weight = belief.weights[model]
        if weight > 0.0:
            for arm in range(len(regret)):
                regret[arm] += weight * models.gaps[model, arm]
    return cheapest_arm(regret)


@compilable
def cheapest_arm(regret: Floats) -> int:
    """Return the arm with the least regret, the first of several."""
    cheapest = 0
    for arm in range(1, len(regret)):
        if regret[arm] < regret[cheapest]:
            cheapest = arm
    return cheapest


@compilable
def telling_arm(models: ModelTable, leader: int, least: float, belief: Expectations) -> int:
    """Return the arm with the largest information against a leader's rivals / (regret + least).

    That is the leader's best arm if no arm tells anything.
    """
    information = belief.information
    best = models.best[leader]
    information[:] = 0.0
    for model in range(len(belief.weights)):
        weight = belief.weights[model]
        if weight > 0.0 and models.gaps[model, best] > 0.0:
            for arm in range(len(information)):
                information[arm] += weight * told_of(models, arm, leader, model)
    chosen = best
    most = 0.0
    for arm in range(len(information)):
        ratio = information[arm] / (belief.regret[arm] + least)
        if ratio > most:
            chosen = arm
            most = ratio
    return chosen


@compilable
def regret_per_nat(best: int, weight: float, belief: Expectations) -> float:
    """Return the least regret of a nat of evidence against rivals of this weight; inf if there is none.

    It is had by pulls of other arms than the leader's best one.
    """
    least = math.inf
    for arm in range(len(belief.regret)):
        if arm != best and belief.information[arm] > 0.0:
            least = min(least, belief.regret[arm] * weight / belief.information[arm])
    return least
