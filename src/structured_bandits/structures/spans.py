"""Cells on which means are affine: what a policy asks follows from the span of the best arm's mean.

The span of a cell is the interval of means that its best arm takes inside a box. Curves find it from
positions on a line, constraints on differences by shortest paths, polytopes by linear programs.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from structured_bandits.base.arrays import Flags, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box
from structured_bandits.structures.questions import Cells, Spans


class SpanCells:
    """Mixin for cells with `best`, the arm of each cell, and `tie`: values that close are equal."""

    best: Ints
    tie: float

    def fresh_notes(self) -> Any:
        """Return nothing: these cells need no memory."""
        return np.zeros(0)

    def best_arms_in(self: Spanned, box: Box, found: Flags, notes: Any) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        found[:] = False
        alive = False
        fits = False
        for cell in range(len(self.best)):
            fits = self.fits(cell, box, fits, notes)
            if fits and not found[self.best[cell]]:
                lowest, highest = self.span(cell, box, notes)
                if lowest <= highest:
                    found[self.best[cell]] = True
                    alive = True
        return alive

    def optimistic_arm(self: Spanned, box: Box, notes: Any) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        The mean is a supremum: it may lie on the border of the box or at an open end of a piece. On
        the border of the box, arms with the same data tie exactly, but what is computed is rounded:
        values that differ by no more than rounding are equal.
        """
        return highest_arm(self, range(len(self.best)), box, notes)


class Spanned(Cells, Spans, Protocol):
    """Cells that use the mixin, for the type checker."""

    tie: float


@compilable
def highest_arm(cells: Spanned, numbers: Any, box: Box, notes: Any) -> int:
    """Return the `optimistic_arm` of these cells, given by rising numbers."""
    top = -math.inf
    choice = -1
    fits = False
    for cell in numbers:
        fits = cells.fits(cell, box, fits, notes)
        if fits:
            arm = int(cells.best[cell])
            lowest, highest = cells.span(cell, box, notes)
            if lowest <= highest:
                if choice < 0 or highest > top + cells.tie:
                    top = highest
                    choice = arm
                elif highest >= top - cells.tie and arm < choice:
                    choice = arm
    return choice
