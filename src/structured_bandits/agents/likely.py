"""Which models make an agent's rewards likely, if one of them is right.

The likelihood is that of inference/likelihood.py: exact for rewards of 0 and 1 and for Gaussian ones, a
quasi-likelihood for other rewards in a range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import Data
from structured_bandits.inference.curve_posterior import Line, log_likelihood, slope_at
from structured_bandits.inference.likelihood import evidence_of
from structured_bandits.inference.lines import floor_parts, shares_of, whole_parts
from structured_bandits.inference.priors import checked_prior
from structured_bandits.inference.table_posterior import reward_counts
from structured_bandits.structures.base import Structure
from structured_bandits.structures.curves.cells import between
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.polyhedral.product import ProductStructure
from structured_bandits.structures.reward_ranges import Rewards

ROUNDED = 1e-12  # log-likelihoods that differ by no more, relatively, are equal


@dataclass(frozen=True)
class LikelyModel:
    """The most likely model of a curve; if there are several, the one with the lowest parameter.

    If the likelihood rises towards an end that does not belong to the curve, it is that end.
    """

    parameter: float
    means: tuple[float, ...]


def likely_models(
    structure: Structure | None, data: Data, rewards: Rewards | None, prior: Any
) -> Any:
    """Return how likely the models are, see `Agent.likely_models`; None if that cannot be said."""
    if structure is None or rewards is None:
        return None
    if isinstance(structure, FiniteStructure):
        return posterior_weights(structure, data, rewards, prior)
    if isinstance(structure, CurveStructure):
        return most_likely(structure, data, rewards) if data.pulls.any() else None
    if isinstance(structure, ProductStructure):
        groups = structure.groups
        ends = np.cumsum([0, *(group.n_arms for group in groups)])
        priors = [None] * len(groups) if prior is None else prior
        parts = [Data(data.pulls[a:b], data.sums[a:b]) for a, b in pairwise(ends)]
        return tuple(
            likely_models(group, part, rewards, own)
            for group, part, own in zip(groups, parts, priors, strict=True)
        )
    return None


def rewards_of(policy: Any) -> Rewards | None:
    """Return range and scale of a policy's rewards, None if it declares neither."""
    allowed, sigma = getattr(policy, "reward_range", None), getattr(policy, "sigma", None)
    if allowed is not None:
        return Rewards(0.5 * (allowed[1] - allowed[0]), *allowed)
    return None if sigma is None else Rewards(sigma, -math.inf, math.inf)


def posterior_weights(
    table: FiniteStructure, data: Data, rewards: Rewards, prior: Any
) -> dict[str, float]:
    """Return the posterior weights of the models of a table by name, the likeliest first."""
    evidence = evidence_of(table.cells.table, rewards)
    logs = checked_prior(table.prior if prior is None else prior, table.n_models)
    logs = logs + evidence.per_reward @ data.sums + evidence.per_pull @ data.pulls
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    order = np.argsort(-logs, kind="stable")
    return {table.model_names[model]: float(weights[model]) for model in order}


def most_likely(curve: CurveStructure, data: Data, rewards: Rewards) -> LikelyModel:
    """Return the most likely model of a curve, whatever its prior.

    Where no mean crosses the floor of probabilities, the log-likelihood is concave in the parameter.
    """
    (lines,) = curve.model_lines
    bounded = math.isfinite(rewards.bottom)
    counts = [
        reward_counts(pulls, total, rewards.bottom, rewards.top)
        for pulls, total in zip(data.pulls, data.sums, strict=True)
    ]
    hits, misses = (np.array(column, np.float64) for column in zip(*counts, strict=True))
    parts = floor_parts(lines, rewards) if bounded else whole_parts(len(lines.best))
    highest, cell, place = -math.inf, 0, 0.0
    for number, left, right in zip(*parts, strict=True):
        ends = [_means_at(lines.first[number], lines.last[number], x) for x in (left, right)]
        first, last = (shares_of(end, rewards) if bounded else end for end in ends)
        line = Line(first, last, hits, misses, bounded)
        x = summit(line)
        height = log_likelihood(line, x)
        if height > highest + ROUNDED * abs(height):
            highest, cell, place = height, int(number), between(left, right, x)
    parameter = between(curve.cells.start[cell], curve.cells.end[cell], place)
    means = _means_at(lines.first[cell], lines.last[cell], place)
    return LikelyModel(float(parameter), tuple(means.tolist()))


def summit(line: Line) -> float:
    """Return the position at which the log-likelihood is highest, the lowest if there are several."""
    if slope_at(line, 0.0) <= 0.0:
        return 0.0
    if slope_at(line, 1.0) > 0.0:
        return 1.0
    left, right = 0.0, 1.0
    while left < (middle := 0.5 * (left + right)) < right:
        if slope_at(line, middle) > 0.0:
            left = middle
        else:
            right = middle
    return right


def _means_at(first: Floats, last: Floats, x: float) -> Floats:
    """Return the means at a position of a line, exact at both ends."""
    return last if x == 1.0 else first + x * (last - first)
