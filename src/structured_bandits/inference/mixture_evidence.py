"""How much speaks for the best arm of the likeliest model: the mixture against its likeliest rival.

A rival of arm b is a model in which another arm is better than b, by more than an epsilon. For tables,
curves and products (`evidence`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import Data
from structured_bandits.inference.curve_sets import (
    CurveLogs,
    CurveSets,
    ends_of_line,
    log_mixture_of_lines,
    reaches,
    renew,
    slope_on,
)
from structured_bandits.inference.likelihood_sets import TableSets, write_log_likelihoods
from structured_bandits.inference.product_sets import (
    NO_MODEL_LEFT,
    CurveDeficits,
    Deficit,
    ProductSets,
    TableDeficits,
)

HALVINGS = 40  # of a range of means; what is left is counted for the rival
SLACK = 1e-4  # nats that may be counted for the rival: without it very many small parts are left


def _against(total: float, rival: float) -> float:
    """Return the log-evidence against the likeliest rival."""
    if total == -math.inf:  # rewards that are impossible in all models
        return 0.0
    return total - rival


def written(sets: CurveSets, data: Data, logs: CurveLogs) -> float:
    """Write the heights of all lines; return log N."""
    renew(logs)
    total = log_mixture_of_lines(sets, data, logs)
    for line in range(len(sets.best)):
        reaches(sets, line, -math.inf, logs)
    return total


class Placed(NamedTuple):
    """A model on a line, and its log-likelihood."""

    line: int
    x: float
    log_likelihood: float


def highest_with_lead(
    sets: CurveSets, line: int, arm: int, epsilon: float, logs: CurveLogs
) -> Placed | None:
    """Return the likeliest model of a line in which its best arm leads `arm` by more than epsilon.

    None if it does so nowhere on the line.
    """
    best = sets.best[line]
    first = float(sets.first[line, best] - sets.first[line, arm])
    last = float(sets.last[line, best] - sets.last[line, arm])
    if max(first, last) <= epsilon:
        return None
    begin, end = ends_of_line(sets, line, logs)
    if min(first, last) <= epsilon:
        x = (epsilon - first) / (last - first)
        begin, end = (max(begin, x), end) if last > first else (begin, min(end, x))
    if begin > end or logs.heights[line] == -math.inf:
        return None
    x = min(max(float(logs.places[line]), begin), end)
    return Placed(line, x, slope_on(sets, line, x, logs).value)


class Lead(NamedTuple):
    """The likeliest model, its best arm, and the likeliest rivals, the likeliest of all first."""

    means: Floats
    arm: int
    log_evidence: float
    rivals: list[Floats]


def lead_on_table(sets: TableSets, data: Data, epsilon: float, arm: int | None = None) -> Lead:
    """Return what leads on a table, and the likeliest rival of its best arm, or of another arm."""
    logs = sets.fresh_logs()
    total = write_log_likelihoods(sets, data, logs)
    leader = int(logs.argmax())
    arm = int(sets.best[leader]) if arm is None else arm
    rivals = np.flatnonzero(sets.value - sets.means[:, arm] > epsilon)
    if not len(rivals):
        return Lead(sets.means[leader], arm, math.inf, [])
    rival = int(rivals[logs[rivals].argmax()])
    return Lead(sets.means[leader], arm, _against(total, float(logs[rival])), [sets.means[rival]])


def lead_on_curve(sets: CurveSets, data: Data, epsilon: float, arm: int | None = None) -> Lead:
    """Return what leads on a curve; on each line the likeliest rival of its best arm, or another."""
    logs = sets.fresh_logs()
    total = written(sets, data, logs)
    line = int(logs.heights.argmax())
    arm = int(sets.best[line]) if arm is None else arm
    found = [
        place
        for other in range(len(sets.best))
        if sets.best[other] != arm
        and (place := highest_with_lead(sets, other, arm, epsilon, logs)) is not None
    ]
    means = _means_at(sets, line, float(logs.places[line]))
    if not found:
        return Lead(means, arm, math.inf, [])
    found.sort(key=lambda each: -each.log_likelihood)
    evidence = _against(total, found[0].log_likelihood)
    return Lead(means, arm, evidence, [_means_at(sets, each.line, each.x) for each in found])


def _means_at(sets: CurveSets, line: int, x: float) -> Floats:
    return sets.first[line] + x * (sets.last[line] - sets.first[line])


def lead_on_product(sets: ProductSets, data: Data, epsilon: float, arm: int | None = None) -> Lead:
    """Return what leads on a product, and the likeliest rival of its best arm, or of another arm."""
    groups = sets.deficits(data, sets.fresh_logs())
    leading = [group.likeliest() for group in groups]
    if arm is None:
        own = int(np.argmax([each.value for each in leading]))
        arm = leading[own].arm
    else:
        own = int(np.searchsorted(sets.starts, arm, side="right")) - 1
        arm = arm - sets.starts[own]
    whole = sum(each.deficit for each in leading)
    models = [each.means for each in leading]
    means = np.concatenate(models)
    if whole == math.inf:  # rewards that are impossible in all models
        return Lead(means, sets.starts[own] + arm, 0.0, [])
    rest = whole - leading[own].deficit
    rival = groups[own].least_rival(arm, epsilon)
    best = rest + rival.deficit, {own: rival.means}
    for number, group in enumerate(groups):
        if number != own:
            low, high = least_above(groups[own], arm, group, epsilon)
            deficit = rest - leading[number].deficit + low.deficit + high.deficit
            if deficit < best[0]:
                best = deficit, {own: low.means, number: high.means}
    if best[0] == math.inf:
        return Lead(means, sets.starts[own] + arm, math.inf, [])
    against = [best[1].get(number, each) for number, each in enumerate(models)]
    return Lead(means, sets.starts[own] + arm, best[0], [np.concatenate(against)])


def least_above(
    own: TableDeficits | CurveDeficits,
    arm: int,
    other: TableDeficits | CurveDeficits,
    epsilon: float,
) -> tuple[Deficit, Deficit]:
    """Return the models of two groups with the least deficits in which the other is better than an arm.

    With m between the two, the least deficit of the models with a mean of the arm of at most m falls
    with m, and that of the other group's models with a best mean above m rises. What is left undecided
    counts as possible, so the sum is rather too small.
    """
    low = min(own.mean_range(arm)[0], other.value_range()[0] - epsilon)
    high = max(own.mean_range(arm)[1], other.value_range()[1] - epsilon)
    best = math.inf
    found = NO_MODEL_LEFT, NO_MODEL_LEFT
    parts = [(low, high, 0)]
    while parts:
        left, right, depth = parts.pop()
        one, two = own.least_with_mean(arm, right), other.least_above(left + epsilon)
        if one.deficit + two.deficit >= best - SLACK:
            continue
        if depth == HALVINGS:
            best, found = one.deficit + two.deficit, (one, two)
            continue
        for m in (left, right):
            one, two = own.least_with_mean(arm, m), other.least_above(m + epsilon)
            if one.deficit + two.deficit < best:
                best, found = one.deficit + two.deficit, (one, two)
        middle = 0.5 * (left + right)
        parts += [(left, middle, depth + 1), (middle, right, depth + 1)]
    return found[0]._replace(deficit=found[0].deficit - SLACK), found[1]
