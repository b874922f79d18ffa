"""Exponential envelopes of the tails of Beta laws, and draws by them (docs/planning.md 19.1).

The logarithm of the density of Beta(a, b) with a, b >= 1 is concave, so a tangent lies above it. Beyond
a level where it falls away from the middle, the tangent's exponential is an *envelope* of the tail, and
its *mass* at least the tail's probability. To draw whether a mean is in the tail, and where: propose
with the mass as probability, at a distance that is exponential, and accept by the ratio of density and
envelope. What is accepted has the density of the law, so all else has the law given the other side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.compilable import compilable
from structured_bandits.planning.beta_density import log_beta_density

MARGIN = 1e-10  # of the logarithm of an envelope, far above the error of a density's


class Betas(NamedTuple):
    """The law Beta(a, b) of the mean of each arm."""

    a: Floats
    b: Floats


class Envelopes(NamedTuple):
    """The envelopes of all arms beyond one level: of the leader below it, of the others above it."""

    level: Floats  # one number
    masses: Floats  # of each arm: the probability to propose
    slopes: Floats  # at which the logarithm falls with the distance from the level
    heights: Floats  # the logarithm at the level


@compilable
def fresh_envelopes(arms: int) -> Envelopes:
    """Return memory for envelopes."""
    return Envelopes(np.zeros(1), np.zeros(arms), np.zeros(arms), np.zeros(arms))


@compilable
def write_envelope(envelopes: Envelopes, arm: int, slope: float, height: float) -> float:
    """Write an envelope; return the logarithm of its mass, the integral of exp(height - slope distance)."""
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


@compilable
def accepted_mean(
    envelopes: Envelopes, betas: Betas, arm: int, side: float, rng: np.random.Generator
) -> float:
    """Draw where an arm that proposes is, on this side of the level (1: above, -1: below).

    Return nan if the proposal is not accepted.
    """
    distance = rng.exponential(1.0)  # times the slope
    mean = envelopes.level[0] + side * distance / envelopes.slopes[arm]
    if not 0.0 < mean < 1.0:
        return math.nan
    density = log_beta_density(mean, betas.a[arm], betas.b[arm])
    lack = envelopes.heights[arm] - distance - density  # accepted with probability exp(-lack)
    return mean if rng.exponential(1.0) > lack else math.nan


@compilable
def mean_beyond(
    level: float, betas: Betas, arm: int, side: float, rng: np.random.Generator
) -> float:
    """Draw the mean of an arm given that it is on this side of the level (1: above, -1: at most)."""
    while True:
        mean = rng.beta(betas.a[arm], betas.b[arm])
        if (mean > level) == (side > 0.0):
            return mean
