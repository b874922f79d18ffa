"""Distances from the truth in a structure of boxes: minima and maxima over the arms.

In a box the means are free of each other, so how near a model can be to the truth is decided by the
worst arm, or by the worst pair of the best arm and another one (docs/notes/mathematics.md 3.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.boxes.cells import BoxCells
from structured_bandits.structures.polyhedral.cell import PolytopeCell
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.polyhedral.regions import Region
from structured_bandits.structures.questions import NOWHERE, Confusing, Nearest


class Part(NamedTuple):
    """Parts of some boxes in each of which one arm is best somewhere."""

    models: Ints
    least: Floats  # of the parts: models x arms
    most: Floats


class BoxDistances:
    """Answers for one truth; `place` makes a model of the number of a box and the means in it."""

    def __init__(
        self,
        cells: BoxCells,
        means: Floats,
        tolerance: float,
        polytopes: tuple[Polytope, ...],
        place: Callable[[int, tuple[float, ...]], Any],
    ) -> None:
        self._cells = cells
        self._means = means
        self._tolerance = tolerance
        self._polytopes = polytopes
        self._place = place

    def nearest(
        self, arm: int, weights: Floats, optimistic: bool = False, equal: Flags | None = None
    ) -> Nearest:
        """Return the nearest model in which `arm` is best, an attained one among equals."""
        part = self._part(arm, optimistic, equal)
        if not len(part.models):
            return NOWHERE
        gaps = self._gaps(part, arm, weights, optimistic)
        close = np.flatnonzero(gaps <= gaps.min() + TOLERANCE)
        close = close[np.argsort(gaps[close], kind="stable")]
        attained = self._attained(part, close, arm, weights, gaps, optimistic)
        row = int(close[attained.argmax()])
        means = self._least_change(part, row, arm, weights, gaps[row], optimistic)
        distances = weights * np.abs(means - self._means)
        return Nearest(
            float(gaps.min()),
            self._model(part, row, means),
            bool(attained.any()),
            int((distances >= distances.max() - TOLERANCE).argmax()) if weights.any() else None,
        )

    def farthest(self, arm: int, weights: Floats) -> float:
        """Return the supremum of the distance where `arm` is best."""
        _, least, most = self._part(arm)
        bottom = least.copy()
        bottom[:, arm] = least.max(axis=1)
        top = np.minimum(most, most[:, [arm]])
        away = np.maximum(top - self._means, self._means - bottom)
        return float((weights * away).max(initial=0.0))

    def smallest_lead(self, arm: int, other: int) -> float:
        """Return the infimum of the lead of `arm` over `other`, where `arm` is best."""
        _, least, most = self._part(arm)
        leads = np.maximum(least.max(axis=1) - most[:, other], 0.0)
        return float(leads.min(initial=math.inf))

    def ties_with_truth(self, arm: int) -> bool:
        """Is the truth's best mean the highest mean of `arm` in a box in which it can be best?"""
        return bool((self._part(arm).most[:, arm] == self._means.max()).any())

    def optimistic(self, arm: int) -> tuple[Any, ...]:
        """Return, for each box in which `arm` can beat the truth's best mean, a model where it does.

        The mean of `arm` is as high as it can be, the others as near to the truth as they can be.
        """
        part = self._part(arm, optimistic=True)
        means = np.clip(self._means, part.least, part.most)
        means = np.minimum(means, part.most[:, [arm]])
        means[:, arm] = part.most[:, arm]
        return tuple(self._model(part, row, each) for row, each in enumerate(means))

    def confusing(self, arm: int, other: int) -> Confusing:
        """Return the parts of the boxes in which `arm` is best and `other` has its true mean.

        They are polytopes: the Graves-Lai program knows what to do with those.
        """
        equal = np.arange(len(self._means)) == other
        models = self._part(arm, equal=equal).models
        same = self._always_equal(models, arm)
        regions = [
            Region(
                PolytopeCell(self._polytopes[model], int(model), arm, ~same[row]),
                self._means,
                self._tolerance,
                equal=equal,
            )
            for row, model in enumerate(models)
        ]
        left = tuple(region for region in regions if not region.is_empty)
        nothing = np.zeros((0, len(self._means)))
        return Confusing(nothing, nothing, np.zeros(0), np.zeros(0), left, self._model_of)

    def _part(self, arm: int, optimistic: bool = False, equal: Flags | None = None) -> Part:
        """Return what the conditions leave of the boxes in which `arm` can be best."""
        models = self._cells.model[self._cells.best == arm]
        least, most = self._cells.least[models], self._cells.most[models]
        kept = np.ones(len(models), np.bool_)
        if equal is not None:
            nearest = np.clip(self._means, least, most)
            away = np.abs(nearest - self._means)[:, equal].max(axis=1, initial=0.0)
            least, most = np.where(equal, nearest, least), np.where(equal, nearest, most)
            leads = (most[:, [arm]] > least) | self._always_equal(models, arm)
            kept &= (away <= self._tolerance) & leads.all(axis=1)
        if optimistic:
            kept &= most[:, arm] > self._means.max()
        return Part(models[kept], least[kept], most[kept])

    def _always_equal(self, models: Ints, arm: int) -> Flags:
        """Return which arms have the same mean as `arm` all over a box (models x arms); itself too."""
        least, most = self._cells.least[models], self._cells.most[models]
        own = least[:, [arm]]
        equal: Flags = (least == own) & (most == own) & (most[:, [arm]] == own)
        equal[:, arm] = True
        return equal

    def _gaps(self, part: Part, arm: int, weights: Floats, optimistic: bool) -> Floats:
        """Return the least distance in each part.

        Every mean has to come into its interval; that of `arm` has to rise above the lower ends of
        the others, or they have to fall below its upper end, or they meet on the way.
        """
        truth, own = self._means, float(weights[arm])
        ahead = truth - truth[arm]
        both = weights + own
        met = np.divide(own * weights * ahead, both, out=np.zeros_like(both), where=both > 0.0)
        into = (weights * np.maximum(part.least - truth, truth - part.most)).max(axis=1)
        rises = own * (part.least.max(axis=1) - truth[arm])
        falls = (weights * (truth - part.most[:, [arm]])).max(axis=1)
        beats = own * float(ahead.max()) if optimistic else 0.0
        gaps: Floats = np.maximum(np.maximum(into, rises), np.maximum(falls, max(met.max(), beats)))
        return gaps

    def _within(self, part: Part, rows: Any, weights: Floats, gaps: Any) -> tuple[Floats, Floats]:
        """Return the means that the arms may have in these parts at these distances from the truth."""
        room = np.full(np.shape(gaps) + weights.shape, math.inf)
        np.divide(np.expand_dims(gaps, -1), weights, out=room, where=weights > 0.0)
        least = np.maximum(part.least[rows], self._means - room)
        return least, np.minimum(part.most[rows], self._means + room)

    def _attained(
        self,
        part: Part,
        rows: Ints,
        arm: int,
        weights: Floats,
        gaps: Floats,
        optimistic: bool,
    ) -> Flags:
        """Is there a model at the least distance itself in which `arm` is strictly better?

        Where both means are known exactly they were compared exactly before.
        """
        least, most = self._within(part, rows, weights, gaps[rows])
        known = part.least[rows] == part.most[rows]
        surely = known & known[:, [arm]]
        leads = (most[:, [arm]] > least + TOLERANCE) | surely
        leads[:, arm] = True
        if optimistic:
            leads[:, arm] = known[:, arm] | (most[:, arm] > self._means.max() + TOLERANCE)
        return leads.all(axis=1)

    def _least_change(
        self,
        part: Part,
        row: int,
        arm: int,
        weights: Floats,
        gap: float,
        optimistic: bool,
    ) -> Floats:
        """Return, among the models of a closed part within `gap`, one with the least sum of changes.

        The sum is convex and piecewise linear in the best mean, so one of its bends is the place.
        """
        least, most = self._within(part, row, weights, np.float64(gap))
        means = np.clip(self._means, least, np.maximum(least, most))
        floor = max(float(least.max()), self._means.max() if optimistic else -math.inf)
        bends = np.clip(np.append(means, floor), floor, max(floor, most[arm]))
        cost = np.abs(bends - self._means[arm])
        cost += np.maximum(np.delete(means, arm) - bends[:, None], 0.0).sum(axis=1)
        best = float(bends[cost.argmin()])
        means = np.minimum(means, best)
        means[arm] = best
        return np.clip(means, part.least[row], part.most[row])  # what rounding has left of it

    def _model(self, part: Part, row: int, means: Floats) -> Any:
        return self._place(int(part.models[row]), tuple(means.tolist()))

    def _model_of(self, region: Region, parameter: Floats) -> Any:
        means = region.polytope.means(parameter) + 0.0
        return self._place(region.cell.piece, tuple(means.tolist()))
