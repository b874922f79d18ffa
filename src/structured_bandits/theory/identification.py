"""How many pulls does it take to be certain which arm is best? The bound of Garivier and Kaufmann.

For a table and a true model theta, the *characteristic time* T* is given by

    1 / T* = max over shares w of min over models lambda in which the best arm of theta is not best
             of sum over arms k of w_k d(theta_k, lambda_k),

and w* are the shares at which the maximum is reached. A policy that is wrong with a probability of at
most delta in every model takes at least kl(delta, 1 - delta) T* pulls in the mean. With c = w T* it is
the linear program: least sum of c with sum over k of c_k d(theta_k, lambda_k) >= 1 for all lambda.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.base.checks import checked_above, checked_probability
from structured_bandits.base.families import divergence_of
from structured_bandits.errors import ParameterError
from structured_bandits.theory.truth import Truth


class CharacteristicTime(NamedTuple):
    """`time` is T*, 0 if no model has another best arm; `proportions` are the shares w* of pulls."""

    time: float
    proportions: Floats

    def least_pulls(self, level: float) -> float:
        """Return the least mean number of pulls of a policy that is wrong with this probability.

        >>> CharacteristicTime(10.0, np.ones(2) / 2).least_pulls(0.05).__round__(2)
        26.5
        """
        delta = checked_probability("level", level)
        told = (1.0 - 2.0 * delta) * math.log((1.0 - delta) / delta)  # kl(delta, 1 - delta)
        return told * self.time if delta < 0.5 else 0.0


def characteristic_time(
    truth: Truth,
    family: str,
    sigma: float | None = None,
    reward_range: tuple[float, float] | None = None,
) -> CharacteristicTime:
    """Return T* and w* of a true model of a table."""
    table = getattr(truth.structure.cells, "table", None)
    if table is None:
        raise ParameterError(f"identification: needs a table of models, not {truth.structure!r}")
    low, high = ends = reward_range or truth.structure.range_of_rewards
    sigma = 0.5 * (high - low) if sigma is None else checked_above("sigma", sigma, 0.0)
    rivals = table[table.max(axis=1) > table[:, truth.best_arm]]
    arms = len(truth.means)
    if not len(rivals):
        return CharacteristicTime(0.0, np.full(arms, 1.0 / arms))
    told = divergence_of(family, ends).value(truth.means, rivals, sigma)
    told = told[np.isfinite(told).all(axis=1)]  # any pull at all may refute the others
    if not len(told):
        return CharacteristicTime(0.0, np.full(arms, 1.0 / arms))
    if (told.max(axis=1) == 0.0).any():
        return CharacteristicTime(math.inf, np.full(arms, 1.0 / arms))
    return _cheapest(told)


def _cheapest(told: Floats) -> CharacteristicTime:
    """Return the least pulls that tell a nat against each rival (rivals x arms)."""
    from structured_bandits.solvers.linear import by_highs, solved

    arms = told.shape[1]
    rows = np.vstack([told / told.max(axis=1, keepdims=True), np.eye(arms)])
    least = np.concatenate([1.0 / told.max(axis=1), np.zeros(arms)])
    found = solved(by_highs(-np.ones(arms), rows, least, np.full(len(rows), np.inf)))
    pulls = np.maximum(found.x, 0.0)
    return CharacteristicTime(float(pulls.sum()), pulls / pulls.sum())
