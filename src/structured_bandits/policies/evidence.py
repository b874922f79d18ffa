"""What rewards say about models: log-likelihoods that are affine in pulls and sums.

The log-likelihood of a model is the sum over the arms of sums_i * per_reward_i + pulls_i * per_pull_i:

- rewards in a range, scaled to [0, 1]: with l1 = log mu_i and l0 = log(1 - mu_i) a pull that pays x
  adds x l1 + (1 - x) l0. For rewards of 0 and 1 that is the likelihood; for others a
  *quasi-likelihood*: it has its highest expected value at the true mean, but is no likelihood of
  theirs, so posteriors made from it are approximate;
- Gaussian rewards (no range): (x mu_i - mu_i^2 / 2) / sigma^2.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.base.checks import checked_weights
from structured_bandits.policies.base import Rewards
from structured_bandits.structures.base import Structure

FLOOR = 1e-6  # a model that calls an outcome impossible is taken to give it this probability


class Evidence(NamedTuple):
    """What a reward, and what a pull, adds to the log-likelihood of each model (models x arms)."""

    per_reward: Floats
    per_pull: Floats


def evidence_of(table: Floats, rewards: Rewards) -> Evidence:
    """Return the log-likelihoods of the models of a table (models x arms)."""
    if not math.isfinite(rewards.bottom):
        variance = rewards.sigma**2
        return Evidence(table / variance, -0.5 * table * table / variance)
    width = rewards.top - rewards.bottom
    shares = (table - rewards.bottom) / width
    ones = np.log(np.maximum(shares, FLOOR))
    zeros = np.log(np.maximum(1.0 - shares, FLOOR))
    per_reward = (ones - zeros) / width
    return Evidence(per_reward, zeros - rewards.bottom * per_reward)


def checked_prior(prior: Any, models: int, name: str = "model") -> Floats:
    """Return the logarithms of prior weights that sum to 1; None stands for equal weights."""
    if prior is None:
        return np.full(models, -math.log(models))
    logs = np.log(checked_weights(prior, models, name))
    logs -= logs.max()  # so that their sum is a number, however small or large they are
    return logs - math.log(np.exp(logs).sum())


def believed_prior(prior: Any, structure: Structure) -> Any:
    """Return the prior that a policy was given, that of the structure if it was given none."""
    return structure.prior if prior is None else prior


def plain_prior(prior: Any) -> Any:
    """Return a prior as lists, which belong to nobody else; that of a product has some inside."""
    if isinstance(prior, (list, tuple)):
        return [plain_prior(each) for each in prior]
    return prior.tolist() if isinstance(prior, (np.ndarray, np.generic)) else prior
