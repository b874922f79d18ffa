"""Cells of a finite structure in the order of their ranks, for SUCB with Hoeffding's intervals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.planning.confidence import Box, Data, Prospect
from structured_bandits.planning.tangents import FIRST_TIME, tangents
from structured_bandits.records import Record
from structured_bandits.structures.finite.cells import FiniteCells, TableQuestions
from structured_bandits.structures.finite.ranked_plans import length_of_choice, length_of_silence
from structured_bandits.structures.finite.ranks import (
    NOBODY,
    RankedTable,
    RankedWork,
    fresh_work,
    update_ranks,
)


class _RankedCells(NamedTuple):
    table: Floats  # models x arms
    best: Ints  # best arm of each model, the lowest among equals
    ranking: Ints  # models by falling value, then by rising best arm
    ranked: RankedTable


class RankedCells(Record, TableQuestions, _RankedCells):
    """The models of a finite structure with their means by rank; twice the memory of `FiniteCells`."""

    def __new__(cls, cells: FiniteCells) -> RankedCells:
        """Copy the means of the models, column by column."""
        table, best, ranking = cells
        least = np.full(table.shape[1], math.inf)
        np.minimum.at(least, best, table[np.arange(len(best)), best])
        owners = best[ranking]
        last = np.append(np.flatnonzero(np.diff(owners)), len(owners) - 1)
        ends = last[np.searchsorted(last, np.arange(len(owners)))]
        by_owner = np.argsort(owners, kind="stable")
        same = owners[by_owner[:-1]] == owners[by_owner[1:]]
        following = np.full(len(owners), len(owners))
        following[by_owner[:-1][same]] = by_owner[1:][same]
        size = float(np.abs(table).max())
        columns = np.ascontiguousarray(table[ranking].T)
        ranked = RankedTable(table, ranking, columns, owners, ends, following, least, size)
        return super().__new__(cls, table, best, ranking, ranked)

    def workspace(self) -> RankedWork:
        """Return the memory of `choose` and the questions after it."""
        return fresh_work(len(self.best), self.arm_count())

    def choose(self, changed: int, data: Data, level: Any, box: Box, work: RankedWork) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        first = update_ranks(self.ranked, work, changed, data, level)
        return int(self.ranked.best[first]) if first != NOBODY else -1

    def certain_length(self, arm: int, prospect: Prospect, data: Data, work: RankedWork) -> int:
        """Return for how many pulls, from 1 to its limit, `arm` is certain to stay the choice."""
        if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
            return 1
        at = tangents(prospect, data.pulls[arm], data.sums[arm])
        return 1 + int(length_of_choice(self.ranked, arm, at, prospect, data, work))

    def empty_length(self, arm: int, prospect: Prospect, data: Data, work: RankedWork) -> float:
        """Return for how many pulls of `arm` every model surely stays out."""
        if prospect.t + 1 < FIRST_TIME:
            return 0.0
        at = tangents(prospect, data.pulls[arm], data.sums[arm])
        return length_of_silence(self.ranked, arm, at, prospect, work)
