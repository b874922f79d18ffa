"""Cells of a finite structure: every model is a point."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Box, Data, Prospect
from structured_bandits.planning.tangents import (
    FIRST_TIME,
    Tangents,
    limits_for,
    pulls_above_floor,
    pulls_below_ceiling,
    pulls_close_enough,
    pulls_refuted,
    pulls_unreached,
    tangents,
)
from structured_bandits.planning.watches import (
    INSIDE,
    Ranges,
    Watches,
    draw_gap,
    fresh_watches,
    keeps_out,
    nothing_comes_in,
    pulls_gaps_hold,
    set_watch,
    strongest_watch,
    update_watches,
)
from structured_bandits.records import Record


@compilable
def first_out(table: Floats, model: int, box: Box) -> int:
    """Return the first arm on which a model is outside the open box, -1 if it is inside."""
    for arm in range(len(box.low)):
        if not box.low[arm] < table[model, arm] < box.high[arm]:
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

    def fresh_notes(self) -> Floats:
        """Return nothing: models need no memory."""
        return np.zeros(0)

    def best_arms_in(self, box: Box, found: Flags, notes: Floats) -> bool:
        """Mark the arms that are best in some model inside the open box; is there a model at all?"""
        found[:] = False
        alive = False
        for model in range(len(self.best)):
            arm = self.best[model]
            if not found[arm] and first_out(self.table, model, box) < 0:
                found[arm] = True
                alive = True
        return alive

    def optimistic_arm(self, box: Box, notes: Floats) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        for model in self.ranking:
            if first_out(self.table, model, box) < 0:
                return int(self.best[model])
        return -1

    def workspace(self) -> Watches:
        """Return the memory of `choose` and the questions after it."""
        return fresh_watches(len(self.best), self.arm_count())

    def choose(self, changed: int, data: Data, budget: float, box: Box, work: Watches) -> int:
        """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
        ranges = Ranges(self.table, self.table, self.ranking)
        update_watches(ranges, work, changed, data, budget, box)
        if work.size[0] == 0:
            return -1
        return int(self.best[self.ranking[work.inside[0]]])

    def certain_length(self, arm: int, prospect: Prospect, data: Data, work: Watches) -> int:
        """Return a number of pulls, from 1 to its limit, in which `arm` is certain to stay the choice.

        Each condition by its tangent (docs/planning.md 5.3): first for the models inside, which is
        all if the gaps say that no other comes in meanwhile, then for all.
        """
        if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
            return 1
        at = tangents(prospect, data.pulls[arm], data.sums[arm])
        limit = prospect.limit - 1.0
        length = choice_length(self, arm, at, limit, work.inside[: work.size[0]], work)
        if length >= 1.0 and not nothing_comes_in(at, arm, length, work):
            length = choice_length(self, arm, at, length, work.every, work)
        return 1 + int(length)

    def empty_length(self, arm: int, prospect: Prospect, data: Data, work: Watches) -> float:
        """Return for how many pulls of `arm` every model surely stays out."""
        if prospect.t + 1 < FIRST_TIME:
            return 0.0
        return pulls_gaps_hold(tangents(prospect, data.pulls[arm], data.sums[arm]), arm, work)


@compilable
def choice_length(
    cells: FiniteCells, arm: int, at: Tangents, limit: float, ranks: Ints, work: Watches
) -> float:
    """Return for how many pulls after the first, at most `limit`, these models let `arm` be the choice.

    Down the ranking: models of `arm` inside protect the choice. They have to cover every mean that may
    come, from above (`pulls_above_floor`), between two of them (`pulls_close_enough`) and from below
    (`pulls_below_ceiling`). A model of another arm is no threat as long as it is refuted, out of
    reach, or outranked by a protector below lo_j + r_j. Further down the ranking protectors are lower,
    which helps for longer, but threats are more; the walk ends when nothing can be gained. A threat
    gets another watch on the way if that keeps it out for longer.
    """
    ranges = Ranges(cells.table, cells.table, cells.ranking)
    longest = 0.0
    possible = limit  # as far as covers and threats met so far allow
    limits = limits_for(at, possible)
    outranks = 0.0  # how long the lowest protector so far does; negative: to be computed
    lowest = math.inf
    moved = False
    for rank in ranks:
        watch = work.watch[rank]
        refuted = watch >= 0 and watch != arm
        if refuted and work.strength[watch] >= limits.strength:
            continue
        model = cells.ranking[rank]
        mean = cells.table[model, arm]
        if watch >= 0 and not limits.unreached_low <= mean <= limits.unreached_high:
            continue
        if refuted:
            away = cells.table[model, watch]
            if keeps_out(work, watch, away, away) >= limits.strength:
                continue
        before = possible
        if cells.best[model] == arm:
            if watch == INSIDE:
                if lowest == math.inf:
                    possible = min(possible, pulls_above_floor(at, mean))
                elif lowest - mean >= limits.close:
                    longest = max(longest, min(possible, pulls_below_ceiling(at, lowest)))
                    possible = min(possible, pulls_close_enough(at, lowest - mean))
                lowest = mean
                outranks = -1.0
                if mean < limits.ceiling:
                    break
        else:
            if outranks < 0.0:
                outranks = pulls_below_ceiling(at, lowest)
                longest = max(longest, min(possible, outranks))
            harmless = outranks
            if watch != INSIDE and outranks < possible:
                other, strength = strongest_watch(ranges, model, work, arm)
                kept = pulls_refuted(at, strength)
                harmless = max(outranks, kept, pulls_unreached(at, mean))
                if kept > 0.0 and other != watch:
                    set_watch(ranges, rank, other, work)
                    moved = True
            possible = min(possible, harmless)
            if longest >= possible:
                break
        if possible < 1.0:
            break
        if possible < before:
            limits = limits_for(at, possible)
    if moved:
        draw_gap(ranges, work, arm)
    if lowest < math.inf:
        longest = max(longest, min(possible, pulls_below_ceiling(at, lowest)))
    return longest
