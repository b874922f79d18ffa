"""Distances from the truth in a polyhedral structure, by linear programs.

See docs/notes/mathematics.md 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.polyhedral.cells import PolytopeCells
from structured_bandits.structures.polyhedral.regions import Region
from structured_bandits.structures.questions import NOWHERE, Confusing, Nearest


class PolyhedralDistances:
    """Answers for one truth; `place` makes a model of a piece and its parameters."""

    def __init__(
        self,
        cells: PolytopeCells,
        means: Floats,
        tolerance: float,
        place: Callable[[int, tuple[float, ...]], Any],
    ) -> None:
        self._cells = cells
        self._means = means
        self._tolerance = tolerance
        self._place = place
        self._regions: dict[tuple[int, bool, bytes], tuple[Region, ...]] = {}

    def nearest(
        self, arm: int, weights: Floats, optimistic: bool = False, equal: Flags | None = None
    ) -> Nearest:
        """Return the nearest model in which `arm` is best, an attained one among equals."""
        found = [(region, region.nearest(weights)) for region in self._of(arm, optimistic, equal)]
        if not found:
            return NOWHERE
        least = min(-solution.value for _, solution in found)
        ties = [each for each in found if -each[1].value <= least + TOLERANCE]
        attaining = [each for each in ties if each[0].attains(-each[1].value, weights)]
        region, solution = (attaining or ties)[0]
        parameter = region.least_change(-solution.value, weights)
        distances = weights * np.abs(region.polytope.means(parameter) - self._means)
        return Nearest(
            abs(least),
            self._model(region, parameter),
            bool(attaining),
            int((distances >= distances.max() - TOLERANCE).argmax()) if weights.any() else None,
        )

    def farthest(self, arm: int, weights: Floats) -> float:
        """Return the supremum of the distance where `arm` is best."""
        largest = 0.0
        for region in self._of(arm):
            for other in np.flatnonzero(weights > 0.0):
                away = region.polytope.intercepts[other] - self._means[other]
                for sign in (1.0, -1.0):
                    reached = region.extreme(sign * region.polytope.slopes[other]).value
                    largest = max(largest, float(weights[other]) * (reached + sign * away))
        return largest

    def smallest_lead(self, arm: int, other: int) -> float:
        """Return the infimum of the lead of `arm` over `other`, where `arm` is best."""
        least = math.inf
        for region in self._of(arm):
            slopes, shift = region.polytope.slopes, region.polytope.intercepts
            behind = region.extreme(slopes[other] - slopes[arm]).value
            least = min(least, float(shift[arm] - shift[other]) - behind)
        return least

    def ties_with_truth(self, arm: int) -> bool:
        """Is the truth's best mean the highest mean of a cell of `arm`?"""
        return any(
            abs(self._highest(region)[0] - self._means.max()) <= TOLERANCE
            for region in self._of(arm)
        )

    def optimistic(self, arm: int) -> tuple[Any, ...]:
        """Return, for each cell of `arm` that beats the truth's best mean, its most optimistic model."""
        regions = self._of(arm, optimistic=True)
        return tuple(self._model(region, self._highest(region)[1]) for region in regions)

    def confusing(self, arm: int, other: int) -> Confusing:
        """Return the parts of the cells of `arm` on which `other` has its true mean."""
        equal = np.arange(len(self._means)) == other
        regions = self._of(arm, equal=equal)
        nothing = np.zeros((0, len(self._means)))
        return Confusing(nothing, nothing, np.zeros(0), np.zeros(0), regions, self._model)

    def _of(
        self, arm: int, optimistic: bool = False, equal: Flags | None = None
    ) -> tuple[Region, ...]:
        """Return the regions of `arm` that are not empty."""
        key = (arm, optimistic, b"" if equal is None else equal.tobytes())
        if key not in self._regions:
            regions = [
                Region(cell, self._means, self._tolerance, optimistic, equal)
                for cell in self._cells.cells
                if cell.arm == arm
            ]
            self._regions[key] = tuple(region for region in regions if not region.is_empty)
        return self._regions[key]

    def _highest(self, region: Region) -> tuple[float, Floats]:
        arm = region.cell.arm
        solution = region.extreme(region.polytope.slopes[arm])
        return float(solution.value + region.polytope.intercepts[arm]), solution.x

    def _model(self, region: Region, parameter: Floats) -> Any:
        return self._place(region.cell.piece, tuple(float(x) + 0.0 for x in parameter))
