"""Posterior weights of models, from log-likelihoods that may be far apart."""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable

FAINTEST = -700.0  # weights below e^-700 of the largest count as 0: floats could hardly hold them


class Heaviest(NamedTuple):
    """The place of the largest weight, which is 1, and the sum of all."""

    place: int
    total: float


@compilable
def write_weights(logs: Floats, weights: Floats) -> Heaviest:
    """Write weights proportional to exp(logs), the largest of them 1; -inf in `logs` is weight 0."""
    place = 0
    for other in range(1, len(logs)):
        if logs[other] > logs[place]:
            place = other
    total = 0.0
    for other in range(len(logs)):
        below = logs[other] - logs[place]
        weights[other] = math.exp(below) if below > FAINTEST else 0.0
        total += weights[other]
    return Heaviest(place, total)
