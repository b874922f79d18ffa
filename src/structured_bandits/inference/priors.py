"""Prior weights of models, as users give them and as policies keep them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_weights
from structured_bandits.errors import ParameterError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.questions import ModelLines


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


def line_weights(lines: ModelLines, prior: Any) -> Floats:
    """Return the logarithm of each line's prior weight.

    A table has a weight for each model, a curve one for each piece, spread evenly over the piece. By
    default models have equal weights and curves weights by length.
    """
    pieces = int(lines.piece.max()) + 1
    length = np.bincount(lines.piece, lines.length, pieces)
    if not length.any():
        return checked_prior(prior, pieces)[lines.piece]
    if prior is None:
        if not length.all():
            raise ParameterError(
                "prior=None: the structure has single models among its pieces, which have no share in "
                f"a uniform prior; give {pieces} weights, one for each piece"
            )
        prior = length
    share = np.divide(
        lines.length,
        length[lines.piece],
        out=np.ones(len(lines.length)),
        where=length[lines.piece] > 0.0,
    )
    return checked_prior(prior, pieces, "piece")[lines.piece] + np.log(share)
