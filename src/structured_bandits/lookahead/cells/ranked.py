"""Models of a table in the order of their ranks: for SUCB with Hoeffding's intervals, in closed form.

By the tangents of each condition (docs/notes/lookahead.md 5.3), in one walk down the ranking.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data
from structured_bandits.base.records import Record
from structured_bandits.lookahead.cells.ranks import (
    FIRST,
    KNOWN,
    NEEDED,
    NOBODY,
    RankedTable,
    RankedWork,
    bounds_of,
    endured_budget,
    fresh_work,
    look_further,
    needed_excess,
    still_watched,
    strongest_watch,
    update_ranks,
)
from structured_bandits.lookahead.prospect import Prospect
from structured_bandits.lookahead.tangents import (
    FIRST_TIME,
    Limits,
    Tangents,
    limits_for,
    pulls_above_floor,
    pulls_below_budget,
    pulls_below_ceiling,
    pulls_close_enough,
    pulls_unreached,
    tangents,
)
from structured_bandits.structures.finite.cells import FiniteCells, TableQuestions


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


def workspace(cells: RankedCells) -> RankedWork:
    """Return the memory of `choose` and the questions after it."""
    return fresh_work(len(cells.best), cells.arm_count())


def choose(
    cells: RankedCells, changed: int, data: Data, level: Any, box: Box, work: RankedWork
) -> int:
    """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
    first = update_ranks(cells.ranked, work, changed, data, level)
    return int(cells.ranked.best[first]) if first != NOBODY else -1


