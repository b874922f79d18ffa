"""Likelihood sets on curves: lines of models on each of which the likelihood has one hill.

On a line every mean is affine in a position from 0 to 1, so the log-likelihood L is concave there:
the positions with L above a level are an interval about its highest place. Both are found by Newton's
method. The mixture N is the integral of prior times likelihood, by Gauss and Legendre on both sides of
each place, down to e^-42 of the height (its logarithm is right to about 1e-10). Nothing is floored: a
mean at an end of the range of rewards excludes whatever it calls impossible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable, compiled_as
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.likelihood_sets import NO_ARM, LikelihoodSets
from structured_bandits.inference.misfit.max_likelihood import (
    Slope,
    possible_part,
    slope_at,
)
from structured_bandits.inference.misfit.reward_likelihood import (
    Counts,
    RewardScale,
    reward_counts,
    reward_scale,
)
from structured_bandits.structures.curves.cells import TIE, between
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Rewards

DEPTH = 42.0  # of the logarithm below its height; what lies deeper has no weight in 16 digits
FAINT = 40.0  # a line that is so much lower than another has no weight in N
STEPS = 200  # of Newton's method or halvings; some ten are enough
CLOSE = 1e-14  # what is left to the highest log-likelihood
ROUNDING = 2.0**-52


class CurveLogs(NamedTuple):
    """Memory: what was seen of each arm, and the highest log-likelihood on each line and its place.

    The places are where the next search begins. Where nothing is kept from look to look, heights are
    infinite before it: any line may be high. See `renew`.
    """

    counts: Counts
    heights: Floats
    places: Floats
    current: Flags  # lines whose heights are those of these counts


class _CurveSets(NamedTuple):
    first: Floats  # lines x arms: means at position 0
    last: Floats  # and at position 1
    best: Ints  # the best arm of each line
    log_prior: Floats  # of each line, spread evenly over it
    silent: Flags  # arms on which all models agree: their rewards say nothing
    nodes: Floats  # of a quadrature rule on [0, 1]
    node_weights: Floats
    scale: RewardScale


class CurveSets(Record, LikelihoodSets, _CurveSets):
    """The models of a curve, and what rewards say about them."""

    def fresh_logs(self) -> CurveLogs:
        """Return the memory of a look."""
        lines, arms = self.first.shape
        counts = Counts(np.zeros(arms), np.zeros(arms))
        heights, places = np.full(lines, math.inf), np.full(lines, 0.5)
        return CurveLogs(counts, heights, places, np.zeros(lines, np.bool_))

    def arm_in_set(self, data: Data, budget: float, logs: CurveLogs) -> int:
        """Return the best arm where the highest best mean is approached in the set.

        Means that were found from positions count as equal if they differ by rounding alone.
        """
        renew(logs)
        return most_optimistic_line(self, data, budget, logs)

    def arms_in_set(self, data: Data, budget: float, logs: CurveLogs, found: Flags) -> bool:
        """Mark the best arms of the lines that reach above the level of the set."""
        renew(logs)
        least = log_mixture_of_lines(self, data, logs) - budget
        found[:] = False
        anyone = False
        for line in range(len(self.best)):
            if reaches(self, line, least, logs):
                found[self.best[line]] = True
                anyone = True
        return anyone


def curve_sets(lines: ModelLines, log_prior: Floats, rewards: Rewards) -> CurveSets:
    """Return the sets for lines of models, with the logarithm of each line's prior weight."""
    nodes, node_weights = np.polynomial.legendre.leggauss(32)
    means = np.concatenate([lines.first, lines.last])
    return CurveSets(
        np.ascontiguousarray(lines.first),
        np.ascontiguousarray(lines.last),
        np.ascontiguousarray(lines.best),
        log_prior,
        (means == means[0]).all(axis=0),
        0.5 * (1.0 + nodes),
        0.5 * node_weights,
        reward_scale(rewards.bottom, rewards.top, rewards.sigma, lambda: np.empty((0, 2))),
    )


@compilable
def write_counts(sets: CurveSets, data: Data, counts: Counts) -> None:
    """Write what was seen of each arm, nothing of arms on which all models agree."""
    for arm in range(len(data.pulls)):
        first, second = 0.0, 0.0
        if data.pulls[arm] > 0 and not sets.silent[arm]:
            first, second = reward_counts(sets.scale, data.pulls[arm], data.sums[arm])
        counts.first[arm] = first
        counts.second[arm] = second


