"""Cells of structures that bound means and their differences, in closed form.

See docs/notes/lookahead.md 11.

In a piece the mean of arm j is at most `high[j]`, and at most reach[j, k] above any upper limit of arm
k; the same holds from below. Shortest paths made `reach` complete, so limits follow from one step, and
they are attained together: the set of means between limits that respect each other is a lattice
(docs/notes/lookahead.md 11.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.confidence import Box
from structured_bandits.base.records import Record
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.polyhedral.differences import (
    Differences,
    differences,
    leading_arms,
)
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.spans import SpanCells


class _DifferenceCells(NamedTuple):
    reach: Floats  # pieces x arms x arms: by how much one mean can exceed the other
    lowest: Floats  # pieces x arms: the least mean
    highest: Floats  # pieces x arms: the largest mean
    depth: Floats  # pieces x arms: by how much an arm is sure to be below another one
    floor: Floats  # pieces: the best mean is at least this
    piece: Ints  # of each cell
    best: Ints  # of each cell
    best_mean: float  # of all models; -inf if it is not the same in all
    tie: float


class DifferenceCells(Record, SpanCells, _DifferenceCells):
    """The cells of pieces in which only means and their differences are bounded."""

    def __new__(cls, pieces: Sequence[Differences]) -> DifferenceCells:
        """Find the cells of the pieces; all arrays lie in one piece, or another engine is compiled."""
        reach = np.array([piece.most_lead for piece in pieces])
        low = np.array([piece.low for piece in pieces])
        high = np.array([piece.high for piece in pieces])
        number, arm = np.nonzero(np.array([leading_arms(piece) for piece in pieces]))
        return super().__new__(
            cls,
            reach,
            low,
            high,
            -reach.min(axis=2),
            low.max(axis=1),
            np.ascontiguousarray(number),
            np.ascontiguousarray(arm),
            common_mean(fixed_means(low, high)[number, arm]),
            TOLERANCE,
        )

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.reach.shape[1]

    def fits(self, cell: int, box: Box, before: bool, notes: Floats) -> bool:
        """Does the cell's piece meet the open box? Each limit has to respect all others."""
        piece = self.piece[cell]
        if cell > 0 and self.piece[cell - 1] == piece:
            return before
        low, high = box.low, box.high
        for arm in range(len(low)):
            if low[arm] >= self.highest[piece, arm] or high[arm] <= self.lowest[piece, arm]:
                return False
            for other in range(len(low)):
                if high[other] + self.reach[piece, arm, other] <= low[arm]:
                    return False
        return True

    def span(self, cell: int, box: Box, notes: Floats) -> tuple[float, float]:
        """Return the means of the best arm where it is best inside the open box.

        Where arm i is best, its mean is above every lower limit, and all other arms can be as low as
        their own: the least best mean is the same for every arm of the piece.
        """
        piece = self.piece[cell]
        arm = self.best[cell]
        low, high = box.low, box.high
        above = math.inf
        below = -math.inf
        for other in range(len(low)):
            above = min(above, high[other] + self.reach[piece, arm, other])
            below = max(below, low[other] + self.depth[piece, other])
        floor = self.floor[piece]
        ceiling = self.highest[piece, arm]
        if above <= floor or above <= below or ceiling <= below:
            return math.inf, -math.inf
        return max(below, floor), min(above, ceiling)


def fixed_means(low: Floats, high: Floats) -> Floats:
    """Return the means that pieces fix, -inf for others; a single model fixes none (pieces x arms)."""
    wide = high - low > TOLERANCE
    return np.where(wide | ~wide.any(axis=1, keepdims=True), -np.inf, high)


def common_mean(means: Sequence[float] | Floats) -> float:
    """Return the mean that all cells fix; -inf if one fixes none, or another one."""
    low, high = float(min(means)), float(max(means))
    return high if math.isfinite(low) and high - low <= TOLERANCE else -math.inf


def difference_cells(pieces: Sequence[Polytope]) -> DifferenceCells | None:
    """Return the cells of these pieces; None if one has other constraints than these cells know."""
    known = [differences(piece) for piece in pieces]
    simple = [each for each in known if each is not None]
    return DifferenceCells(simple) if len(simple) == len(known) else None
