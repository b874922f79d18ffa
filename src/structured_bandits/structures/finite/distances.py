"""Distances from the truth in a finite structure: minima over the rows of its table."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.questions import NOWHERE, Confusing, Nearest

BLOCK = 1 << 16  # numbers worked on at a time, half a megabyte


class FiniteDistances:
    """Answers for one truth; a question about an arm reads only the models in which it is best."""

    def __init__(self, cells: FiniteCells, means: Floats, tolerance: float) -> None:
        self._table = cells.table
        self._means = means
        self._tolerance = tolerance
        self._by_best = np.argsort(cells.best, kind="stable")
        arms = np.arange(cells.arm_count() + 1)
        self._first = np.searchsorted(cells.best, arms, sorter=self._by_best)

    def nearest(
        self, arm: int, weights: Floats, optimistic: bool = False, equal: Flags | None = None
    ) -> Nearest:
        """Return the nearest model in which `arm` is best; the lowest index among equals."""
        models = self._optimistic(arm) if optimistic else self._models(arm)
        if equal is not None:
            models = models[self._largest(models, equal.astype(np.float64)) <= self._tolerance]
        if not len(models):
            return NOWHERE
        gaps = self._largest(models, weights)
        model = int(models[gaps.argmin()])
        distances = weights * np.abs(self._table[model] - self._means)
        told_by = int(distances.argmax()) if weights.any() else None
        return Nearest(float(gaps.min()), model, True, told_by)

    def farthest(self, arm: int, weights: Floats) -> float:
        """Return the largest distance of a model in which `arm` is best."""
        return float(self._largest(self._models(arm), weights).max(initial=0.0))

    def smallest_lead(self, arm: int, other: int) -> float:
        """Return the smallest lead of `arm` over `other`, where `arm` is best."""
        models = self._models(arm)
        lead = self._table[models, arm] - self._table[models, other]
        return float(lead.min(initial=math.inf))

    def ties_with_truth(self, arm: int) -> bool:
        """Is there a model in which `arm` is best, with the truth's best mean?"""
        return bool((self._table[self._models(arm), arm] == self._means.max()).any())

    def optimistic(self, arm: int) -> tuple[Any, ...]:
        """Return the indices of the models of `arm` with a mean above the truth's best."""
        return tuple(self._optimistic(arm).tolist())

    def confusing(self, arm: int, other: int) -> Confusing:
        """Return the models in which `arm` is best and `other` has its true mean."""
        models = self._models(arm)
        same = np.abs(self._table[models, other] - self._means[other]) <= self._tolerance
        models = models[same]
        return Confusing(self._table[models], self._table[models], models, models)

    def _models(self, arm: int) -> Ints:
        return self._by_best[self._first[arm] : self._first[arm + 1]]

    def _optimistic(self, arm: int) -> Ints:
        """Return the models of `arm` that beat the truth, by the comparison that policies make."""
        models = self._models(arm)
        return models[self._table[models, arm] > self._means.max()]

    def _largest(self, models: Ints, weights: Floats) -> Floats:
        """Return the largest weighted distance of each model; arms of weight 0 are not counted.

        Block by block, so that what is computed stays in the processor's cache.
        """
        arms = np.flatnonzero(weights)
        few = 8 * len(arms) < len(weights)  # then pick numbers instead of rows
        largest = np.zeros(len(models))
        block = max(1, BLOCK // len(weights))
        rows = np.empty((min(block, len(models)), len(weights)))
        for start in range(0, len(models) if len(arms) else 0, block):
            chosen = models[start : start + block]
            if few:
                gaps = self._table[chosen[:, None], arms]
            else:
                gaps = self._table.take(chosen, axis=0, out=rows[: len(chosen)], mode="clip")
                gaps = gaps if len(arms) == len(weights) else gaps[:, arms]
            gaps -= self._means[arms]
            np.abs(gaps, out=gaps)
            if (weights[arms] != 1.0).any():
                gaps *= weights[arms]
            gaps.max(axis=1, out=largest[start : start + block])
        return largest
