"""The likelihood of every model of a table, from pulls and sums of rewards.

The log-likelihood of a model is the sum over the arms of sums_i * per_reward_i + pulls_i * per_pull_i:

- rewards in a range, scaled to [0, 1]: with l1 = log mu_i and l0 = log(1 - mu_i) a pull that pays x
  adds x l1 + (1 - x) l0. For rewards of 0 and 1 that is the likelihood; for others a
  *quasi-likelihood*: it has its highest expected value at the true mean, but is no likelihood of
  theirs, so posteriors made from it are approximate;
- Gaussian rewards (no range): (x mu_i - mu_i^2 / 2) / sigma^2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.structures.reward_ranges import Rewards

FLOOR = 1e-6  # a model that calls an outcome impossible is taken to give it this probability


class Increments(NamedTuple):
    """What a reward, and what a pull, adds to the log-likelihood of each model (models x arms)."""

    per_reward: Floats
    per_pull: Floats


def evidence_of(table: Floats, rewards: Rewards) -> Increments:
    """Return the log-likelihoods of the models of a table (models x arms)."""
    if not math.isfinite(rewards.bottom):
        variance = rewards.sigma**2
        return Increments(table / variance, -0.5 * table * table / variance)
    width = rewards.top - rewards.bottom
    shares = (table - rewards.bottom) / width
    ones = np.log(np.maximum(shares, FLOOR))
    zeros = np.log(np.maximum(1.0 - shares, FLOOR))
    per_reward = (ones - zeros) / width
    return Increments(per_reward, zeros - rewards.bottom * per_reward)


class _Likelihood(NamedTuple):
    per_reward: Floats  # arms x models: what a reward adds to a model's log-likelihood
    per_pull: Floats  # what a pull adds
    silent: Flags  # arms on which all models agree: their rewards say nothing


class Likelihood(Record, _Likelihood):
    """What rewards say about the models, arm by arm."""


def likelihood_of(table: Floats, rewards: Rewards) -> Likelihood:
    """Return the likelihood of the models of a table (models x arms).

    An arm on which all models agree is left out, where rounding might say something.
    """
    silent = (table == table[0]).all(axis=0)
    each = (np.where(silent, 0.0, part) for part in evidence_of(table, rewards))
    per_reward, per_pull = (np.ascontiguousarray(part.T) for part in each)
    return Likelihood(per_reward, per_pull, silent)


@compilable
def write_logs(likelihood: Likelihood, start: Floats, data: Data, logs: Floats) -> None:
    """Write the log-likelihood of each model, added to what it has at the start.

    From all data anew, so that the order in which they came does not matter.
    """
    for model in range(len(logs)):
        logs[model] = start[model]
    for arm in range(len(data.pulls)):
        pulls, total = data.pulls[arm], data.sums[arm]
        if pulls > 0 and not likelihood.silent[arm]:
            for model in range(len(logs)):
                more = total * likelihood.per_reward[arm, model]
                logs[model] += more + pulls * likelihood.per_pull[arm, model]


@compilable
def divergence(likelihood: Likelihood, arm: int, mean: float, model: int, other: int) -> float:
    """Return what a reward of an arm is expected to tell for a model against another one, in nats.

    Its expected value is `mean`, that of the model.
    """
    slope = likelihood.per_reward[arm, model] - likelihood.per_reward[arm, other]
    rest = likelihood.per_pull[arm, model] - likelihood.per_pull[arm, other]
    return max(mean * slope + rest, 0.0)
