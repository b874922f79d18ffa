"""Cells of a finite structure: every model is a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.confidence import Box
from structured_bandits.base.records import Record
from structured_bandits.structures.finite.inside import highest_inside, mark_best_arms


class TableQuestions:
    """Questions about boxes, of models with their means in a table."""

    weighed_models = True  # the likelihoods of all models can be compared one by one

    table: Floats  # models x arms
    best: Ints  # best arm of each model, the lowest among equals
    ranking: Ints  # models by falling value, then by rising best arm

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.table.shape[1]

    def fresh_notes(self) -> Floats:
        """Return nothing: models need no memory."""
        return np.zeros(0)

    def best_arms_in(self, box: Box, found: Flags, notes: Floats) -> bool:
        """Mark the arms that are best in some model inside the open box; is there a model at all?"""
        return mark_best_arms(self, box, found)

    def optimistic_arm(self, box: Box, notes: Floats) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        model = highest_inside(self, box)
        return int(self.best[model]) if model >= 0 else -1


class _FiniteCells(NamedTuple):
    table: Floats
    best: Ints
    ranking: Ints


class FiniteCells(Record, TableQuestions, _FiniteCells):
    """The models of a finite structure and the questions that policies ask of them."""

    def __new__(cls, table: Floats) -> FiniteCells:
        """Rank the models of `table` (models x arms)."""
        best = table.argmax(axis=1).astype(np.int64)
        value = table[np.arange(len(table)), best]
        return super().__new__(cls, table, best, np.lexsort((best, -value)).astype(np.int64))
