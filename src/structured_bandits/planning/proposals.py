"""The arm of the highest draw, drawn by envelopes (docs/planning.md 19.1, 19.2).

To draw whether the mean of an arm is in a tail, and where: it *proposes* with the envelope's mass as
probability, at a distance from the level that is exponential, and the proposal is accepted by the ratio
of density and envelope. What is accepted has the density of the law in the tail, so all else has the
law given the other side of the level.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.beta_density import log_beta_density
from structured_bandits.planning.envelopes import NOBODY, Betas, Envelopes


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