def certain_length(
    cells: RankedCells, arm: int, prospect: Prospect, data: Data, work: RankedWork
) -> int:
    """Return for how many pulls, from 1 to its limit, `arm` is certain to stay the choice."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    at = tangents(prospect, data.pulls[arm], data.sums[arm])
    return 1 + int(length_of_choice(cells.ranked, arm, at, prospect, data, work))


def empty_length(
    cells: RankedCells, arm: int, prospect: Prospect, data: Data, work: RankedWork
) -> float:
    """Return for how many pulls of `arm` every model surely stays out."""
    if prospect.t + 1 < FIRST_TIME:
        return 0.0
    at = tangents(prospect, data.pulls[arm], data.sums[arm])
    return length_of_silence(cells.ranked, arm, at, prospect, work)


RANK_BITS = np.int64(0xFFFF)  # the last bits of a double: a relative 2^-36 of it
NO_KEY = np.int64(2**63 - 1)  # more than the bits of any excess
FEW = 16  # models that are looked at faster one by one


class Kept(NamedTuple):
    """How long a model surely stays out, and the excess that makes it so, inf if none does."""

    length: float
    excess: float


@compilable
def kept_out_for(
    table: RankedTable, rank: int, arm: int, at: Tangents, length: float, work: RankedWork
) -> Kept:
    """Return for how many pulls of `arm` a model surely stays out, as far as `length` matters.

    It may be out of reach of `arm`, or another arm keeps it out: its watch, which was the strongest when
    it was sought last. If it has to be sought anew and lasts for the length, it becomes the watch.
    """
    unreached = pulls_unreached(at, table.columns[arm, rank])
    if unreached >= length:
        return Kept(unreached, math.inf)
    other, most = work.watch[rank], work.excess[rank]
    if other == arm:
        other, most = strongest_watch(table, rank, arm, work)
    refuted = pulls_below_budget(at, endured_budget(work, most))
    if refuted >= length:
        work.watch[rank] = other
        work.excess[rank] = most
    return Kept(refuted, most) if refuted > unreached else Kept(unreached, math.inf)


class Reach(NamedTuple):
    """A number of pulls, and what holds for so long."""

    length: float
    limits: Limits
    excess: float  # a watch with this excess or more holds


@compilable
def first_close(
    column: Floats,
    excess: Floats,
    watch: Ints,
    arm: int,
    first: int,
    reach: Reach,
) -> int:
    """Return the first model, from `first` on, that might come in within reach; else the end.

    Close models often stand together, so the next few after one are looked at one after the other; then
    all, without a way out of the loop, which takes several at a time.
    """
    low, high = reach.limits.unreached_low, reach.limits.unreached_high
    needed, end = reach.excess, len(column)
    few = min(end, first + FEW) if first > 0 else 0
    for rank in range(first, few):
        if (excess[rank] < needed or watch[rank] == arm) and low <= column[rank] <= high:
            return rank
    first = max(first, few)
    if first >= end:
        return end
    column, excess, watch = column[first:], excess[first:], watch[first:]
    found = len(column)
    for place in range(len(column)):
        reached = (column[place] >= low) & (column[place] <= high)
        close = reached & ((excess[place] < needed) | (watch[place] == arm))
        found = min(found, place if close else len(column))
    return first + found


@compilable
def weakest_watch(column: Floats, excess: Floats, watch: Ints, arm: int, reach: Reach) -> int:
    """Return about the first model that time brings in, as the budget grows; or the end.

    It is only a guess of which model cuts the plan most. It is looked at first, so that the plan is cut
    once, and not bit by bit by one model after the other. Numbers that are not negative are in the order
    of their bits; the last bits hold the rank here, so one minimum finds both.
    """
    low, high = reach.limits.unreached_low, reach.limits.unreached_high
    bits = excess.view(np.int64)
    least = NO_KEY
    for rank in range(len(column)):
        candidate = (column[rank] >= low) & (column[rank] <= high) & (watch[rank] != arm)
        key = (bits[rank] & ~RANK_BITS) | rank
        least = min(least, key | (0 if candidate else NO_KEY))
    return int(least & RANK_BITS) if least != NO_KEY else len(column)


@compilable
def reach_of(at: Tangents, kept: Kept, work: RankedWork) -> Reach:
    """Return what holds for as long as a model is kept out.

    Many models may have the very excess that makes it so; they need not be looked at.
    """
    limits = limits_for(at, kept.length)
    return Reach(kept.length, limits, min(kept.excess, needed_excess(work, limits.budget)))


@compilable
def reach_out(
    table: RankedTable,
    arm: int,
    spared: int,
    end: int,
    at: Tangents,
    reach: Reach,
    work: RankedWork,
) -> Reach:
    """Cut a reach to where the models before rank `end` surely stay out.

    Those whose best arm is `spared` may come in.
    """
    column, excess, watch = table.columns[arm][:end], work.excess[:end], work.watch[:end]
    rank, start = weakest_watch(column, excess, watch, arm, reach), 0
    while True:
        if rank < end and table.best[rank] != spared:
            kept = kept_out_for(table, rank, arm, at, reach.length, work)
            if kept.length < reach.length:
                reach = reach_of(at, kept, work)
                if kept.length < 1.0:
                    return reach
        rank = first_close(column, excess, watch, arm, start, reach)
        if rank == end:
            return reach
        start = rank + 1


@compilable
def length_of_silence(
    table: RankedTable, arm: int, at: Tangents, prospect: Prospect, work: RankedWork
) -> float:
    """Return for how many pulls of `arm`, within the prospect's limit, every model surely stays out."""
    reach = reach_of(at, Kept(prospect.limit - 1.0, math.inf), work)
    return reach_out(table, arm, -1, len(table.best), at, reach, work).length


@compilable
def lowest_of_run(table: RankedTable, arm: int, rank: int, reach: Reach, work: RankedWork) -> int:
    """Return a protector that is as low as need be, or about the lowest of the run that holds `rank`.

    A run is a row of ranks with the same best arm, so there are no threats between. Two protectors that
    are close leave no mean between them uncovered.
    """
    column = table.columns[arm]
    last = min(table.ends[rank], work.counts[KNOWN] - 1)
    while rank < last and column[rank] >= reach.limits.ceiling:
        trial = (rank + last + 1) // 2
        if work.excess[trial] < 0.0 and column[rank] - column[trial] < reach.limits.close:
            rank = trial
        else:
            last = trial - 1
    return rank


