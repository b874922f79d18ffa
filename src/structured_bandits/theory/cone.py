"""The Graves-Lai bound of linear arms with Gaussian rewards, as one cone program (ALGORITHMS 4.3).

The least divergence of a confusing model that makes arm x best is Delta_x^2 / (2 sigma^2 q_x), where q_x
is the least sum of u_a^2 / eta_a over all ways to write x = sum of u_a a + v x*. So the allocation eta
is feasible if each x has such u with sum of u_a^2 / eta_a at most Delta_x^2 / (2 sigma^2).
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError, StructuredBanditsError
from structured_bandits.extras import needs
from structured_bandits.structures.base import Structure


def linear_features(structure: Structure) -> Floats:
    """Return the features of a linear structure without bounds; raise if it is none."""
    pieces = structure.polytopes
    bounded = any(np.isfinite([*piece.lower, *piece.upper]).any() for piece in pieces)
    if len(pieces) != 1 or bounded or pieces[0].intercepts.any():
        raise ParameterError(
            "method='cone': it needs linear arms without bounds, sb.linear(features, bounds=None)"
        )
    return pieces[0].slopes


def cone_bound(features: Floats, gaps: Floats, best_arm: int, sigma: float) -> Floats:
    """Return the cheapest allocation; infinite pulls of an arm that ties with the best one."""
    others = np.arange(len(gaps)) != best_arm
    if not gaps[others].all():
        return np.where(gaps == 0.0, math.inf, 0.0) * others
    with needs("Analysis.lower_bound(method='cone')", extra="cones"):
        import clarabel
        from scipy import sparse

    matrix, right, sizes = _program(features[others], features[best_arm], gaps[others], sigma)
    count = int(others.sum())
    cost = np.zeros(matrix.shape[1])
    cost[:count] = gaps[others]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
    cones = [clarabel.ZeroConeT(sizes[0]), clarabel.NonnegativeConeT(sizes[1])]
    cones += [clarabel.SecondOrderConeT(3)] * (count * count)
    nothing = sparse.csc_matrix((len(cost), len(cost)))
    found = clarabel.DefaultSolver(
        nothing, cost, sparse.csc_matrix(matrix), right, cones, settings
    ).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise StructuredBanditsError(f"the cone program was not solved: {found.status}")
    allocation = np.zeros(len(gaps))
    allocation[others] = np.array(found.x)[:count]
    return allocation


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
