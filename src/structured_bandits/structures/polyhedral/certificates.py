"""Bounds that outlive the linear programs they come from.

The programs of a cell differ only in the box. Multipliers that proved a value for one box prove a bound
for every other (weak duality, docs/planning.md 10.2), and a bound that is low enough makes solving
again needless.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.planning.confidence import Box

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
