"""Exponential envelopes of the tails of Beta laws (docs/notes/lookahead.md 19.1).

The logarithm of the density of Beta(a, b) with a, b >= 1 is concave, so a tangent lies above it. Beyond
a level where it falls away from the middle, the tangent's exponential is an *envelope* of the tail, and
its *mass* at least the tail's probability. `arm_of_proposals` draws by them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.lookahead.beta_density import log_beta_density

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


@compilable
def first_proposer(envelopes: Envelopes, playable: Ints, rng: np.random.Generator) -> int:
    """Draw the place of the first arm that proposes, given that some arm does."""
    u = rng.uniform(0.0, envelopes.chance[0])
    reached, silence = 0.0, 1.0
    for place in range(len(playable) - 1):
        mass = envelopes.masses[playable[place]]
        reached += silence * mass
        silence *= 1.0 - mass
        if u < reached:
            return place
    return len(playable) - 1


@compilable
def arm_of_proposals(
    envelopes: Envelopes, betas: Betas, playable: Ints, rng: np.random.Generator
) -> int:
    """Return the arm with the highest draw, given that some arm proposes."""
    leader, level = envelopes.leader[0], envelopes.level[0]
    first = first_proposer(envelopes, playable, rng)
    choice, highest = NOBODY, level
    leader_mean = math.inf  # that is, above the level
    for place in range(first, len(playable)):
        arm = playable[place]
        if place == first or rng.random() < envelopes.masses[arm]:
            side = -1.0 if arm == leader else 1.0
            mean = accepted_mean(envelopes, betas, arm, side, rng)
            if arm == leader and not math.isnan(mean):
                leader_mean = mean
            elif mean > highest:  # not if it is nan
                choice, highest = arm, mean
    if choice == NOBODY:
        if leader_mean > level:
            return int(leader)
        return highest_below(envelopes, betas, playable, leader_mean, rng)
    if leader_mean > level and mean_beyond(level, betas, leader, 1.0, rng) > highest:
        return int(leader)
    return int(choice)


@compilable
def highest_below(
    envelopes: Envelopes, betas: Betas, playable: Ints, leader_mean: float, rng: np.random.Generator
) -> int:
    """Return the arm with the highest draw, given that all are at most the level, and the leader's."""
    choice, highest = envelopes.leader[0], leader_mean
    for arm in playable:
        if arm != envelopes.leader[0]:
            mean = mean_beyond(envelopes.level[0], betas, arm, -1.0, rng)
            if mean > highest:
                choice, highest = arm, mean
    return int(choice)
