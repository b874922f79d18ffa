"""The alternatives of the test: likelihoods of models with one arm set free, and of no model.

The models are a fixed list: of a table all of its models, of a curve or a polytope some of them. That
is enough, since this part of the e-value may be any mixture of likelihoods.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.records import Record
from structured_bandits.inference.misfit.reward_likelihood import RewardScale

HITS, MISSES = 1, 2  # what a mean at an end of the range excludes; a mean outside excludes both


class _Grid(NamedTuple):
    per_hit: Floats  # of Gaussian rewards: per unit of reward
    per_miss: Floats  # of Gaussian rewards: per pull
    prior: Floats  # the logarithm of each model's weight
    walls: Ints  # rows: arm, model, and HITS, MISSES or both, which that model's mean excludes


class Grid(Record, _Grid):
    """Models, with the logarithms that hits and misses are multiplied by (arms x models)."""


class GridMemory(NamedTuple):
    """Memory for one look."""

    own: Floats  # arms x models: log-likelihood of each arm's rewards; then the terms of the sum
    before: Floats  # (arms + 1) x models: that of all arms before
    after: Floats  # models: that of all arms after, and the prior
    spare: Floats  # models
    shares: Floats  # arms: their part in the sum


def grid_of(means: Floats, prior: Floats, scale: RewardScale) -> Grid:
    """Return the grid of these models (models x arms); a prior has the logarithms of weights."""
    columns = np.array(means.T, order="C")
    if scale.gaussian:
        variance = scale.sigma**2
        no_walls = np.empty((0, 3), np.int64)
        return Grid(columns / variance, -0.5 * columns * columns / variance, prior, no_walls)
    shares = columns  # and then the logarithms of misses: fresh memory takes as long as arithmetic
    shares -= scale.bottom
    shares /= scale.width
    places = np.flatnonzero((shares <= 0.0) | (shares >= 1.0))
    at_walls = shares.ravel()[places]
    shares.ravel()[places] = 0.5  # so that no logarithm is one of nothing
    hit = np.log(shares)
    miss = np.log1p(np.negative(shares, out=shares), out=shares)
    hit.ravel()[places] = np.where(at_walls == 1.0, 0.0, -math.inf)
    miss.ravel()[places] = np.where(at_walls == 0.0, 0.0, -math.inf)
    excluded = HITS * (at_walls != 1.0) + MISSES * (at_walls != 0.0)
    walls = np.stack([*np.divmod(places, len(means)), excluded], axis=1)
    return Grid(hit, miss, prior, walls)


@compilable
def fresh_grid_memory(arms: int, models: int) -> GridMemory:
    """Return the memory for looks."""
    return GridMemory(
        np.zeros((arms, models)),
        np.zeros((arms + 1, models)),
        np.zeros(models),
        np.zeros(models),
        np.zeros(arms),
    )


@compilable
def write_own(
    grid: Grid, arm: int, first: float, second: float, own: Floats, spare: Floats
) -> None:
    """Write the log-likelihoods of one arm's rewards; of what was not seen a mean of 0 or 1 says 0."""
    own[:] = 0.0
    if first != 0.0:
        np.multiply(grid.per_hit[arm], first, own)
    if second != 0.0:
        np.multiply(grid.per_miss[arm], second, spare)
        np.add(own, spare, own)


@compilable
def log_one_arm_off(
    grid: Grid, first: Floats, second: Floats, mixed: Floats, memory: GridMemory
) -> float:
    """Return the logarithm of the mixture of "model i is right but for arm k" over all i and k.

    The likelihood of the other arms is summed over them, before and after k: taking arm k off the whole
    would be the difference of infinities where a model excludes what arm k paid. Afterwards the last
    row of `before` has the log-likelihoods of the models, and `shares` the part of each arm.
    """
    arms = len(mixed)
    for arm in range(arms):
        write_own(grid, arm, first[arm], second[arm], memory.own[arm], memory.spare)
        np.add(memory.before[arm], memory.own[arm], memory.before[arm + 1])
    memory.after[:] = grid.prior
    peak = -math.inf
    for place in range(arms):
        arm = arms - 1 - place
        terms = memory.own[arm]
        np.add(memory.before[arm], memory.after, memory.spare)
        np.add(memory.after, terms, memory.after)
        np.add(memory.spare, mixed[arm], terms)
        peak = max(peak, terms.max())
    if peak == -math.inf:
        memory.shares[:] = 0.0
        return peak
    total = 0.0
    for arm in range(arms):
        terms = memory.own[arm]
        np.subtract(terms, peak, terms)
        np.exp(terms, terms)
        memory.shares[arm] = terms.sum()
        total += memory.shares[arm]
    for arm in range(arms):
        memory.shares[arm] /= total
    return peak + math.log(total / arms)
