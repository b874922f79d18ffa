"""The model of a polyhedral structure that fits best, by least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.confidence import Box, Data
from structured_bandits.solvers.convex import least_quadratic
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.polyhedral.cell import PolytopeCell
from structured_bandits.structures.polyhedral.polytope import Polytope

SAME_LOSS = 1e-11  # losses per pull that differ by no more are equal


class Fitted(NamedTuple):
    """The piece that fits best and the means of a best-fitting model of it."""

    piece: int
    means: Floats


def fitting_piece(pieces: Sequence[Polytope], cells: Sequence[PolytopeCell], data: Data) -> Fitted:
    """Return the first piece with the least sum of pulls * (mean - model)^2.

    One quadratic program for each piece finds its best-fitting means of the arms that were pulled,
    which are unique.
    """
    pulls, sums = data
    least = math.inf
    fitted = Fitted(-1, np.zeros(0))
    for number in sorted({cell.piece for cell in cells}):
        means = best_fit(pieces[number], data)
        loss = float(means @ (pulls * means - 2.0 * sums))
        if loss < least - SAME_LOSS * (1.0 + float(pulls.sum())):
            least, fitted = loss, Fitted(number, means)
    return fitted


def fitting_cell(pieces: Sequence[Polytope], cells: Sequence[PolytopeCell], data: Data) -> int:
    """Return the first cell with the least infimum of the sum of pulls * (mean - model)^2.

    A cell of the fitting piece has the same loss if it has models with the fitting means.
    """
    chosen, fitted = fitting_piece(pieces, cells, data)
    own = [index for index, cell in enumerate(cells) if cell.piece == chosen]
    for index in own:
        if _has_model(cells[index], fitted, data.pulls > 0):
            return index
    return max(own, key=lambda index: fitted[cells[index].arm])


def best_fit(piece: Polytope, data: Data) -> Floats:
    """Return the means of a best-fitting model of a piece."""
    if piece.dimension == 0:
        return piece.intercepts
    pulls, sums = data
    curvature = piece.slopes.T @ (pulls[:, None] * piece.slopes)
    slope = piece.slopes.T @ (pulls * piece.intercepts - sums)
    return piece.means(least_quadratic(curvature, slope, piece.rows, piece.lower, piece.upper))


def _has_model(cell: PolytopeCell, means: Floats, pulled: Flags) -> bool:
    """Has the closed cell a model with these means of the pulled arms?"""
    if pulled.all():
        return bool(means[cell.arm] >= means[cell.rivals].max(initial=-math.inf) - TOLERANCE)
    near = 10.0 * TOLERANCE
    low = np.where(pulled, means - near, -math.inf)
    high = np.where(pulled, means + near, math.inf)
    return cell.slack(Box(low, high)).value > 0.0
