"""Confidence sets of models by their likelihood: those that a mixture of all models does not refute.

With L the log-likelihood of a model and N = sum over models of prior times likelihood, the set is

    {theta : log N - L_theta < budget}.

For each theta N / e^L_theta is a non-negative supermartingale that begins at 1 if theta is true (rewards
in a range, or sub-Gaussian ones). So with a budget of log(1 / delta) the truth is in the sets of all
times with probability at least 1 - delta, whatever is pulled (Ville; docs/mathematics.md 4.6). Rewards
of all arms add up, and nothing is paid for the number of arms or of looks.

A model that calls an outcome impossible has the likelihood 0 once it comes: nothing is floored here.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.inference.misfit.reward_likelihood import (
    RewardScale,
    reward_counts,
    reward_scale,
)
from structured_bandits.planning.confidence import Data
from structured_bandits.records import Record
from structured_bandits.structures.reward_ranges import Rewards

NO_MODEL = -1


class _LikelihoodSets(NamedTuple):
    first: Floats  # arms x models: what a hit adds to the log-likelihood; -inf if it is impossible
    second: (
        Floats  # what a miss adds. Of Gaussian rewards: what a unit of their sum, what a pull adds
    )
    silent: Flags  # arms on which all models agree: their rewards say nothing
    log_prior: Floats
    best: Ints  # the best arm of each model, the first of several
    value: Floats  # the best mean of each model
    scale: RewardScale


class LikelihoodSets(Record, _LikelihoodSets):
    """The models of a table, and what rewards say about them."""


def likelihood_sets(table: Floats, log_prior: Floats, rewards: Rewards) -> LikelihoodSets:
    """Return the sets for a table of means (models x arms)."""
    if math.isfinite(rewards.bottom):
        shares = ((table - rewards.bottom) / (rewards.top - rewards.bottom)).clip(0.0, 1.0)
        with np.errstate(divide="ignore"):
            first, second = np.log(shares), np.log1p(-shares)
    else:
        variance = rewards.sigma**2
        first, second = table / variance, -0.5 * table * table / variance
    return LikelihoodSets(
        np.ascontiguousarray(first.T),
        np.ascontiguousarray(second.T),
        (table == table[0]).all(axis=0),
        log_prior,
        table.argmax(axis=1).astype(np.int64),
        table.max(axis=1),
        reward_scale(rewards.bottom, rewards.top, rewards.sigma, lambda: np.empty((0, 2))),
    )


@compilable
def fresh_logs(sets: LikelihoodSets) -> Floats:
    """Return memory for the log-likelihoods of all models."""
    return np.zeros(len(sets.best))


@compilable
def write_log_likelihoods(sets: LikelihoodSets, data: Data, logs: Floats) -> float:
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
def log_mixture(sets: LikelihoodSets, logs: Floats) -> float:
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
def write_best_arms(sets: LikelihoodSets, logs: Floats, least: float, found: Flags) -> bool:
    """Mark the best arms of the models with a log-likelihood above `least`; is there one?"""
    found[:] = False
    anyone = False
    for model in range(len(logs)):
        if logs[model] > least:
            found[sets.best[model]] = True
            anyone = True
    return anyone


@compilable
def most_optimistic(sets: LikelihoodSets, logs: Floats, least: float) -> int:
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


@compilable
def find_best_arms_at(
    sets: LikelihoodSets, data: Data, budget: float, logs: Floats, found: Flags
) -> bool:
    """Mark the best arms of the set of these data; is there one?"""
    return write_best_arms(sets, logs, write_log_likelihoods(sets, data, logs) - budget, found)
