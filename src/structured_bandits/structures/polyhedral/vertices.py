"""Optima that move with the box.

The rows that an optimum presses on stay the same as long as the box moves little. Then the optimum is
where these rows are at their new ends: a product with a matrix, no search. Whether it is one is checked
afterwards, as it is for what a solver finds (docs/planning.md 10.4).
"""

from __future__ import annotations

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.solvers.linear import CERTIFIED, Solution
from structured_bandits.structures.polyhedral.cell import PolytopeCell


class Vertex:
    """The model of a cell with the highest mean of its arm, as the ends of the box move."""

    def __init__(self, cell: PolytopeCell, solution: Solution, ends: Floats) -> None:
        self._cell, self._solution, self._ends = cell, solution, ends
        self._places: Ints | None = None  # of the ends that it is at; found when first needed

    def means(self, ends: Floats) -> Floats | None:
        """Return the means of the moved model; None if it has left the cell or the box."""
        if self._places is None:
            self._find_responses()
        cell, count = self._cell, len(self._cell.lower)
        reached = self._reached + self._responses @ (ends - self._ends)[self._places]
        own, means = reached[:count], reached[count:] + cell.polytope.intercepts
        room = min(
            (own - cell.lower).min(initial=np.inf),
            (cell.upper - own).min(initial=np.inf),
            (ends - np.concatenate([means, -means])).min(),
        )
        return means if room >= -CERTIFIED else None

    def _find_responses(self) -> None:
        """Find how all rows react to the ends: by the least change that keeps the others pressed on."""
        rows, multipliers = self._cell.value_rows, self._solution.multipliers
        pressed = np.flatnonzero(multipliers)
        matrix = rows[pressed]
        try:
            changes = matrix.T @ np.linalg.inv(matrix @ matrix.T)
        except np.linalg.LinAlgError:  # they depend on each other
            changes = np.zeros(matrix.T.shape)
        box = pressed >= len(self._cell.lower)
        arms, above = pressed[box] - len(self._cell.lower), multipliers[pressed[box]] > 0.0
        self._places = np.where(above, arms, arms + self._cell.polytope.n_arms)
        self._responses = rows @ (changes[:, box] * np.where(above, 1.0, -1.0))
        self._reached = rows @ self._solution.x
