"""Distances from the truth in a curve structure: minima over intervals, exact up to rounding.

On a cell every mean is affine, so a distance is the highest of several lines and its least value is
found without a grid. An infimum over a cell is a minimum over its closure; it is attained if a
minimiser belongs to the cell, which the cut between two arms and an end where arms tie do not.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.structures.curves.cells import IntervalCells
from structured_bandits.structures.curves.minimax import lowest_maximum
from structured_bandits.structures.questions import NOWHERE, Confusing, Nearest

SAME_PLACE = 1e-9  # positions in a cell that differ by no more are one


class Parts(NamedTuple):
    """Parts of cells, from position `left` to `right` (a point if equal), and the ends they own."""

    cells: Ints
    left: Floats
    right: Floats
    owns_left: Flags
    owns_right: Flags

    def only(self, keep: Flags) -> Parts:
        """Return the parts flagged."""
        return Parts(
            self.cells[keep],
            self.left[keep],
            self.right[keep],
            self.owns_left[keep],
            self.owns_right[keep],
        )


class CurveDistances:
    """Answers for one truth."""

    def __init__(
        self, cells: IntervalCells, owns_start: Flags, means: Floats, tolerance: float
    ) -> None:
        self._cells = cells
        self._means = means
        self._tolerance = tolerance
        own = np.arange(len(cells.best)), cells.best
        rivals = ~self._same(cells.at_start, cells.at_start[own], cells.at_end, cells.at_end[own])
        self._owns_start = owns_start & ~self._tied(cells.at_start, cells.at_start[own], rivals)
        self._owns_end = cells.owns_end & ~self._tied(cells.at_end, cells.at_end[own], rivals)

    def nearest(
        self, arm: int, weights: Floats, optimistic: bool = False, equal: Flags | None = None
    ) -> Nearest:
        """Return the nearest model in which `arm` is best, an attained one among equals."""
        parts = self._parts(arm, optimistic, equal)
        if not len(parts.cells):
            return NOWHERE
        first = weights * (self._means_at(parts, parts.left) - self._means)
        last = weights * (self._means_at(parts, parts.right) - self._means)
        gaps, low, high = lowest_maximum(np.hstack([first, -first]), np.hstack([last, -last]))
        place = parts.left + 0.5 * (low + high) * (parts.right - parts.left)
        attained = (high - low > SAME_PLACE) | (parts.owns_left | (low > SAME_PLACE)) & (
            parts.owns_right | (high < 1.0 - SAME_PLACE)
        )
        ties = np.flatnonzero(gaps <= gaps.min() + self._cells.tie)
        chosen = int(ties[attained[ties].argmax()])
        cell = parts.cells[chosen]
        means = self._means_at(parts, place)[chosen]
        return Nearest(
            abs(float(gaps.min())),
            self._parameter(cell, place[chosen]),
            bool(attained[chosen]),
            int((weights * np.abs(means - self._means)).argmax()) if weights.any() else None,
        )

    def farthest(self, arm: int, weights: Floats) -> float:
        """Return the supremum of the distance where `arm` is best: that of an end."""
        return max(
            float((weights * np.abs(ends - self._means)).max(initial=0.0))
            for ends in self._ends(arm)
        )

    def smallest_lead(self, arm: int, other: int) -> float:
        """Return the infimum of the lead of `arm` over `other`, where `arm` is best."""
        return min(
            float((ends[:, arm] - ends[:, other]).min(initial=math.inf)) for ends in self._ends(arm)
        )

    def ties_with_truth(self, arm: int) -> bool:
        """Is the truth's best mean the highest mean of a cell of `arm`?"""
        highest = np.maximum(*(ends[:, arm] for ends in self._ends(arm)))
        return bool((np.abs(highest - self._means.max()) <= self._cells.tie).any())

    def optimistic(self, arm: int) -> tuple[Any, ...]:
        """Return the intervals of the parameter on which `arm` beats the truth's best mean."""
        parts = self._parts(arm, optimistic=True, equal=None)
        return tuple(
            (self._parameter(cell, left), self._parameter(cell, right))
            for cell, left, right in zip(parts.cells, parts.left, parts.right, strict=True)
        )

    def confusing(self, arm: int, other: int) -> Confusing:
        """Return the parts of the cells of `arm` on which `other` has its true mean."""
        parts = self._parts(arm, False, np.arange(len(self._means)) == other)
        start = [self._parameter(*pair) for pair in zip(parts.cells, parts.left, strict=True)]
        end = [self._parameter(*pair) for pair in zip(parts.cells, parts.right, strict=True)]
        ends = self._means_at(parts, parts.left), self._means_at(parts, parts.right)
        return Confusing(*ends, np.array(start), np.array(end))

    def _ends(self, arm: int) -> tuple[Floats, Floats]:
        chosen = self._cells.best == arm
        return self._cells.at_start[chosen], self._cells.at_end[chosen]

    def _parts(self, arm: int, optimistic: bool, equal: Flags | None) -> Parts:
        """Return what is asked of the cells of `arm`."""
        cells = np.flatnonzero(self._cells.best == arm)
        zero, one = np.zeros(len(cells)), np.ones(len(cells))
        parts = Parts(cells, zero, one, self._owns_start[cells], self._owns_end[cells])
        if optimistic:
            parts = self._above_truth(parts, arm)
        for other in np.flatnonzero(equal) if equal is not None else ():
            parts = self._agreeing(parts, int(other))
        return parts

    def _above_truth(self, parts: Parts, arm: int) -> Parts:
        """Cut off what is not above the truth's best mean; the cut itself is not above it."""
        level = self._means.max()
        first = self._cells.at_start[parts.cells, arm] - level
        last = self._cells.at_end[parts.cells, arm] - level
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = first / (first - last)
        above = Parts(
            parts.cells,
            np.where(first <= 0.0, cut, parts.left),
            np.where(last <= 0.0, cut, parts.right),
            parts.owns_left & (first > 0.0),
            parts.owns_right & (last > 0.0),
        )
        return above.only(np.maximum(first, last) > self._cells.tie)

    def _agreeing(self, parts: Parts, arm: int) -> Parts:
        """Keep the places at which `arm` has its true mean: the whole part, a point or nothing."""
        first = self._means_at(parts, parts.left)[:, arm] - self._means[arm]
        last = self._means_at(parts, parts.right)[:, arm] - self._means[arm]
        at_left = np.abs(first) <= self._tolerance
        at_right = np.abs(last) <= self._tolerance
        whole = at_left & at_right
        beyond = np.minimum(np.abs(first), np.abs(last)) > self._cells.tie
        inside = ~whole & beyond & (first * last < 0.0)  # it crosses, however near an end
        x = np.where(at_right, 1.0, 0.0)
        x[inside] = first[inside] / (first - last)[inside]
        holds = inside | (at_left & parts.owns_left) | (at_right & parts.owns_right)
        point = parts.left + x * (parts.right - parts.left)
        kept = Parts(
            parts.cells,
            np.where(whole, parts.left, point),
            np.where(whole, parts.right, point),
            np.where(whole, parts.owns_left, True),
            np.where(whole, parts.owns_right, True),
        )
        return kept.only(whole | holds)

    def _means_at(self, parts: Parts, place: Floats) -> Floats:
        first, last = self._cells.at_start[parts.cells], self._cells.at_end[parts.cells]
        x = place[:, None]
        return np.where(x == 1.0, last, first + x * (last - first))

    def _parameter(self, cell: int, place: float) -> float:
        start, end = self._cells.start[cell], self._cells.end[cell]
        return float(end if place == 1.0 else start + place * (end - start))

    def _same(self, first: Floats, own_first: Floats, last: Floats, own_last: Floats) -> Flags:
        """Return which lines (cells x arms) coincide with that of the cell's best arm."""
        here = np.abs(first - own_first[:, None]) <= self._tolerance
        return here & (np.abs(last - own_last[:, None]) <= self._tolerance)

    def _tied(self, means: Floats, own: Floats, rivals: Flags) -> Flags:
        """Is a line that does not coincide with that of the best arm level with it at this end?"""
        level = np.abs(means - own[:, None]) <= self._tolerance
        return np.any(rivals & level, axis=1)
