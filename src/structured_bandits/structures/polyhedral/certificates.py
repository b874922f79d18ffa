"""Bounds that outlive the linear programs they come from.

The programs of a cell differ only in the box. Multipliers that proved a value for one box prove a bound
for every other (weak duality, docs/planning.md 10.2), and a bound that is low enough makes solving
again needless.
"""

from __future__ import annotations

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.planning.confidence import Box


class Certificates:
    """For each cell a bound: fixed + on_high · high + on_low · low, for the box from low to high."""

    def __init__(self, cells: int, arms: int) -> None:
        self._fixed = np.full(cells, np.inf)
        self._on_high = np.zeros((cells, arms))  # not negative
        self._on_low = np.zeros((cells, arms))  # not positive

    def renew(self, cell: int, fixed: float, on_high: Floats, on_low: Floats) -> None:
        """Replace the bound of a cell."""
        self._fixed[cell] = fixed
        self._on_high[cell] = on_high
        self._on_low[cell] = on_low

    def bounds(self, box: Box) -> Floats:
        """Return the bounds of all cells for a box; infinite ends that are not used do not count."""
        from_above = np.where(self._on_high > 0.0, box.high, 0.0) * self._on_high
        from_below = np.where(self._on_low < 0.0, box.low, 0.0) * self._on_low
        total: Floats = self._fixed + from_above.sum(axis=1) + from_below.sum(axis=1)
        return total

    def bound(self, cell: int, box: Box) -> float:
        """Return the bound of one cell."""
        on_high, on_low = self._on_high[cell], self._on_low[cell]
        above, below = on_high > 0.0, on_low < 0.0
        from_above = on_high[above] @ box.high[above]
        return float(self._fixed[cell] + from_above + on_low[below] @ box.low[below])
