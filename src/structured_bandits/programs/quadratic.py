"""Convex quadratic programs, by daqp, with answers that are checked by their optimality conditions."""

from __future__ import annotations

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import StructuredBanditsError
from structured_bandits.extras import needs
from structured_bandits.programs.linear import (
    INFINITE,
    PROGRAMS,
    SETTINGS,
    TOLERANCE,
    near_one,
    scales,
)


def least_quadratic(
    curvature: Floats, slope: Floats, rows: Floats, lower: Floats, upper: Floats
) -> Floats:
    """Return a minimiser of x·curvature·x / 2 + slope·x over lower <= rows x <= upper, not empty.

    Variables are scaled by the curvature, or else by the rows. Little regularisation is fast, more is
    sure.
    """
    bend = np.sqrt(np.maximum(np.diag(curvature), 0.0))
    bend = np.maximum(bend, 1e-9 * bend.max(initial=0.0))
    for widths in (near_one(bend), scales(rows)[1]):
        for regular in (1e-4, 1e-2, 1.0):
            x = _least_scaled(curvature, slope, rows, lower, upper, widths, regular)
            if x is not None:
                return x
    raise StructuredBanditsError(
        f"a quadratic program with {len(slope)} variables and {len(rows)} rows was not solved"
    )


def _least_scaled(
    curvature: Floats,
    slope: Floats,
    rows: Floats,
    lower: Floats,
    upper: Floats,
    widths: Floats,
    regular: float,
) -> Floats | None:
    """Return a minimiser, or None if what daqp finds is not recognised as one.

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
    settings = {**SETTINGS, "eps_prox": regular, "primal_tol": 1e-11, "iter_limit": 100_000}
    kinds = np.zeros(len(rows), np.int32)
    y, _, flag, info = daqp.solve(bent, pushed, even, high, low, kinds, **settings)
    x, multipliers = widths * y, info["lam"]
    reached = rows @ x
    outside = np.maximum(lower - reached, reached - upper).max(initial=0.0)
    pressed = multipliers != 0.0
    press = np.where(multipliers > 0.0, high, low)[pressed] - (even @ y)[pressed]
    errors = np.append(np.abs(bent @ y + pushed + multipliers @ even), press * multipliers[pressed])
    weight = 1.0 + np.abs(pushed).max(initial=0.0) + np.abs(y).max(initial=0.0)
    if (
        flag < 1
        or outside > TOLERANCE * (1.0 + np.abs(reached).max(initial=0.0))
        or np.abs(errors).max(initial=0.0) > TOLERANCE * weight
    ):
        return None
    return np.asarray(x)
