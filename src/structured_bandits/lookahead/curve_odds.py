"""Thinned plans on curves: how long the odds against a leader stay low (docs/notes/lookahead.md 20.4).

As for tables (`table_odds`), with panels in place of models: each part of a curve on which another
arm is best is cut into stretches of positions. A stretch has a mass now, and after o hits and z misses
of the leader at most that mass times the largest likelihood that a mean of the stretch gives them. The
logarithm of that is a maximum of affine functions of (o, z), hence convex, and the corners of what may
come bound the odds once more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.inference.curve_posterior import (
    DEPTH,
    PANELS,
    CurveBelief,
    CurvePosterior,
    Panels,
    hill_of,
    line_of,
    log_likelihood,
    mass_between,
)
from structured_bandits.inference.draws import Drawn
from structured_bandits.lookahead.convex_condition import Reach
from structured_bandits.lookahead.table_odds import (
    MOST_LOG,
    MOST_ODDS,
    NO_PLAN,
    OddsReach,
    PlanMemory,
    margin,
    miss_share,
    note_plan,
    rests,
    worth_a_plan,
)

INTEGRAL_MARGIN = 1.0 + 1e-8  # masses are right to 1e-10
NEGLIGIBLE = 1e-14  # of the leader's weight: such a part of it may be left out
GROWTH = 4  # by which a plan is longer than the last one, if it is not all


class Own(NamedTuple):
    """The mean evidence of the leader's models, and the logarithm of their weight."""

    per_hit: float
    per_miss: float
    log_weight: float


