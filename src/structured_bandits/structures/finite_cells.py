"""Cells of a finite structure: every model is a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.records import Record
from structured_bandits.structures.confidence import confidence_box, confidence_interval
from structured_bandits.structures.tangents import (
    FIRST_TIME,
    stays_above,
    stays_below,
    stays_close,
    stays_out_of_reach,
    stays_refuted,
    surely_below,
    surely_close,
    surely_out_of_reach,
    surely_refuted,
    tangents,
)


@compilable
def is_out(table: Floats, model: int, arm: int, low: Floats, high: Floats) -> bool:
    """Is a model outside the open box on this arm?"""
    return not low[arm] < table[model, arm] < high[arm]


@compilable
def first_out(table: Floats, model: int, low: Floats, high: Floats) -> int:
    """Return the first arm on which a model is outside the open box, -1 if it is inside."""
    for arm in range(len(low)):
        if not low[arm] < table[model, arm] < high[arm]:
            return arm
    return -1


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
            if not found[arm] and first_out(self.table, model, low, high) < 0:
                found[arm] = True
                alive = True
        return alive

    def optimistic_arm(self, low: Floats, high: Floats) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        for model in self.ranking:
            if first_out(self.table, model, low, high) < 0:
                return int(self.best[model])
        return -1

    def workspace(self) -> Floats:
        """Return the memory of `choose` and `sure_pulls`: watches, excesses, and the pulls last seen.

        A model outside the set is watched: work[0] has one arm that keeps it out, counted from 1, and
        work[1] its excess, pulls * distance^2, which keeps it out until the budget exceeds it. A model
        inside has the watch 0.
        """
        return np.zeros((2, len(self.best) + self.arm_count()))

    def choose(
        self, pulls: Ints, sums: Floats, budget: float, low: Floats, high: Floats, work: Floats
    ) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty.

        Boxes of arms without new data only grow, so a model inside can leave only by an arm that was
        pulled, and a model outside needs a look only if its watched arm was, or if the budget has
        passed its excess (PLANNING, incremental set).
        """
        models = len(self.best)
        seen = work[0, models:]
        moved = -1
        several = False
        for arm in range(len(pulls)):
            if pulls[arm] != seen[arm]:
                seen[arm] = pulls[arm]
                several = several or moved >= 0
                moved = arm
        if moved >= 0:
            confidence_interval(moved, pulls, sums, budget, low, high)
        boxed = False  # are the intervals of all arms written?
        surely = budget * (1.0 + 1e-12)
        for model in range(models):
            watch = int(work[0, model]) - 1
            if watch < 0:
                if moved < 0 or not (several or is_out(self.table, model, moved, low, high)):
                    continue
                out = moved
            else:
                if watch != moved and not several and work[1, model] > surely:
                    continue
                if watch != moved:
                    confidence_interval(watch, pulls, sums, budget, low, high)
                out = watch
            if not is_out(self.table, model, out, low, high):
                if not boxed:
                    confidence_box(pulls, sums, budget, low, high)
                    boxed = True
                out = first_out(self.table, model, low, high)
            work[0, model] = out + 1
            if out >= 0:
                distance = self.table[model, out] - sums[out] / pulls[out]
                work[1, model] = pulls[out] * distance * distance
        for model in self.ranking:
            if work[0, model] == 0.0:
                return int(self.best[model])
        return -1

    def sure_pulls(
        self,
        arm: int,
        t: int,
        limit: int,
        pulls: Ints,
        sums: Floats,
        factor: float,
        bottom: float,
        top: float,
        work: Floats,
        lengths: Ints,
    ) -> int:
        """Return a number of pulls, from 1 to `limit`, in which `arm` is certain to stay the choice.

        The theorem of PLANNING, down the ranking, each condition by its tangent. Models of `arm` in the
        set protect the choice: they have to cover every mean that may come, from above
        (`stays_above`), between two of them (`stays_close`) and from below (`stays_below`). A model of
        another arm is no threat as long as it is refuted, out of reach, or outranked by a protector
        below lo_j + r_j. Further down the ranking protectors are lower, which lasts longer, but
        threats are more; the walk ends when nothing can be gained.
        """
        if pulls[arm] == 0 or t + 1 < FIRST_TIME:
            return 1
        at = tangents(t, pulls[arm], sums[arm], factor, bottom, top)
        sure = 0.0  # pulls after the first
        possible = float(limit - 1)  # as far as covers and threats met so far allow
        outranks = 0.0  # how long the lowest protector so far does
        lowest = math.inf
        for model in self.ranking:
            mean = self.table[model, arm]
            watch = work[0, model]
            if self.best[model] == arm:
                if watch > 0.0:
                    continue
                if lowest == math.inf:
                    possible = min(possible, stays_above(at, mean))
                elif not surely_close(at, lowest - mean, possible):
                    possible = stays_close(at, lowest - mean)
                lowest = mean
                outranks = -1.0  # not computed before it is needed
                if surely_below(at, mean, possible):
                    break
            else:
                if outranks < 0.0:
                    outranks = stays_below(at, lowest)
                    sure = max(sure, min(possible, outranks))
                refuted = watch > 0.0 and watch != arm + 1.0
                if refuted and surely_refuted(at, work[1, model], possible):
                    continue
                if surely_out_of_reach(at, mean, possible):
                    continue
                harmless = max(outranks, stays_out_of_reach(at, mean))
                if refuted:
                    harmless = max(harmless, stays_refuted(at, work[1, model]))
                possible = min(possible, harmless)
                if sure >= possible:
                    return 1 + int(sure)
        if lowest < math.inf:
            sure = max(sure, min(possible, stays_below(at, lowest)))
        return 1 + int(sure)

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
