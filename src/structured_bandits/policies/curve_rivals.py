"""The leading model of a curve, its rivals, and what a pull of each arm costs and tells against them.

As on a table (`rivals`), with integrals in place of sums: the models of a line are represented by places
of a quadrature rule on both sides of its likeliest model, whose weights are the posterior masses around
them (`inference.curve_sets`). Model 0 is the leader, the likeliest model of all, without a weight.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.kl import coin_divergence
from structured_bandits.base.records import Record
from structured_bandits.inference.curve_sets import (
    FAINT,
    CurveLogs,
    CurveSets,
    curve_sets,
    edge_of,
    ends_of_line,
    last_above,
    log_mixture_seen,
    reaches,
    renew,
    slope_on,
    write_counts,
)
from structured_bandits.inference.lines import cut_at_floor, shares_of
from structured_bandits.structures.curves.cells import between
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Rewards

LEADER = 0


class _CurveModels(NamedTuple):
    sets: CurveSets


class CurveModels(Record, _CurveModels):
    """What the models of a curve say of rewards and arms."""

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.sets.first.shape[1]


def curve_models(lines: ModelLines, log_prior: Floats, rewards: Rewards) -> CurveModels:
    """Return what the models of a curve say; means in a range are at least a floor from its ends."""
    if math.isfinite(rewards.bottom):
        lines, log_prior = cut_at_floor(lines, log_prior, rewards)
        width = rewards.top - rewards.bottom
        first, last = (rewards.bottom + width * shares_of(end, rewards) for end in lines[:2])
        lines = lines._replace(first=first, last=last)
    return CurveModels(curve_sets(lines, log_prior, rewards))


class Places(NamedTuple):
    """The models that stand for the curve after some rewards: those of the places, and the leader."""

    means: Floats  # models x arms
    gaps: Floats  # models x arms: how far an arm is below the model's best mean
    best: Ints
    bottom: float  # of the range of rewards; -inf if they have none
    width: float
    sigma: float


class CurveExpectations(NamedTuple):
    """Memory for the posterior and what is expected under it."""

    weights: Floats  # of each place; their sum is 1
    regret: Floats  # expected, of a pull of each arm
    information: Floats  # about the rivals of a leader, expected of a pull of each arm
    places: Places
    lines: CurveLogs
    total: Floats  # one number: log N


def fresh_places(models: CurveModels) -> CurveExpectations:
    """Return memory for a belief."""
    lines, arms = models.sets.first.shape
    count = 1 + 2 * len(models.sets.nodes) * lines
    scale = models.sets.scale
    places = Places(
        np.zeros((count, arms)),
        np.zeros((count, arms)),
        np.zeros(count, np.int64),
        -math.inf if scale.gaussian else scale.bottom,
        scale.width,
        scale.sigma,
    )
    return CurveExpectations(
        np.zeros(count),
        np.zeros(arms),
        np.zeros(arms),
        places,
        models.sets.fresh_logs(),
        np.zeros(1),
    )


def places_of(models: CurveModels, belief: CurveExpectations) -> Places:
    """Return the places that stand for a curve."""
    return belief.places


def weigh_places(models: CurveModels, data: Data, pending: Ints, belief: CurveExpectations) -> int:
    """Write the weights of the places, from all data anew; return the leader.

    A pull whose reward is pending counts as a reward of the mean that the likeliest model says.
    """
    sets, lines = models.sets, belief.lines
    renew(lines)
    write_counts(sets, data, lines.counts)
    belief.total[0] = log_mixture_seen(sets, lines)
    if pending.any():
        expect_pending(sets, pending, lines)
        renew(lines)
        belief.total[0] = log_mixture_seen(sets, lines)
    write_places(models, math.inf, belief)
    return LEADER


@compilable
def expect_pending(sets: CurveSets, pending: Ints, lines: CurveLogs) -> None:
    """Add pending pulls to what was seen, as the likeliest model expects them."""
    line = likeliest_line(lines)
    x = lines.places[line]
    for arm in range(len(pending)):
        if pending[arm] > 0 and not sets.silent[arm]:
            mean = between(sets.first[line, arm], sets.last[line, arm], x)
            if sets.scale.gaussian:
                lines.counts.first[arm] += pending[arm] * mean
                lines.counts.second[arm] += pending[arm]
            else:
                share = (mean - sets.scale.bottom) / sets.scale.width
                lines.counts.first[arm] += pending[arm] * share
                lines.counts.second[arm] += pending[arm] * (1.0 - share)


@compilable
def likeliest_line(lines: CurveLogs) -> int:
    """Return the line with the likeliest model, the first of several."""
    choice = 0
    for line in range(1, len(lines.heights)):
        if lines.heights[line] > lines.heights[choice]:
            choice = line
    return choice


def keep_places(models: CurveModels, budget: float, belief: CurveExpectations) -> int:
    """Keep the models of the likelihood set of a budget; return the leader."""
    write_places(models, budget, belief)
    return LEADER


@compilable
def write_places(models: CurveModels, budget: float, belief: CurveExpectations) -> None:
    """Write the leader, and the places of all lines with the masses around them."""
    sets, lines, weights = models.sets, belief.lines, belief.weights
    leading = likeliest_line(lines)
    height = lines.heights[leading]
    write_place(sets, belief.places, LEADER, leading, lines.places[leading])
    weights[:] = 0.0
    level = belief.total[0] - budget
    place = 1
    total = 0.0
    for line in range(len(sets.best)):
        light = lines.heights[line] + sets.log_prior[line] <= height - FAINT
        if light or not reaches(sets, line, level, lines):
            continue
        middle = lines.places[line]
        begin, end = ends_of_line(sets, line, lines)
        left, right = edge_of(sets, line, begin, lines), edge_of(sets, line, end, lines)
        if budget < math.inf:
            left = max(left, last_above(sets, line, begin, level, lines))
            right = min(right, last_above(sets, line, end, level, lines))
        for node in range(len(sets.nodes)):
            for far in (left, right):
                x = middle + sets.nodes[node] * (far - middle)
                log = slope_on(sets, line, x, lines).value + sets.log_prior[line] - height
                weights[place] = sets.node_weights[node] * abs(far - middle) * math.exp(log)
                total += weights[place]
                write_place(sets, belief.places, place, line, x)
                place += 1
    for each in range(place):
        weights[each] /= total


@compilable
def write_place(sets: CurveSets, places: Places, place: int, line: int, x: float) -> None:
    """Write the means of a model, and how far the arms are below its best one."""
    best = sets.best[line]
    highest = between(sets.first[line, best], sets.last[line, best], x)
    places.best[place] = best
    for arm in range(places.means.shape[1]):
        mean = between(sets.first[line, arm], sets.last[line, arm], x)
        places.means[place, arm] = mean
        places.gaps[place, arm] = max(highest - mean, 0.0)


def told_by_place(places: Places, arm: int, model: int, other: int) -> float:
    """Return what a pull of an arm tells against another model if this one is right, in nats."""
    one, two = places.means[model, arm], places.means[other, arm]
    if not math.isfinite(places.bottom):
        return (one - two) ** 2 / (2.0 * places.sigma**2)
    return coin_divergence(
        (one - places.bottom) / places.width, (two - places.bottom) / places.width
    )