def curve_reach(
    posterior: CurvePosterior,
    belief: CurveBelief,
    memory: PlanMemory,
    drawn: Drawn,
    data: Data,
    limit: int,
) -> OddsReach:
    """Return how long the odds against the leader, which was drawn, stay low."""
    arm = drawn.arm
    if rests(memory, arm):
        return NO_PLAN
    own = own_evidence(posterior, belief, arm)
    size = cut_threats(posterior, belief, arm)
    share = miss_share(data, arm, posterior.bottom, posterior.top)
    aim = worth_a_plan(drawn.odds, memory, arm, limit)
    found = NO_PLAN
    length = limit - 1
    while length > 0:
        misses = int(share * length)
        odds = panel_odds(belief.panels, size, own, posterior.scale, length, misses)
        if odds <= 2.0 * aim or odds * length <= 0.5:
            bound = max(drawn.odds, odds) * margin(length) * INTEGRAL_MARGIN
            if bound <= MOST_ODDS:
                found = OddsReach(Reach(length, misses), bound)
            break
        length = min(length // 2, GROWTH * memory.lengths[arm] + 16)
    note_plan(memory, arm, found.reach)
    return found


@compilable
def own_evidence(posterior: CurvePosterior, belief: CurveBelief, arm: int) -> Own:
    """Return what a hit and a miss of `arm` say, in the mean, about the models in which it is best."""
    hit = 0.0
    miss = 0.0
    weight = 0.0
    for part in range(posterior.starts[arm], posterior.starts[arm + 1]):
        if belief.weights[part] > NEGLIGIBLE * belief.arms[arm]:
            of_hit, of_miss = mean_evidence(posterior, belief, part, arm)
            hit += belief.weights[part] * of_hit
            miss += belief.weights[part] * of_miss
            weight += belief.weights[part]
    return Own(hit / weight, miss / weight, math.log(weight))


@compilable
def mean_evidence(
    posterior: CurvePosterior, belief: CurveBelief, part: int, arm: int
) -> tuple[float, float]:
    """Return the posterior means of log mu and log(1 - mu) on a part, mu the mean of `arm`."""
    line = line_of(posterior, belief, part)
    first, rise = line.first[arm], line.last[arm] - line.first[arm]
    if rise == 0.0:
        return math.log(first), math.log1p(-first)
    hill = hill_of(line)
    hit = 0.0
    miss = 0.0
    total = 0.0
    for side in range(2):
        end = hill.left if side == 0 else hill.right
        for node in range(len(posterior.nodes)):
            x = hill.top + posterior.nodes[node] * (end - hill.top)
            height = math.exp(log_likelihood(line, x) - hill.height)
            mass = abs(end - hill.top) * posterior.node_weights[node] * height
            hit += mass * math.log(first + x * rise)
            miss += mass * math.log1p(-(first + x * rise))
            total += mass
    return hit / total, miss / total


@compilable
def cut_threats(posterior: CurvePosterior, belief: CurveBelief, arm: int) -> int:
    """List the stretches on which another arm is best; return how many there are."""
    largest = -math.inf  # weights are relative to it
    for part in range(len(belief.logs)):
        largest = max(largest, belief.logs[part])
    size = 0
    for part in range(len(belief.logs)):
        if posterior.starts[arm] <= part < posterior.starts[arm + 1]:
            continue
        if posterior.first[part, arm] == posterior.last[part, arm]:
            mean = posterior.first[part, arm]
            size = note_panel(belief.panels, size, belief.logs[part] - largest, mean, mean)
        else:
            size = cut_part(posterior, belief, part, arm, largest, size)
    return size


@compilable
def cut_part(
    posterior: CurvePosterior, belief: CurveBelief, part: int, arm: int, largest: float, size: int
) -> int:
    """List the stretches of a part; beyond the hill the likelihood is at most what it is at its edge."""
    line = line_of(posterior, belief, part)
    first, rise = line.first[arm], line.last[arm] - line.first[arm]
    hill = hill_of(line)
    prior = posterior.prior[part] - largest + hill.height
    for side in range(2):
        edge = hill.left if side == 0 else hill.right
        end = 0.0 if side == 0 else 1.0
        if edge != end:
            log = prior - DEPTH + math.log(abs(end - edge))
            size = note_panel(belief.panels, size, log, first + edge * rise, first + end * rise)
        for panel in range(PANELS // 2):
            one = hill.top + (edge - hill.top) * panel / (PANELS // 2)
            two = hill.top + (edge - hill.top) * (panel + 1) / (PANELS // 2)
            left, right = min(one, two), max(one, two)
            mass = mass_between(line, hill, left, right, posterior.nodes, posterior.node_weights)
            if mass > 0.0:
                log = prior + math.log(mass)
                size = note_panel(belief.panels, size, log, first + one * rise, first + two * rise)
    return size


@compilable
def note_panel(panels: Panels, size: int, log: float, one: float, two: float) -> int:
    """Add a stretch to the list; return the new length."""
    panels.logs[size] = log
    panels.low[size] = min(one, two)
    panels.high[size] = max(one, two)
    return size + 1


@compilable
def panel_odds(
    panels: Panels, size: int, own: Own, scale: float, length: int, misses: int
) -> float:
    """Return the most that the odds can be at the corners of what may come, other than now."""
    most = odds_at(panels, size, own, scale * length, 0.0)
    most = max(most, odds_at(panels, size, own, 0.0, scale * misses))
    return max(most, odds_at(panels, size, own, scale * (length - misses), scale * misses))


@compilable
def odds_at(panels: Panels, size: int, own: Own, hits: float, misses: float) -> float:
    """Return a bound on the odds after so many hits and misses.

    A likelihood of hits and misses is highest at the mean that is their share, or as near as may be.
    """
    if hits + misses == 0.0:
        return 0.0
    fall = own.log_weight + hits * own.per_hit + misses * own.per_miss
    odds = 0.0
    for panel in range(size):
        mean = min(max(hits / (hits + misses), panels.low[panel]), panels.high[panel])
        log = panels.logs[panel] + hits * math.log(mean) + misses * math.log1p(-mean) - fall
        odds += math.exp(min(log, MOST_LOG))
    return odds
