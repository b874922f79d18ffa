"""Models that outlive the linear programs that found them.

Two models are kept for each cell: `inner`, well inside some box, and `far`, where the best arm's mean
was highest. A cell is convex, so all models between the two are in it. Where the segment from one to the
other leaves a box is found by a division for each end of the box: it shows that the cell meets the box,
and what mean its arm reaches there (docs/planning.md 10.3).

Means stand beside their negatives, as the ends of a box do (`certificates.ends_of`).
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np

from structured_bandits.arrays import Flags, Floats
from structured_bandits.solvers.linear import TOLERANCE


class Witnesses:
    """What is known to be in each cell; of a cell without `inner` nothing is."""

    def __init__(self, cells: int, arms: int) -> None:
        self._inner = np.full((cells, 2 * arms), np.inf)
        self._moves = np.zeros((cells, 2 * arms))  # from inner to far; 0 if there is no far
        self._far: list[Floats | None] = [None] * cells

    def copy(self) -> Witnesses:
        """Return models that may be replaced without changing these."""
        other = copy(self)
        other._inner, other._moves = self._inner.copy(), self._moves.copy()
        other._far = list(self._far)
        return other

    def note_inner(self, cell: int, means: Floats) -> None:
        """Keep a model that is inside a box by as much as possible."""
        self._inner[cell] = np.concatenate([means, -means])
        self._join(cell)

    def note_far(self, cell: int, means: Floats) -> None:
        """Keep a model with the highest mean of the cell's arm."""
        self._far[cell] = np.concatenate([means, -means])
        self._join(cell)

    def _join(self, cell: int) -> None:
        far = self._far[cell]
        if far is not None:
            self._moves[cell] = far - self._inner[cell]

    def meet(self, ends: Floats) -> Flags:
        """Return which cells surely meet an open box, by more than the tolerance."""
        met: Flags = (ends - self._inner).min(axis=1) > TOLERANCE
        return met

    def meets(self, cell: int, ends: Floats) -> bool:
        """Does one cell surely meet an open box?"""
        return bool((ends - self._inner[cell]).min() > TOLERANCE)

    def span(self, cell: int, arm: int, ends: Floats) -> tuple[float, float]:
        """Return the means of an arm from inner to where the segment leaves a box or comes to its end.

        If inner is not inside the box, this is the empty (inf, -inf).
        """
        room = ends - self._inner[cell]
        if not room.min() > 0.0:
            return math.inf, -math.inf
        fastest = float((self._moves[cell] / room).max())
        start = float(self._inner[cell, arm])
        return start, start + float(self._moves[cell, arm]) / max(fastest, 1.0)
