"""Cells of a finite structure: every model is a point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.planning.confidence import Ahead, Box, Data, Prospect
from structured_bandits.planning.intervals import Intervals
from structured_bandits.planning.tangents import FIRST_TIME
from structured_bandits.planning.watches import Ranges, Watches, fresh_watches, update_watches
from structured_bandits.records import Record
from structured_bandits.structures.finite.company import company_length, not_joined
from structured_bandits.structures.finite.inside import highest_inside, mark_best_arms
from structured_bandits.structures.finite.plans import (
    NO_COVER,
    choice_length,
    covering_rank,
    outside_length,
)


class TableQuestions:
    """Questions about boxes, of models with their means in a table."""

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

    def workspace(self) -> Watches:
        """Return the memory of `choose` and the questions after it."""
        return fresh_watches(len(self.best), self.arm_count())

    def choose(self, changed: int, data: Data, level: Intervals, box: Box, work: Watches) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        ranges = Ranges(self.table, self.table, self.ranking)
        update_watches(ranges, work, changed, data, level, box)
        if work.size[0] == 0:
            return -1
        return int(self.best[self.ranking[work.inside[0]]])

    def certain_length(self, arm: int, prospect: Prospect, data: Data, work: Watches) -> int:
        """Return a number of pulls, from 1 to its limit, in which `arm` is certain to stay the choice.

        By a search, for intervals of any kind; `RankedCells` have a formula for Hoeffding's.
        """
        if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
            return 1
        return choice_length(self, arm, prospect, data, work)

    def empty_length(self, arm: int, prospect: Prospect, data: Data, work: Watches) -> float:
        """Return for how many pulls of `arm` every model surely stays out."""
        if prospect.t + 1 < FIRST_TIME:
            return 0.0
        return outside_length(prospect.level, arm, prospect, data, work)

    def arms_inside(self, box: Box, found: Flags, work: Watches) -> bool:
        """Mark the best arms of the models inside, as `choose` left them."""
        found[:] = False
        for rank in work.inside[: work.size[0]]:
            found[self.best[self.ranking[rank]]] = True
        return bool(work.size[0] > 0)

    def competitive_length(
        self, arm: int, found: Flags, prospect: Prospect, data: Data, work: Watches
    ) -> int:
        """Return a number of pulls of `arm` in which the marked arms surely hold.

        How, depends on the kind of intervals (company.py).
        """
        if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
            return 1
        return company_length(prospect.level, self, arm, found, prospect, data, work)

    def stays_competitive(
        self, arm: int, found: Flags, data: Data, work: Watches, ahead: Ahead
    ) -> bool:
        """Are the means of `arm` that may come covered, and does no model of another arm come in?"""
        covered = covering_rank(self, arm, work, ahead) != NO_COVER
        return covered and not_joined(self, arm, found, work, ahead)