@compilable
def following_protector(
    table: RankedTable, arm: int, rank: int, at: Tangents, data: Data, level: Any, work: RankedWork
) -> int:
    """Return the rank of the next model inside whose best arm is `arm`, or the end if there is none.

    It has to lie above the lower end of the arm's interval. A model that is not known is mostly kept out
    by the arm that kept it out when it was last known.
    """
    column = table.columns[arm]
    rank = table.following[rank]
    while rank < len(column) and column[rank] > at.mean - at.radius:
        if rank < work.counts[KNOWN]:
            if work.excess[rank] < 0.0:
                return rank
        elif not still_watched(table, rank, bounds_of(work, level), work):
            while rank >= work.counts[KNOWN]:
                look_further(table, data, level, work)
            continue
        rank = table.following[rank]
    return len(column)


@compilable
def reach_between(
    table: RankedTable,
    arm: int,
    ranks: tuple[int, int],
    outranked: float,
    at: Tangents,
    reach: Reach,
    work: RankedWork,
) -> Reach:
    """Cut a reach to where a threat between the ranks of two protectors may come in.

    The first protector outranks it for some time, `outranked`, in which it does no harm; whether the
    reach is cut to that or to less makes no difference.
    """
    end = ranks[1]
    column, excess, watch = table.columns[arm][:end], work.excess[:end], work.watch[:end]
    rank = first_close(column, excess, watch, arm, ranks[0] + 1, reach)
    while rank < end and reach.length > outranked:
        if table.best[rank] != arm:
            if excess[rank] < 0.0:
                return reach_of(at, Kept(outranked, math.inf), work)
            kept = kept_out_for(table, rank, arm, at, reach.length, work)
            if kept.length < reach.length:
                reach = reach_of(at, kept, work)
        rank = first_close(column, excess, watch, arm, rank + 1, reach)
    return reach


@compilable
def length_of_choice(
    table: RankedTable, arm: int, at: Tangents, prospect: Prospect, data: Data, work: RankedWork
) -> float:
    """Return for how many pulls after the first, within the limit, `arm` surely stays the choice.

    Models of `arm` inside protect the choice. They have to cover every mean that may come, from above
    (`pulls_above_floor`), between two of them (`pulls_close_enough`) and from below
    (`pulls_below_ceiling`). A model of another arm is no threat as long as it is kept out, or is
    outranked by a protector below lo_j + r_j. So those that rank before the first protector have to stay
    out. Further down protectors are lower, which helps for longer, but threats are more; the walk ends
    when nothing can be gained.
    """
    column, rank = table.columns[arm], work.counts[FIRST]
    last = max(table.least[arm], at.mean - at.radius)  # no protector inside is lower
    possible = min(pulls_above_floor(at, column[rank]), pulls_below_ceiling(at, last))
    possible = min(possible, prospect.limit - 1.0)
    if possible < 1.0:
        return 0.0
    reach = reach_of(at, Kept(possible, math.inf), work)
    reach = reach_out(table, arm, arm, rank, at, reach, work)
    longest = 0.0
    while reach.length >= 1.0:
        rank = lowest_of_run(table, arm, rank, reach, work)
        lowest = column[rank]
        outranked = pulls_below_ceiling(at, lowest)
        longest = max(longest, min(reach.length, outranked))
        work.counts[NEEDED] = max(work.counts[NEEDED], rank + 1)
        if longest >= reach.length:
            break
        higher = rank
        rank = following_protector(table, arm, rank, at, data, prospect.level, work)
        if rank == len(column):
            break
        reach = reach_between(table, arm, (higher, rank), outranked, at, reach, work)
        if longest >= reach.length:
            break
        if lowest - column[rank] >= reach.limits.close:
            close = min(reach.length, pulls_close_enough(at, lowest - column[rank]))
            reach = reach_of(at, Kept(close, math.inf), work)
    return longest
