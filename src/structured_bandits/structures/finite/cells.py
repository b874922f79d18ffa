"""Cells of a finite structure: every model is a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Prospect
from structured_bandits.planning.tangents import (
    FIRST_TIME,
    Tangents,
    stays_above,
    stays_below,
    stays_close,
    stays_out_of_reach,
    stays_refuted,
    sure_for,
    tangents,
)
from structured_bandits.planning.watches import (
    INSIDE,
    Watches,
    draw_gap,
    fresh_watches,
    gaps_last,
    keeps_out,
    nothing_comes_in,
    set_watch,
    strongest_watch,
    take_in,
)
from structured_bandits.records import Record


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

    def workspace(self) -> Watches:
        """Return the memory of `choose` and `sure_pulls`."""
        return fresh_watches(len(self.best), self.arm_count())

    def choose(
        self,
        news: int,
        pulls: Ints,
        sums: Floats,
        budget: float,
        low: Floats,
        high: Floats,
        work: Watches,
    ) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        table = self.table
        take_in(table, table, self.ranking, work, news, pulls, sums, budget, low, high)
        if work.size[0] == 0:
            return -1
        return int(self.best[self.ranking[work.inside[0]]])

    def sure_pulls(
        self,
        arm: int,
        prospect: Prospect,
        pulls: Ints,
        sums: Floats,
        work: Watches,
        lengths: Ints,
    ) -> int:
        """Return a number of pulls, from 1 to `limit`, in which `arm` is certain to stay the choice.

        The theorem of PLANNING, each condition by its tangent: first for the models inside, which is
        all if the gaps say that no other comes in meanwhile, then for all.
        """
        if pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
            return 1
        at = tangents(prospect, pulls[arm], sums[arm])
        limit = prospect.limit - 1.0
        sure = choice_lasts(self, arm, at, limit, work.inside[: work.size[0]], work)
        if sure >= 1.0 and not nothing_comes_in(at, arm, sure, work):
            sure = choice_lasts(self, arm, at, sure, work.every, work)
        return 1 + int(sure)

    def stays_empty(
        self, arm: int, prospect: Prospect, pulls: Ints, sums: Floats, work: Watches
    ) -> float:
        """Return for how many pulls of `arm` every model surely stays out."""
        if prospect.t + 1 < FIRST_TIME:
            return 0.0
        return gaps_last(tangents(prospect, pulls[arm], sums[arm]), arm, work)

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


@compilable
def choice_lasts(
    cells: FiniteCells, arm: int, at: Tangents, limit: float, ranks: Ints, work: Watches
) -> float:
    """Return for how many pulls after the first, at most `limit`, these models let `arm` be the choice.

    Down the ranking: models of `arm` inside protect the choice. They have to cover every mean that may
    come, from above (`stays_above`), between two of them (`stays_close`) and from below
    (`stays_below`). A model of another arm is no threat as long as it is refuted, out of reach, or
    outranked by a protector below lo_j + r_j. Further down the ranking protectors are lower, which
    lasts longer, but threats are more; the walk ends when nothing can be gained. A threat gets
    another watch on the way if that keeps it out for longer.
    """
    longest = 0.0
    possible = limit  # as far as covers and threats met so far allow
    sure = sure_for(at, possible)
    outranks = 0.0  # how long the lowest protector so far does; negative: to be computed
    lowest = math.inf
    moved = False
    for rank in ranks:
        watch = work.watch[rank]
        refuted = watch >= 0 and watch != arm
        if refuted and work.strength[watch] >= sure.refuted:
            continue
        model = cells.ranking[rank]
        mean = cells.table[model, arm]
        if watch >= 0 and not sure.low <= mean <= sure.high:
            continue
        if refuted:
            away = cells.table[model, watch]
            if keeps_out(work, watch, away, away) >= sure.refuted:
                continue
        before = possible
        if cells.best[model] == arm:
            if watch == INSIDE:
                if lowest == math.inf:
                    possible = min(possible, stays_above(at, mean))
                elif lowest - mean >= sure.close:
                    longest = max(longest, min(possible, stays_below(at, lowest)))
                    possible = min(possible, stays_close(at, lowest - mean))
                lowest = mean
                outranks = -1.0
                if mean < sure.below:
                    break
        else:
            if outranks < 0.0:
                outranks = stays_below(at, lowest)
                longest = max(longest, min(possible, outranks))
            harmless = outranks
            if watch != INSIDE and outranks < possible:
                other, strength = strongest_watch(cells.table, cells.table, model, work, arm)
                kept = stays_refuted(at, strength)
                harmless = max(outranks, kept, stays_out_of_reach(at, mean))
                if kept > 0.0 and other != watch:
                    set_watch(cells.table, cells.table, model, rank, other, work)
                    moved = True
            possible = min(possible, harmless)
            if longest >= possible:
                break
        if possible < 1.0:
            break
        if possible < before:
            sure = sure_for(at, possible)
    if moved:
        draw_gap(cells.table, cells.table, cells.ranking, work, arm)
    if lowest < math.inf:
        longest = max(longest, min(possible, stays_below(at, lowest)))
    return longest
