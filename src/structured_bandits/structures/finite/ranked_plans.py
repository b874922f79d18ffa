"""For how many pulls SUCB's choice is certain on a table of models, in closed form.

By the tangents of each condition (docs/planning.md 5.3), in one walk down the ranking.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data, Prospect
from structured_bandits.planning.tangents import (
    Limits,
    Tangents,
    limits_for,
    pulls_above_floor,
    pulls_below_budget,
    pulls_below_ceiling,
    pulls_close_enough,
    pulls_unreached,
)
from structured_bandits.structures.finite.ranks import (
    FIRST,
    KNOWN,
    NEEDED,
    RankedTable,
    RankedWork,
    endured_budget,
    look_further,
    needed_excess,
    strongest_watch,
)

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

    It may be out of reach of `arm`, or another arm keeps it out; the one that does so most strongly
    counts. If that one lasts for the length, it becomes the watch.
    """
    unreached = pulls_unreached(at, table.columns[arm, rank])
    if unreached >= length:
        return Kept(unreached, math.inf)
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

    Close models often stand together, so the next few are looked at one after the other; then all,
    without a way out of the loop, which takes several at a time.
    """
    low, high = reach.limits.unreached_low, reach.limits.unreached_high
    needed, end = reach.excess, len(column)
    for rank in range(first, min(end, first + FEW)):
        if (excess[rank] < needed or watch[rank] == arm) and low <= column[rank] <= high:
            return rank
    first += FEW
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
    rank = first_close(column, excess, watch, arm, 0, reach)
    while rank < end:
        if table.best[rank] != spared:
            kept = kept_out_for(table, rank, arm, at, reach.length, work)
            if kept.length < reach.length:
                reach = reach_of(at, kept, work)
                if kept.length < 1.0:
                    return reach
        rank = first_close(column, excess, watch, arm, rank + 1, reach)
    return reach


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
def next_protector(
    table: RankedTable,
    arm: int,
    rank: int,
    outranked: float,
    at: Tangents,
    reach: Reach,
    data: Data,
    level: Any,
    work: RankedWork,
) -> tuple[int, Reach]:
    """Go down from a protector to the next, past threats that the first one outranks for some time.

    Return the rank of the next one, or the end, and the reach as far as the threats allow it.
    """
    column = table.columns[arm]
    known = work.counts[KNOWN]
    rank += 1
    while rank < len(column) and reach.length > outranked:
        if rank >= known:
            known = look_further(table, data, level, work)
        mean, excess = column[rank], work.excess[rank]
        if table.best[rank] == arm:
            if excess < 0.0:
                break
        elif excess < 0.0:
            reach = reach_of(at, Kept(outranked, math.inf), work)
        elif (excess < reach.excess or work.watch[rank] == arm) and (
            reach.limits.unreached_low <= mean <= reach.limits.unreached_high
        ):
            kept = kept_out_for(table, rank, arm, at, reach.length, work)
            if kept.length < reach.length:
                reach = reach_of(at, kept, work)
        rank += 1
    return rank, reach


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
    while rank < len(column) and reach.length >= 1.0:
        rank = lowest_of_run(table, arm, rank, reach, work)
        lowest = column[rank]
        outranked = pulls_below_ceiling(at, lowest)
        longest = max(longest, min(reach.length, outranked))
        rank, reach = next_protector(
            table, arm, rank, outranked, at, reach, data, prospect.level, work
        )
        if longest >= reach.length:
            break
        if rank < len(column) and lowest - column[rank] >= reach.limits.close:
            close = min(reach.length, pulls_close_enough(at, lowest - column[rank]))
            reach = reach_of(at, Kept(close, math.inf), work)
    work.counts[NEEDED] = max(work.counts[NEEDED], min(rank + 1, len(column)))
    return longest
