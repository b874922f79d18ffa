"""How likely each part of a curve of models is: integrals of the likelihood over straight lines.

On a part every mean is affine in a position from 0 to 1, so the logarithm of the likelihood is concave
there. Its mass is found from the position where it is highest: what lies more than e^-42 below is left
out, and a Gauss-Legendre rule of 32 points serves each side. The logarithms of masses are right to
about 1e-10, after a million pulls too (docs/notes/mathematics.md 2.17).

As in `posterior` a reward counts as hits and misses, and as sum and number where rewards have no range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import Record
from structured_bandits.inference.draws import Drawn, Known, draw_from, next_uniform
from structured_bandits.inference.table_posterior import reward_counts
from structured_bandits.inference.weights import FAINTEST
from structured_bandits.protocols import Outcome

DEPTH = 42.0  # of the logarithm; what lies deeper has no weight in 16 digits
PANELS = 8  # into which a part is cut for a plan
CLOSE = 0.1  # how far below its highest value the logarithm may be where the two sides meet


class Panels(NamedTuple):
    """Memory for a list of stretches of models: how much weight, and which means of an arm."""

    logs: Floats
    low: Floats
    high: Floats


class CurveBelief(NamedTuple):
    """What is believed of the parts of a curve; weights up to a common factor."""

    logs: Floats  # logarithms of the parts' weights
    weights: Floats
    arms: Floats  # for each arm the weight of the parts in which it is best
    hits: Floats  # of each arm, times `scale`
    misses: Floats
    panels: Panels  # memory for plans


class _CurvePosterior(NamedTuple):
    prior: Floats  # logarithm of each part's weight, parts sorted by their best arm
    first: Floats  # parts x arms: means at position 0, scaled to [0, 1] if rewards have a range
    last: Floats  # and at position 1
    starts: Ints  # the parts of arm i are those from starts[i] to starts[i + 1]
    nodes: Floats  # of a quadrature rule on [0, 1]
    node_weights: Floats
    scale: float  # what a unit of evidence counts
    bottom: float  # the range of rewards
    top: float


class CurvePosterior(Record, _CurvePosterior):
    """A prior over the models of a curve, and what rewards say about them."""

    def __new__(
        cls,
        prior: Floats,
        first: Floats,
        last: Floats,
        best: Ints,
        scale: float,
        reward_range: tuple[float, float],
    ) -> CurvePosterior:
        """Sort the parts by their best arm."""
        order = np.argsort(best, kind="stable")
        nodes, node_weights = np.polynomial.legendre.leggauss(32)
        return super().__new__(
            cls,
            prior[order],
            np.ascontiguousarray(first[order]),
            np.ascontiguousarray(last[order]),
            np.searchsorted(best[order], np.arange(first.shape[1] + 1)).astype(np.int64),
            0.5 * (1.0 + nodes),
            0.5 * node_weights,
            scale,
            *reward_range,
        )

    def fresh_belief(self) -> CurveBelief:
        """Return what is believed before the first pull."""
        parts, arms = self.first.shape
        size = parts * (PANELS + 2)
        belief = CurveBelief(
            np.zeros(parts),
            np.zeros(parts),
            np.zeros(arms),
            np.zeros(arms),
            np.zeros(arms),
            Panels(np.zeros(size), np.zeros(size), np.zeros(size)),
        )
        weigh_parts(self, belief)
        return belief

    def take_in(self, belief: CurveBelief, outcome: Outcome) -> None:
        """Let the results of some pulls of one arm count."""
        hits, misses = reward_counts(outcome.pulls, outcome.total, self.bottom, self.top)
        belief.hits[outcome.arm] += self.scale * hits
        belief.misses[outcome.arm] += self.scale * misses
        weigh_parts(self, belief)

    def believe(self, belief: CurveBelief, data: Data) -> None:
        """Compute what is believed from all data, as if nothing had been learned before."""
        for arm in range(len(data.pulls)):
            hits, misses = reward_counts(data.pulls[arm], data.sums[arm], self.bottom, self.top)
            belief.hits[arm] = self.scale * hits
            belief.misses[arm] = self.scale * misses
        weigh_parts(self, belief)

    def draw_arm(self, belief: CurveBelief, known: Known, rng: np.random.Generator) -> Drawn:
        """Draw a model; return its best arm."""
        return draw_from(belief.arms, next_uniform(known, rng))


class Line(NamedTuple):
    """A part of a curve and what was seen."""

    first: Floats  # means at position 0
    last: Floats
    hits: Floats
    misses: Floats
    coins: bool  # are hits and misses counted, or sums and numbers?


class Hill(NamedTuple):
    """Where the likelihood on a part is worth a look, from `left` to `right`; highest about `top`."""

    left: float
    top: float
    right: float
    height: float  # its logarithm there


@compilable
def weigh_parts(posterior: CurvePosterior, belief: CurveBelief) -> None:
    """Compute the weights of all parts, relative to the largest, and those of the arms."""
    largest = -math.inf
    for part in range(len(belief.logs)):
        line = line_of(posterior, belief, part)
        belief.logs[part] = posterior.prior[part] + log_mass(
            line, posterior.nodes, posterior.node_weights
        )
        largest = max(largest, belief.logs[part])
    for arm in range(len(belief.arms)):
        weight = 0.0
        for part in range(posterior.starts[arm], posterior.starts[arm + 1]):
            log = belief.logs[part] - largest
            belief.weights[part] = math.exp(log) if log > FAINTEST else 0.0
            weight += belief.weights[part]
        belief.arms[arm] = weight


@compilable
def line_of(posterior: CurvePosterior, belief: CurveBelief, part: int) -> Line:
    """Return a part with what was seen."""
    coins = math.isfinite(posterior.bottom)
    return Line(posterior.first[part], posterior.last[part], belief.hits, belief.misses, coins)


@compilable
def log_likelihood(line: Line, x: float) -> float:
    """Return the logarithm of the likelihood at a position."""
    log = 0.0
    for arm in range(len(line.first)):
        if line.hits[arm] != 0.0 or line.misses[arm] != 0.0:
            mean = line.first[arm] + x * (line.last[arm] - line.first[arm])
            if line.coins:
                log += line.hits[arm] * math.log(mean) + line.misses[arm] * math.log1p(-mean)
            else:
                log += mean * (line.hits[arm] - 0.5 * line.misses[arm] * mean)
    return log


@compilable
def slope_at(line: Line, x: float) -> float:
    """Return the derivative of `log_likelihood`, which falls with x."""
    slope = 0.0
    for arm in range(len(line.first)):
        rise = line.last[arm] - line.first[arm]
        if rise != 0.0 and (line.hits[arm] != 0.0 or line.misses[arm] != 0.0):
            mean = line.first[arm] + x * rise
            if line.coins:
                slope += rise * (line.hits[arm] / mean - line.misses[arm] / (1.0 - mean))
            else:
                slope += rise * (line.hits[arm] - line.misses[arm] * mean)
    return slope


@compilable
def hill_of(line: Line) -> Hill:
    """Find where the likelihood is highest, roughly, and how far it is worth a look on both sides.

    By concavity the logarithm rises by at most slope times distance: halving stops when that is little.
    """
    left = 0.0
    right = 1.0
    slope = slope_at(line, 0.0)
    top = 0.0
    if slope > 0.0:
        slope = slope_at(line, 1.0)
        top = 1.0
        while slope < 0.0 and -slope * (top - left) > CLOSE:
            middle = 0.5 * (left + top)
            at_middle = slope_at(line, middle)
            if at_middle > 0.0:
                left = middle
            else:
                top = middle
                slope = at_middle
            if not left < 0.5 * (left + top) < top:
                break
    height = log_likelihood(line, top)
    return Hill(edge(line, top, 0.0, height), top, edge(line, top, right, height), height)


@compilable
def edge(line: Line, top: float, end: float, height: float) -> float:
    """Return the end, or a position before it where the logarithm is DEPTH to 1.5 DEPTH lower."""
    if log_likelihood(line, end) >= height - DEPTH:
        return end
    near = top
    far = end
    while True:
        middle = 0.5 * (near + far)
        fall = height - log_likelihood(line, middle)
        if middle in (near, far) or DEPTH <= fall <= 1.5 * DEPTH:
            return middle
        if fall < DEPTH:
            near = middle
        else:
            far = middle


@compilable
def log_mass(line: Line, nodes: Floats, node_weights: Floats) -> float:
    """Return the logarithm of the likelihood's integral over a part."""
    hill = hill_of(line)
    mass = mass_between(line, hill, hill.left, hill.top, nodes, node_weights)
    mass += mass_between(line, hill, hill.top, hill.right, nodes, node_weights)
    return hill.height + math.log(mass)


@compilable
def mass_between(
    line: Line, hill: Hill, left: float, right: float, nodes: Floats, node_weights: Floats
) -> float:
    """Return the integral between two positions on one side of the top, relative to the height."""
    mass = 0.0
    if left < right:
        for node in range(len(nodes)):
            x = left + nodes[node] * (right - left)
            mass += node_weights[node] * math.exp(log_likelihood(line, x) - hill.height)
    return (right - left) * mass
