"""Models that fit best, and for how long they do: losses that are affine in pulls and sums.

The loss of a model is the sum over the arms of pulls_i * per_pull_i + sums_i * per_reward_i. Least
squares and negative log-likelihoods are of this kind, so while one arm is pulled the difference of two
losses is affine in its new pulls and rewards, and is largest at a corner of what they can be
(docs/notes/lookahead.md 17.1, 22.1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable, compiled_as
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record


class FitWork(NamedTuple):
    """Scratch memory, a number for each model."""

    losses: Floats
    # For how many further pulls of its best arm a policy goes on pulling it if this model comes to fit
    # best: for ever, unless the policy says otherwise.
    agreeing: Floats


@compilable
def fresh_fit_work(models: int) -> FitWork:
    """Return the memory for so many models."""
    return FitWork(np.zeros(models), np.full(models, math.inf))


class _ModelFit(NamedTuple):
    per_pull: Floats  # models x arms
    per_reward: Floats
    best: Ints  # best arm of each model
    most_per_pull: float  # the largest of these numbers, without their signs
    most_per_reward: float


class ModelFit(Record, _ModelFit):
    """Finitely many models and their losses; the first model wins a tie.

    Losses are told from those of a model made of the commonest means: where most models agree there is
    nothing to add, and so no rounding, however often an arm is pulled.
    """

    def __new__(cls, per_pull: Floats, per_reward: Floats, best: Ints) -> ModelFit:
        """Note the largest numbers, for what rounding may do."""
        common = commonest_rows(per_reward), np.arange(per_reward.shape[1])
        per_pull, per_reward = per_pull - per_pull[common], per_reward - per_reward[common]
        most = float(np.abs(per_pull).max()), float(np.abs(per_reward).max())
        return super().__new__(cls, per_pull, per_reward, best, *most)

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.per_pull.shape[1]

    def fitting_arm(self, data: Data) -> int:
        """Return the best arm of the first model with the least loss."""
        return int(self.best[write_losses(self, data, np.zeros(len(self.best)))])


def commonest_rows(table: Floats) -> Ints:
    """Return a row of each column in which its commonest number stands."""
    rows = np.zeros(table.shape[1], np.int64)
    for column, values in enumerate(table.T):
        _, first, counts = np.unique(values, return_index=True, return_counts=True)
        rows[column] = first[counts.argmax()]
    return rows


def squares_of(table: Floats, best: Ints) -> ModelFit:
    """Return the fit by least squares: sums of pulls * (mean - model)^2, less what all models share.

    Exact for rewards of 0 and 1 and models that are short binary fractions.
    """
    return ModelFit(table * table, -2.0 * table, best)


def write_one_by_one(fit: ModelFit, data: Data, losses: Floats) -> int:
    """Write the losses model by model, arm by arm."""
    pulls, sums = data.pulls, data.sums
    least = math.inf
    choice = 0
    for model in range(len(losses)):
        loss = 0.0
        for arm in range(len(pulls)):
            loss += pulls[arm] * fit.per_pull[model, arm] + sums[arm] * fit.per_reward[model, arm]
        losses[model] = loss
        if loss < least:
            least = loss
            choice = model
    return choice


@compiled_as(write_one_by_one)
def write_losses(fit: ModelFit, data: Data, losses: Floats) -> int:
    """Write the loss of each model; return the first of those with the least.

    All models at once, but arm by arm: then sums round as in compiled code.
    """
    losses[:] = 0.0
    for arm in range(len(data.pulls)):
        losses += data.pulls[arm] * fit.per_pull[:, arm] + data.sums[arm] * fit.per_reward[:, arm]
    return int(losses.argmin())