@compilable
def renew(logs: CurveLogs) -> None:
    """Forget how high the lines were: nothing is known of them but where to look first."""
    for line in range(len(logs.heights)):
        logs.heights[line] = math.inf


@compilable
def most_optimistic_line(sets: CurveSets, data: Data, budget: float, logs: CurveLogs) -> int:
    """Return the best arm where the highest best mean is approached in the set.

    What is noted of the lines may be of these data or of earlier ones, to which rewards have been added.
    """
    least = log_mixture_of_lines(sets, data, logs) - budget
    chosen = NO_ARM
    highest = -math.inf
    for line in range(len(sets.best)):
        if reaches(sets, line, least, logs):
            arm = int(sets.best[line])
            mean = highest_mean(sets, line, least, logs)
            if chosen == NO_ARM or mean > highest + TIE:
                highest = mean
                chosen = arm
            elif mean >= highest - TIE and arm < chosen:
                chosen = arm
    return chosen


@compilable
def log_mixture_of_lines(sets: CurveSets, data: Data, logs: CurveLogs) -> float:
    """Write the highest log-likelihoods of lines, all that count for N; return log N.

    More rewards in a range make no model likelier, so what is noted of earlier data bounds the heights:
    a line that was so low that it cannot count is left as it is, for `reaches` to look at.
    """
    write_counts(sets, data, logs.counts)
    return log_mixture_seen(sets, logs)


@compilable
def log_mixture_seen(sets: CurveSets, logs: CurveLogs) -> float:
    """Do so for the counts that are noted."""
    height = -math.inf
    for line in range(len(sets.best)):
        logs.current[line] = False
        if sets.scale.gaussian or logs.heights[line] + sets.log_prior[line] > height - FAINT:
            find_height(sets, line, logs)
        height = max(height, logs.heights[line] + sets.log_prior[line])
    if height == -math.inf:  # rewards that are impossible in all models
        return height
    total = 0.0
    for line in range(len(sets.best)):
        above = logs.heights[line] + sets.log_prior[line] - height
        if above > -FAINT:
            total += math.exp(above) * mass_of(sets, line, logs)
    return height + math.log(total)


@compilable
def find_height(sets: CurveSets, line: int, logs: CurveLogs) -> None:
    """Write the highest log-likelihood of a line, and its place."""
    x = highest_place(sets, line, logs)
    logs.current[line] = True
    logs.heights[line] = -math.inf
    if x >= 0.0:
        logs.places[line] = x
        logs.heights[line] = slope_on(sets, line, x, logs).value


@compilable
def reaches(sets: CurveSets, line: int, least: float, logs: CurveLogs) -> bool:
    """Is the log-likelihood above a level anywhere on a line?"""
    if logs.heights[line] > least and not logs.current[line]:
        find_height(sets, line, logs)
    return bool(logs.heights[line] > least)


@compilable
def slope_on(sets: CurveSets, line: int, x: float, logs: CurveLogs) -> Slope:
    """Return the log-likelihood at a position on a line, with its derivatives."""
    return slope_at(sets.scale, sets.first[line], sets.last[line], logs.counts, x)


@compilable
def ends_of_line(sets: CurveSets, line: int, logs: CurveLogs) -> tuple[float, float]:
    """Return the positions between which no mean of a pulled arm is out of the range of rewards."""
    if sets.scale.gaussian:
        return 0.0, 1.0
    return possible_part(sets.scale, sets.first[line], sets.last[line], logs.counts)


@compilable
def highest_place(sets: CurveSets, line: int, logs: CurveLogs) -> float:
    """Return where the log-likelihood is highest on a line; -1 if all of it is impossible.

    By Newton's method between positions where it rises and where it falls, and by halving where a step
    would leave these. At an end of what is possible it may be -inf; there it rises inwards.
    """
    begin, end = ends_of_line(sets, line, logs)
    if begin > end:
        return -1.0
    at_begin, at_end = slope_on(sets, line, begin, logs), slope_on(sets, line, end, logs)
    if at_begin.value > -math.inf and at_begin.rise <= 0.0:
        return begin
    if at_end.value > -math.inf and at_end.rise >= 0.0:
        return end
    rising, falling = begin, end
    x = logs.places[line] if begin < logs.places[line] < end else 0.5 * (begin + end)
    for _ in range(STEPS):
        here = slope_on(sets, line, x, logs)
        if here.rise > 0.0:
            rising = x
        else:
            falling = x
        if here.rise * here.rise <= CLOSE * -here.bend:
            return x
        step = x - here.rise / here.bend
        x = step if rising < step < falling else 0.5 * (rising + falling)
        if not rising < x < falling:
            break
    if slope_on(sets, line, x, logs).value == -math.inf:
        return -1.0
    return x


