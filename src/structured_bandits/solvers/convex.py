"""Convex programs: quadratic ones by daqp, checked by their optimality conditions; cones by clarabel."""

from __future__ import annotations

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.extras import needs
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.solvers.linear import (
    INFINITE,
    PROGRAMS,
    SETTINGS,
    TOLERANCE,
    maximise,
    near_one,
    note_unsolved,
    scales,
)

#: Of daqp; it takes a few for each row, and a cycle would go on for seconds.
ITERATIONS = 2_000
ACCURACY = 1e-10  # of the gap between the program and its dual, and of the constraints


def least_quadratic(
    curvature: Floats, slope: Floats, rows: Floats, lower: Floats, upper: Floats
) -> Floats:
    """Return a minimiser of x·curvature·x / 2 + slope·x over lower <= rows x <= upper, not empty.

    Variables are scaled by the curvature, or else by the rows. Little regularisation is fast, more is
    sure. If no answer is recognised as a minimiser, that is counted (`unsolved_here`), and the best of
    those that satisfy the constraints is returned.
    """
    bend = np.sqrt(np.maximum(np.diag(curvature), 0.0))
    bend = np.maximum(bend, 1e-9 * bend.max(initial=0.0))
    best, least = None, np.inf
    ways = [(by_rows, regular) for by_rows in (False, True) for regular in (1e-4, 1e-2, 1.0)]
    for by_rows, regular in ways:
        widths = scales(rows)[1] if by_rows else near_one(bend)
        x, recognised = _least_scaled(curvature, slope, rows, lower, upper, widths, regular)
        if recognised:
            return x
        value = float(0.5 * x @ curvature @ x + slope @ x)
        if value < least and _is_inside(rows, lower, upper, x):
            best, least = x, value
    note_unsolved()
    return maximise(np.zeros(len(slope)), rows, lower, upper).x if best is None else best


def _is_inside(rows: Floats, lower: Floats, upper: Floats, x: Floats) -> bool:
    reached = rows @ x
    outside = np.maximum(lower - reached, reached - upper).max(initial=0.0)
    return bool(outside <= TOLERANCE * (1.0 + np.abs(reached).max(initial=0.0)))


def _least_scaled(
    curvature: Floats,
    slope: Floats,
    rows: Floats,
    lower: Floats,
    upper: Floats,
    widths: Floats,
    regular: float,
) -> tuple[Floats, bool]:
    """Return what daqp finds, and whether it is recognised as a minimiser.

    It is by its multipliers: they balance the slope there, and press on no row that is not at its end.
    """
    with needs(PROGRAMS, extra="polyhedral"):
        import daqp

    heights = near_one(np.abs(rows * widths).max(axis=1, initial=0.0))
    bent, pushed = widths[:, None] * curvature * widths, widths * slope
    size = max(float(np.abs(bent).max(initial=0.0)), 1e-300)
    bent, pushed = np.ascontiguousarray(bent / size), np.ascontiguousarray(pushed / size)
    even = np.ascontiguousarray(heights[:, None] * rows * widths)
    low, high = heights * np.maximum(lower, -INFINITE), heights * np.minimum(upper, INFINITE)
    settings = {**SETTINGS, "eps_prox": regular, "primal_tol": 1e-11, "iter_limit": ITERATIONS}
    kinds = np.zeros(len(rows), np.int32)
    y, _, flag, info = daqp.solve(bent, pushed, even, high, low, kinds, **settings)
    x, multipliers = widths * y, info["lam"]
    pressed = multipliers != 0.0
    press = np.where(multipliers > 0.0, high, low)[pressed] - (even @ y)[pressed]
    errors = np.append(np.abs(bent @ y + pushed + multipliers @ even), press * multipliers[pressed])
    weight = 1.0 + np.abs(pushed).max(initial=0.0) + np.abs(y).max(initial=0.0)
    balanced = np.abs(errors).max(initial=0.0) <= TOLERANCE * weight
    return np.asarray(x), bool(flag >= 1 and balanced and _is_inside(rows, lower, upper, x))


def least_over_cones(
    cost: Floats,
    matrix: Floats,
    right: Floats,
    equations: int,
    inequalities: int,
    asked_by: str,
) -> Floats:
    """Return a minimiser z of cost·z over right - matrix z = s, with s in a product of cones.

    The first `equations` numbers of s are 0, the next `inequalities` are at least 0, and the others are
    triples (a, b, c) with |(b, c)| <= a. `asked_by` is what the user wrote to get here, for the message
    if clarabel is missing.
    """
    with needs(asked_by, extra="cones"):
        import clarabel
        from scipy import sparse

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = ACCURACY
    triples = (len(right) - equations - inequalities) // 3
    cones = [clarabel.ZeroConeT(equations), clarabel.NonnegativeConeT(inequalities)]
    cones += [clarabel.SecondOrderConeT(3)] * triples
    nothing = sparse.csc_matrix((len(cost), len(cost)))
    found = clarabel.DefaultSolver(
        nothing, cost, sparse.csc_matrix(matrix), right, cones, settings
    ).solve()
    if str(found.status) not in ("Solved", "AlmostSolved"):
        raise StructuredBanditsError(f"the cone program was not solved: {found.status}")
    return np.array(found.x)
