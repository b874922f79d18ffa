"""Exponential envelopes of the tails of Beta laws (docs/planning.md 19.1).

The logarithm of the density of Beta(a, b) with a, b >= 1 is concave, so a tangent lies above it. Beyond
a level where it falls away from the middle, the tangent's exponential is an *envelope* of the tail, and
its *mass* at least the tail's probability. planning/proposals.py draws by them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.beta_density import log_beta_density

NOBODY = -1
MARGIN = 1e-10  # of the logarithm of an envelope, far above the error of a density's


class Betas(NamedTuple):
    """The law Beta(a, b) of the mean of each arm."""

    a: Floats
    b: Floats


class Envelopes(NamedTuple):
    """The envelopes of all arms beyond one level: of the leader below it, of the others above it."""

    level: Floats  # one number
    leader: Ints  # one number; NOBODY if there are no envelopes
    chance: Floats  # one number: the probability that some arm proposes
    masses: Floats  # of each arm: the probability to propose
    slopes: Floats  # at which the logarithm falls with the distance from the level
    heights: Floats  # the logarithm at the level


@compilable
def fresh_envelopes(arms: int) -> Envelopes:
    """Return memory for envelopes."""
    return Envelopes(
        np.zeros(1), np.full(1, NOBODY), np.zeros(1), np.zeros(arms), np.zeros(arms), np.zeros(arms)
    )


@compilable
def write_envelope(envelopes: Envelopes, arm: int, slope: float, height: float) -> float:
    """Write the envelope exp(height - slope distance); return the logarithm of its mass."""
    log_mass = height + MARGIN - math.log(slope)
    envelopes.slopes[arm] = slope
    envelopes.heights[arm] = height + MARGIN
    envelopes.masses[arm] = math.exp(min(log_mass, 0.0))  # those above 1 are of no use
    return log_mass


@compilable
def raise_envelope(envelopes: Envelopes, arm: int, mass: float) -> None:
    """Make an envelope at least as large as this: it is still one."""
    if envelopes.masses[arm] < mass:
        envelopes.masses[arm] = mass
        envelopes.heights[arm] = math.log(mass * envelopes.slopes[arm])


@compilable
def write_upper_tail(envelopes: Envelopes, betas: Betas, arm: int) -> float:
    """Write the envelope of an arm's tail above the level.

    Return the logarithm of its mass, infinity if there is none.
    """
    level, a, b = envelopes.level[0], betas.a[arm], betas.b[arm]
    slope = (b - 1.0) / (1.0 - level) - (a - 1.0) / level
    if a < 1.0 or b < 1.0 or slope <= 0.0:
        return math.inf
    return write_envelope(envelopes, arm, slope, log_beta_density(level, a, b))


@compilable
def most_misses(level: float, a: float, b: float) -> float:
    """Return the misses up to which the tail below the level surely has an envelope.

    The slope at the level must stay positive, and more ones must lower the density there.
    """
    return min((a - 1.0) * (1.0 - level) / level - (b - 1.0), (a - 0.5) / level - (a + b))


@compilable
def write_lower_tail(envelopes: Envelopes, betas: Betas, arm: int, misses: float) -> float:
    """Write an envelope of an arm's tail below the level for any ones and up to so many misses more.

    Return the logarithm of its mass, infinity if there is none.
    """
    level, a, b = envelopes.level[0], betas.a[arm], betas.b[arm]
    slope = (a - 1.0) / level - (b + misses - 1.0) / (1.0 - level)
    if a < 1.0 or b < 1.0 or slope <= 0.0 or misses > most_misses(level, a, b):
        return math.inf
    return write_envelope(envelopes, arm, slope, log_beta_density(level, a, b + misses))
