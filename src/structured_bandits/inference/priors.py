"""Prior weights of models, as users give them and as policies keep them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.base.checks import checked_weights
from structured_bandits.structures.base import Structure


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
