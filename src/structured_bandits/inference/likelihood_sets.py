"""Confidence sets of models by their likelihood: those that a mixture of all models does not refute.

With L the log-likelihood of a model and N the mean of the likelihoods by the prior (of a table a sum, of
a curve an integral, of a product the product of the groups'), the set is

    {theta : log N - L_theta < budget}.

For each theta N / e^L_theta is a non-negative supermartingale that begins at 1 if theta is true
(rewards in a range, or sub-Gaussian ones). So with a budget of log(1 / delta) the truth is in the sets
of all times with probability at least 1 - delta, whatever is pulled (Ville; docs/notes/mathematics.md
4.6). Rewards of all arms add up, and nothing is paid for the number of arms or of looks.

A model that calls an outcome impossible has the likelihood 0 once it comes: nothing is floored here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import chosen, compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.misfit.reward_likelihood import (
    RewardScale,
    reward_counts,
    reward_scale,
)
from structured_bandits.structures.reward_ranges import Rewards

NO_MODEL = -1
NO_ARM = -1


class LikelihoodSets(ABC):
    """The sets of one kind of structure: `TableSets`, `CurveSets` and `ProductSets`."""

    @abstractmethod
    def fresh_logs(self) -> Any:
        """Return memory for log-likelihoods."""

    @abstractmethod
    def arm_in_set(self, data: Data, budget: float, logs: Any) -> int:
        """Return the best arm of the most optimistic model in the set of these data.

        That is the one with the highest best mean, of several that of the lowest arm; NO_ARM if no model
        is left.
        """

    @abstractmethod
    def arms_in_set(self, data: Data, budget: float, logs: Any, found: Flags) -> bool:
        """Mark the best arms of the models in the set of these data; is there one?"""


def by_sets(
    in_sets: Callable[..., Any],
    in_boxes: Callable[..., Any],
    in_tables: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """Return a function that hands on its arguments: to one for likelihood sets, or one for boxes.

    Sets of tables may have one of their own.
    """

    def function_for(kind: type) -> Callable[..., Any]:
        if not issubclass(kind, LikelihoodSets):
            return in_boxes
        return in_tables if in_tables is not None and kind is TableSets else in_sets

    return chosen(function_for)


class _TableSets(NamedTuple):
    first: Floats  # arms x models: what a hit adds to the log-likelihood; -inf if it is impossible
    second: (
        Floats  # what a miss adds. Of Gaussian rewards: what a unit of their sum, what a pull adds
    )
    silent: Flags  # arms on which all models agree: their rewards say nothing
    log_prior: Floats
    best: Ints  # the best arm of each model, the first of several
    value: Floats  # the best mean of each model
    means: Floats  # models x arms
    scale: RewardScale


class TableSets(Record, LikelihoodSets, _TableSets):
    """The models of a table, and what rewards say about them."""

    def fresh_logs(self) -> Floats:
        """Return memory for the log-likelihoods of all models."""
        return np.zeros(len(self.best))

    def arm_in_set(self, data: Data, budget: float, logs: Floats) -> int:
        """Return the best arm of the most optimistic model that is left."""
        model = most_optimistic(self, logs, write_log_likelihoods(self, data, logs) - budget)
        return int(self.best[model]) if model != NO_MODEL else NO_ARM

    def arms_in_set(self, data: Data, budget: float, logs: Floats, found: Flags) -> bool:
        """Mark the best arms of the models that are left."""
        return write_best_arms(self, logs, write_log_likelihoods(self, data, logs) - budget, found)


def table_sets(table: Floats, log_prior: Floats, rewards: Rewards) -> TableSets:
    """Return the sets for a table of means (models x arms)."""
    if math.isfinite(rewards.bottom):
        shares = ((table - rewards.bottom) / (rewards.top - rewards.bottom)).clip(0.0, 1.0)
        with np.errstate(divide="ignore"):
            first, second = np.log(shares), np.log1p(-shares)
    else:
        variance = rewards.sigma**2
        first, second = table / variance, -0.5 * table * table / variance
    return TableSets(
        np.ascontiguousarray(first.T),
        np.ascontiguousarray(second.T),
        (table == table[0]).all(axis=0),
        log_prior,
        table.argmax(axis=1).astype(np.int64),
        table.max(axis=1),
        table,
        reward_scale(rewards.bottom, rewards.top, rewards.sigma, lambda: np.empty((0, 2))),
    )


@compilable
def write_log_likelihoods(sets: TableSets, data: Data, logs: Floats) -> float:
    """Write the log-likelihood of each model, from all data anew; return that of their mixture."""
    for model in range(len(logs)):
        logs[model] = 0.0
    for arm in range(len(data.pulls)):
        if data.pulls[arm] > 0 and not sets.silent[arm]:
            first, second = reward_counts(sets.scale, data.pulls[arm], data.sums[arm])
            for model in range(len(logs)):
                if first != 0.0:
                    logs[model] += first * sets.first[arm, model]
                if second != 0.0:
                    logs[model] += second * sets.second[arm, model]
    return log_mixture(sets, logs)


@compilable
def log_mixture(sets: TableSets, logs: Floats) -> float:
    """Return log(sum of prior times likelihood); -inf if no model is possible."""
    top = -math.inf
    for model in range(len(logs)):
        top = max(top, logs[model] + sets.log_prior[model])
    if top == -math.inf:
        return top
    total = 0.0
    for model in range(len(logs)):
        total += math.exp(logs[model] + sets.log_prior[model] - top)
    return top + math.log(total)


@compilable
def write_best_arms(sets: TableSets, logs: Floats, least: float, found: Flags) -> bool:
    """Mark the best arms of the models with a log-likelihood above `least`; is there one?"""
    found[:] = False
    anyone = False
    for model in range(len(logs)):
        if logs[model] > least:
            found[sets.best[model]] = True
            anyone = True
    return anyone


@compilable
def most_optimistic(sets: TableSets, logs: Floats, least: float) -> int:
    """Return the model above `least` with the highest best mean, NO_MODEL if there is none.

    Of several that of the lowest arm.
    """
    chosen = NO_MODEL
    for model in range(len(logs)):
        if logs[model] > least and (chosen < 0 or comes_before(sets, model, chosen)):
            chosen = model
    return chosen


@compilable
def comes_before(sets: Any, model: int, other: int) -> bool:
    """Does optimism prefer a model to another one?"""
    if sets.value[model] != sets.value[other]:
        return bool(sets.value[model] > sets.value[other])
    return bool(sets.best[model] < sets.best[other])


@compilable
def budget_at(alpha: float, t: int) -> float:
    """Return the budget after t pulls: alpha log(t + 1), and above 0, as no set begins empty."""
    return alpha * math.log(max(t, 1) + 1)
