"""Which arm tells two models apart, and how fast."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.families import divergence_of
from structured_bandits.service.ui.explorer.choice import mean_limits
from structured_bandits.structures.base import Structure

ODDS = 100.0  # to one: when pulls are said to have told two models apart


class Telling(NamedTuple):
    """What pulls of one arm say between two models, of which the first is true.

    `gap` is how far its two means are apart, `information` the divergence KL(one, other) of a pull.
    After `pulls` of them, about, the rewards are a hundred times as likely under the true model: the
    logarithm of that ratio grows by the information on average. Where the other model excludes a reward
    that the true one pays, the information is infinite, and such a reward comes after so many pulls on
    average. If the means are equal, no number of pulls is enough.
    """

    arm: int
    one: float
    other: float
    gap: float
    information: float
    pulls: float


def telling_arms(structure: Structure, one: Floats, other: Floats) -> list[Telling]:
    """Return what each arm tells between a true model and another one, the most telling first."""
    ends = structure.range_of_rewards
    divergence = divergence_of(family_of(structure, one, other), ends)
    with np.errstate(divide="ignore", invalid="ignore"):  # a mean of 0 or 1 excludes a reward
        told = divergence.value(
            np.clip(one, divergence.lowest, divergence.highest),
            np.clip(other, divergence.lowest, divergence.highest),
            0.5 * (ends[1] - ends[0]),
        )
    found = [
        Telling(
            arm,
            float(one[arm]),
            float(other[arm]),
            abs(float(one[arm] - other[arm])),
            float(told[arm]),
            _pulls(float(told[arm]), float(one[arm]), float(other[arm]), ends),
        )
        for arm in range(structure.n_arms)
    ]
    return sorted(found, key=lambda each: (each.pulls, -each.gap))


def _pulls(information: float, one: float, other: float, ends: tuple[float, float]) -> float:
    if math.isinf(information):
        share = (one - ends[0]) / (ends[1] - ends[0])
        return 1.0 / (share if other <= ends[0] else 1.0 - share)
    return math.log(ODDS) / information if information > 0.0 else math.inf


def family_of(structure: Structure, *means: Floats) -> str:
    """Return the family of rewards that the page reckons with: bernoulli, unless a mean forbids it."""
    low, high = structure.range_of_rewards
    ends = [*mean_limits(structure), *(end for each in means for end in (each.min(), each.max()))]
    slack = 1e-9 * (high - low)
    return "bernoulli" if min(ends) >= low - slack and max(ends) <= high + slack else "gaussian"
