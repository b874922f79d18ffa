"""Cells of a finite structure: every model is a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.records import Record
from structured_bandits.structures.confidence import Reach


@compilable
def fits(table: Floats, model: int, low: Floats, high: Floats) -> bool:
    """Is a model of the table inside the open box?"""
    for arm in range(len(low)):
        if not low[arm] < table[model, arm] < high[arm]:
            return False
    return True


class _FiniteCells(NamedTuple):
    table: Floats  # models x arms
    best: Ints  # best arm of each model, the lowest among equals
    ranking: Ints  # models by falling value, then by rising best arm


class FiniteCells(Record, _FiniteCells):
    """The models of a finite structure and the questions that policies ask of them."""

    def __new__(cls, table: Floats) -> FiniteCells:
        """Rank the models of `table` (models x arms)."""
        best = table.argmax(axis=1).astype(np.int64)
        value = table[np.arange(len(table)), best]
        return super().__new__(cls, table, best, np.lexsort((best, -value)).astype(np.int64))

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.table.shape[1]

    def best_arms_in(self, low: Floats, high: Floats, found: Flags) -> bool:
        """Mark the arms that are best in some model inside the open box; is there a model at all?"""
        found[:] = False
        alive = False
        for model in range(len(self.best)):
            arm = self.best[model]
            if not found[arm] and fits(self.table, model, low, high):
                found[arm] = True
                alive = True
        return alive

    def optimistic_arm(self, low: Floats, high: Floats) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        for model in self.ranking:
            if fits(self.table, model, low, high):
                return int(self.best[model])
        return -1

    def workspace(self) -> Floats:
        """Return the memory that `screen` and `stays` need."""
        return np.zeros(len(self.best))

    def screen(
        self, arm: int, pulls: Ints, sums: Floats, budget: float, margin: float, work: Floats
    ) -> None:
        """Note the budget at which each model fits the data of all arms but `arm`.

        That is the largest pulls * (mean - model)^2; once a model fits, it goes on fitting while only
        `arm` is pulled (PLANNING, E). Distances are taken `margin` too short, so a threat counts too
        early rather than too late. Models of `arm` itself protect its choice if they fit now, with
        the margin to spare: those get 0, the others infinity.
        """
        work[:] = 0.0
        for other in range(len(pulls)):
            if other == arm or pulls[other] == 0:
                continue
            mean = sums[other] / pulls[other]
            radius = math.sqrt(budget / pulls[other]) - margin
            for model in range(len(work)):
                distance = abs(self.table[model, other] - mean)
                if self.best[model] != arm:
                    short = max(0.0, distance - margin)
                    work[model] = max(work[model], pulls[other] * short * short)
                elif distance >= radius:
                    work[model] = math.inf

    def stays(self, arm: int, pulls: Ints, sums: Floats, work: Floats, reach: Reach) -> bool:
        """Is the optimistic choice `arm` at every moment of the reach?

        The theorem of PLANNING, down the ranking: models of `arm` that fit now protect the choice,
        models of other arms that may come to fit threaten it. A protector below lowest + radius
        outranks all that follow (C2), so the walk ends there, provided that the protectors so far
        cover every mean in [lowest, highest]; `uncovered` is the highest mean not yet covered.
        """
        reached = reach.radius - reach.margin
        uncovered = reach.highest
        for model in self.ranking:
            mean = self.table[model, arm]
            if self.best[model] == arm:
                if work[model] > 0.0:
                    continue
                if uncovered - mean >= reached:
                    return False  # the next protector is too low: a gap in the cover
                if mean - uncovered < reached:
                    uncovered = mean - reached
                if mean - reach.lowest < reached:
                    return True  # it has also covered all that was left
            elif reach.band_low < mean < reach.band_high and work[model] <= reach.budget:
                return False
        return False

    def fitting_arm(self, pulls: Ints, sums: Floats) -> int:
        """Return the best arm of the model with the least sum of pulls * (mean - model)^2.

        Only the part that differs between models is summed, which is exact for 0/1 rewards and
        means that are short binary fractions; the first model wins a tie.
        """
        closest = np.inf
        arm = 0
        for model in range(len(self.best)):
            loss = 0.0
            for other in range(len(pulls)):
                mean = self.table[model, other]
                loss += mean * (pulls[other] * mean - 2.0 * sums[other])
            if loss < closest:
                closest = loss
                arm = self.best[model]
        return int(arm)