@compilable
def last_above(sets: CurveSets, line: int, end: float, level: float, logs: CurveLogs) -> float:
    """Return how far from its highest place, towards an end, a line's log-likelihood is above a level.

    By Newton's method from outside: the tangent of a concave function never leads too far.
    """
    at_end = slope_on(sets, line, end, logs)
    if at_end.value > level:
        return end
    near, far = logs.places[line], end
    x = far if at_end.value > -math.inf else 0.5 * (near + far)
    for _ in range(STEPS):
        here = slope_on(sets, line, x, logs)
        if here.value > level:
            near = x
        else:
            far = x
        middle = 0.5 * (near + far)
        if here.value > -math.inf and here.rise != 0.0:
            step = x - (here.value - level) / here.rise
            if abs(step - x) <= ROUNDING * abs(x):
                return x
            if min(near, far) < step < max(near, far):
                middle = step
        if middle in (near, far):
            return middle
        x = middle
    return x


@compilable
def edge_of(sets: CurveSets, line: int, end: float, logs: CurveLogs) -> float:
    """Return an end, or a position before it where the log-likelihood is DEPTH to 1.5 DEPTH lower."""
    height = logs.heights[line]
    if slope_on(sets, line, end, logs).value >= height - DEPTH:
        return end
    near, far = logs.places[line], end
    while True:
        middle = 0.5 * (near + far)
        fall = height - slope_on(sets, line, middle, logs).value
        if middle in (near, far) or DEPTH <= fall <= 1.5 * DEPTH:
            return middle
        if fall < DEPTH:
            near = middle
        else:
            far = middle


def mass_by_nodes(sets: CurveSets, line: int, logs: CurveLogs) -> float:
    """Return `mass_of`, node by node."""
    height, place = logs.heights[line], logs.places[line]
    begin, end = ends_of_line(sets, line, logs)
    left, right = edge_of(sets, line, begin, logs), edge_of(sets, line, end, logs)
    mass = 0.0
    for node in range(len(sets.nodes)):
        share, weight = sets.nodes[node], sets.node_weights[node]
        below = slope_on(sets, line, place + share * (left - place), logs).value
        above = slope_on(sets, line, place + share * (right - place), logs).value
        mass += weight * (place - left) * math.exp(below - height)
        mass += weight * (right - place) * math.exp(above - height)
    return mass


@compiled_as(mass_by_nodes)
def mass_of(sets: CurveSets, line: int, logs: CurveLogs) -> float:
    """Return the integral of the likelihood over a line, relative to its highest place."""
    height, place = float(logs.heights[line]), float(logs.places[line])
    begin, end = ends_of_line(sets, line, logs)
    left, right = edge_of(sets, line, begin, logs), edge_of(sets, line, end, logs)
    steps = np.array([[left - place], [right - place]])
    values = log_likelihoods_on(sets, line, place + sets.nodes * steps, logs.counts)
    return float((np.abs(steps) * sets.node_weights * np.exp(values - height)).sum())


def log_likelihoods_on(sets: CurveSets, line: int, places: Floats, counts: Counts) -> Floats:
    """Return the log-likelihoods at many positions on a line; in plain Python."""
    seen = np.flatnonzero((counts.first != 0.0) | (counts.second != 0.0))
    first, last = sets.first[line, seen], sets.last[line, seen]
    means = first + places[..., None] * (last - first)
    ones, zeros = counts.first[seen], counts.second[seen]
    if sets.scale.gaussian:
        return ((ones - 0.5 * zeros * means) * means).sum(axis=-1) / sets.scale.sigma**2
    shares = ((means - sets.scale.bottom) / sets.scale.width).clip(0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(ones > 0.0, ones * np.log(shares), 0.0)
        misses = np.where(zeros > 0.0, zeros * np.log1p(-shares), 0.0)
    return (hits + misses).sum(axis=-1)


@compilable
def highest_mean(sets: CurveSets, line: int, least: float, logs: CurveLogs) -> float:
    """Return the supremum of a line's best mean where the log-likelihood is above a level."""
    arm = sets.best[line]
    first, last = sets.first[line, arm], sets.last[line, arm]
    if first == last:
        return first
    begin, end = ends_of_line(sets, line, logs)
    x = last_above(sets, line, end if last > first else begin, least, logs)
    return between(first, last, x)
