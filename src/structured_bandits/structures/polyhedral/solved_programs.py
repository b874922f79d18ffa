"""What outlives the linear programs of a cell: models, vertices and bounds (docs/notes/lookahead.md 10).

*Witnesses.* Two models are kept for each cell: `inner`, well inside some box, and `far`, where the best
arm's mean was highest. A cell is convex, so all models between the two are in it. Where the segment
from one to the other leaves a box is found by a division for each end of the box: it shows that the
cell meets the box, and what mean its arm reaches there (10.3). Means stand beside their negatives, as
the ends of a box do (`ends_of`).

*Vertices.* The rows that an optimum presses on stay the same as long as the box moves little. Then the
optimum is where these rows are at their new ends: a product with a matrix, no search. Whether it is one
is checked afterwards, as it is for what a solver finds (10.4).

*Certificates.* The programs of a cell differ only in the box. Multipliers that proved a value for one
box prove a bound for every other (weak duality, 10.2), and a bound that is low enough makes solving
again needless.
"""

from __future__ import annotations

import math
from copy import copy

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.confidence import Box
from structured_bandits.solvers.linear import CERTIFIED, TOLERANCE, Solution
from structured_bandits.structures.polyhedral.cell import PolytopeCell


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


FAR = 1e300  # stands for an infinite end: no weight, however small, and 0 times it is 0
HUGE = 1e200  # a bound above this rests on such an end


def ends_of(box: Box) -> Floats:
    """Return the ends of a box as one vector, the larger the wider: high, then -low."""
    ends = np.concatenate([box.high, -box.low])
    return np.minimum(ends, FAR, out=ends)


class Certificates:
    """For each cell a bound: fixed + weights · ends, for the box with these ends."""

    def __init__(self, cells: int, arms: int) -> None:
        self._fixed = np.full(cells, np.inf)
        self._weights = np.zeros((cells, 2 * arms))  # not negative

    def copy(self) -> Certificates:
        """Return bounds that may be renewed without changing these."""
        other = copy(self)
        other._fixed, other._weights = self._fixed.copy(), self._weights.copy()
        return other

    def renew(self, cell: int, fixed: float, weights: Floats) -> None:
        """Replace the bound of a cell."""
        self._fixed[cell] = fixed
        self._weights[cell] = weights

    def bounds(self, ends: Floats) -> Floats:
        """Return the bounds of all cells for a box."""
        total: Floats = self._weights @ ends
        total += self._fixed
        return total

    def bound(self, cell: int, ends: Floats) -> float:
        """Return the bound of one cell."""
        return float(self._fixed[cell] + self._weights[cell] @ ends)
