"""The Graves-Lai bound of linear arms with Gaussian rewards, as one cone program.

The least divergence of a confusing model that makes arm x best is Delta_x^2 / (2 sigma^2 q_x), where
q_x is the least sum of u_a^2 / eta_a over all ways to write x = sum of u_a a + v x*. So the allocation
eta is feasible if each x has such u with sum of u_a^2 / eta_a at most Delta_x^2 / (2 sigma^2).
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_above
from structured_bandits.errors import ParameterError
from structured_bandits.solvers.convex import least_over_cones
from structured_bandits.structures.base import Structure
from structured_bandits.theory.graves_lai import LowerBound
from structured_bandits.theory.truth import Truth


def cone_allocation(truth: Truth, sigma: float) -> LowerBound:
    """Return the Graves-Lai bound for Gaussian rewards, if arms are linear and without bounds.

    It has infinite pulls of an arm that ties with the best one.
    """
    sigma = checked_above("sigma", sigma, 0.0)
    features, gaps = linear_features(truth.structure), truth.gaps
    others = np.arange(len(gaps)) != truth.best_arm
    if not gaps[others].all():
        allocation = np.where(gaps == 0.0, math.inf, 0.0) * others
    else:
        allocation = np.zeros(len(gaps))
        allocation[others] = _cheapest(
            features[others], features[truth.best_arm], gaps[others], sigma
        )
    tied = not np.isfinite(allocation).all()
    constant = math.inf if tied else float(gaps @ allocation)
    return LowerBound("gaussian", constant, allocation, ())


def linear_features(structure: Structure) -> Floats:
    """Return the features of a linear structure without bounds; raise if it is none."""
    pieces = structure.polytopes
    bounded = any(np.isfinite([*piece.lower, *piece.upper]).any() for piece in pieces)
    if len(pieces) != 1 or bounded or pieces[0].intercepts.any():
        raise ParameterError(
            "method='cone': it needs linear arms without bounds, sb.linear(features, bounds=None)"
        )
    return pieces[0].slopes


def _cheapest(arms: Floats, best: Floats, gaps: Floats, sigma: float) -> Floats:
    """Return the cheapest pulls of the arms other than the best one."""
    matrix, right, (equations, limits) = _program(arms, best, gaps, sigma)
    cost = np.zeros(matrix.shape[1])
    cost[: len(gaps)] = gaps
    found = least_over_cones(
        cost, matrix, right, equations, limits, "Analysis.lower_bound(method='cone')"
    )
    return found[: len(gaps)]


def _program(
    arms: Floats, best: Floats, gaps: Floats, sigma: float
) -> tuple[Floats, Floats, tuple[int, int]]:
    """Return A and b of A z + s = b, s in the cones; z has eta, then u, t and v of each arm x.

    The cones: x is written by u and v; the sum of t is at most Delta_x^2 / (2 sigma^2); and u_a^2 <=
    t_a eta_a, which is |(t_a - eta_a, 2 u_a)| <= t_a + eta_a.
    """
    count, dimension = arms.shape
    width = 2 * count + 1
    matrix = np.zeros((count * (dimension + 1 + 3 * count), count + count * width))
    right = np.zeros(len(matrix))
    equations, limits = count * dimension, count * (dimension + 1)
    for x in range(count):
        u = count + x * width + np.arange(count)
        t, v = u + count, count + (x + 1) * width - 1
        rows = slice(x * dimension, (x + 1) * dimension)
        matrix[rows, u] = arms.T
        matrix[rows, v] = best
        right[rows] = arms[x]
        matrix[equations + x, t] = 1.0
        right[equations + x] = gaps[x] ** 2 / (2.0 * sigma**2)
        for arm in range(count):
            row = limits + 3 * (x * count + arm)
            matrix[[row, row + 1], t[arm]] = -1.0
            matrix[[row, row + 1], arm] = [-1.0, 1.0]
            matrix[row + 2, u[arm]] = -2.0
    return matrix, right, (equations, count)
