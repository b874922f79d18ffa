"""For how many pulls SUCB's choice is certain on finitely many models.

With Hoeffding's intervals in closed form, by tangents; with KL intervals by a search over lengths, whose
test goes down the ranking in the same way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from structured_bandits.arrays import Ints
from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import Ahead, Data, Prospect, after_pulls
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.lookahead import certain_pulls
from structured_bandits.planning.tangents import (
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
    comes_in,
    draw_gap,
    keeps_out,
    nothing_comes_in,
    pulls_gaps_hold,
    set_watch,
    strongest_watch,
)
from structured_bandits.protocol import Now

if TYPE_CHECKING:
    from structured_bandits.structures.finite.cells import FiniteCells

NO_COVER = -1  # instead of a rank


def tangent_length(
    level: Hoeffding, cells: FiniteCells, arm: int, prospect: Prospect, data: Data, work: Watches
) -> int:
    """Find the length by the tangents of each condition (docs/planning.md 5.3).

    First for the models inside, which is all if the gaps say that no other comes in meanwhile, then
    for all.
    """
    at = tangents(prospect, data.pulls[arm], data.sums[arm])
    limit = prospect.limit - 1.0
    inside = work.inside[: work.size[0]]
    length = length_by_tangents(cells, arm, at, limit, inside, level, work)
    if length >= 1.0 and not nothing_comes_in(at, arm, length, work):
        length = length_by_tangents(cells, arm, at, length, work.every, level, work)
    return 1 + int(length)


def searched_length(
    level: Intervals, cells: FiniteCells, arm: int, prospect: Prospect, data: Data, work: Watches
) -> int:
    """Search for the length; the search begins at the one found last for this arm."""
    outlook = Outlook(cells, prospect, data, work, work.lengths, prospect.bottom)
    return certain_pulls(outlook, outlook, arm, Now(prospect.t, prospect.limit))


#: A number of pulls, from 1 to its limit, in which an arm is certain to stay the choice.
choice_length = chosen_by_class({Hoeffding: tangent_length}, searched_length)


def gaps_length(level: Hoeffding, arm: int, prospect: Prospect, data: Data, work: Watches) -> float:
    """By the gaps in which no arm's interval holds a model."""
    return pulls_gaps_hold(tangents(prospect, data.pulls[arm], data.sums[arm]), arm, work)


def no_length(level: Intervals, arm: int, prospect: Prospect, data: Data, work: Watches) -> float:
    """Return 0.0: with KL intervals an empty set is looked at again after each pull."""
    return 0.0


#: For how many pulls of an arm every model surely stays out.
outside_length = chosen_by_class({Hoeffding: gaps_length}, no_length)


class Outlook(NamedTuple):
    """What is known when the length of a plan is searched."""

    cells: FiniteCells
    prospect: Prospect
    data: Data
    work: Watches
    lengths: Ints
    bottom: float  # the least reward

    def certain(self, state: Any, arm: int, now: Now, extra: int) -> bool:
        """Does `arm` stay the choice over `extra` more pulls of it, whatever comes?

        Models of `arm` that are inside now protect the choice: they have to cover every mean that may
        come. The one that completes the cover outranks all threats below it, and no other threat may
        come in (docs/planning.md 16.5).
        """
        cells, work = self.cells, self.work
        ahead = after_pulls(self.data.pulls[arm], self.data.sums[arm], extra, self.prospect)
        completing = covering_rank(cells, arm, work, ahead)
        ranges = Ranges(cells.table, cells.table, cells.ranking)
        for rank in range(completing):
            other = cells.best[cells.ranking[rank]] != arm
            if other and comes_in(ranges, work, rank, arm, ahead):
                return False
        return completing != NO_COVER


@compilable
def covering_rank(cells: FiniteCells, arm: int, work: Watches, ahead: Ahead) -> int:
    """Return the rank of the model that completes the cover of `arm`, NO_COVER if there is none.

    The interval of every mean that may come has to hold a model of `arm` that is inside now. Down the
    ranking: the first has to reach the highest mean, each further one has to meet the one before it,
    and nothing is left to cover as soon as one is below the ceiling.
    """
    if ahead.roof <= ahead.floor:
        return NO_COVER  # rounding is all there is
    reached = math.inf  # the lowest so far
    for rank in work.inside[: work.size[0]]:
        model = cells.ranking[rank]
        mean = cells.table[model, arm]
        if cells.best[model] != arm or mean >= ahead.roof:
            continue
        if reached == math.inf:
            if mean <= ahead.floor:
                return NO_COVER
        elif not ahead.level.meets(ahead.pulls, mean, reached, ahead.margin):
            return NO_COVER
        if mean < ahead.ceiling:
            return int(rank)
        reached = mean
    return NO_COVER


@compilable
def length_by_tangents(
    cells: FiniteCells,
    arm: int,
    at: Tangents,
    limit: float,
    ranks: Ints,
    level: Intervals,
    work: Watches,
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
            if keeps_out(work, watch, away, away, level) >= limits.strength:
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
                other, strength = strongest_watch(ranges, model, work, arm, level)
                kept = pulls_refuted(at, strength)
                harmless = max(outranks, kept, pulls_unreached(at, mean))
                if kept > 0.0 and other != watch:
                    set_watch(ranges, rank, other, work, level)
                    moved = True
            possible = min(possible, harmless)
            if longest >= possible:
                break
        if possible < 1.0:
            break
        if possible < before:
            limits = limits_for(at, possible)
    if moved:
        draw_gap(ranges, work, arm, level)
    if lowest < math.inf:
        longest = max(longest, min(possible, pulls_below_ceiling(at, lowest)))
    return longest
