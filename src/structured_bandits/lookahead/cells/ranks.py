"""Which models of a table fit the data, kept from plan to plan in the order of their ranks.

A model that does not fit is kept out by one arm, its *watch*: its *excess* there, pulls times the
squared distance of the model's mean from the arm's, is at least the budget of Hoeffding's intervals. A
plan moves the mean of one arm, so one pass over a column of the table brings everything up to date
(docs/notes/lookahead.md 6.4). Columns lie in one piece of memory, so that the pass takes several
models at a time, and only the first ranks are looked at: those that plans have needed lately. What is
beyond is
*unknown*, and found out when it is needed.

Excesses are computed with rounding errors; who fits is decided by the comparison of the definition
wherever these could matter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.intervals import RELATIVE_ERROR, Hoeffding
from structured_bandits.base.records import Record
from structured_bandits.lookahead.stopping import Tries, fresh_tries
from structured_bandits.lookahead.witnesses import INSIDE, SEVERAL

NOBODY = -1  # instead of the rank of the first model that fits
UNCHANGED = -2  # instead of a rank from which on models may have come or gone
STEP = 16  # ranks that become known at a time, at least; updates between two looks at who is needed


class _RankedTable(NamedTuple):
    rows: Floats  # models x arms, in the order of the user; for questions about one model
    ranking: Ints  # the row of each rank
    columns: Floats  # arms x models, by rank; for questions about one arm
    best: Ints  # the best arm of each
    ends: Ints  # the last rank of the row of ranks with the same best arm
    following: Ints  # the next rank with the same best arm, or the number of models
    least: Floats  # of each arm: its least mean in a model in which it is best, or inf
    size: float  # of the largest mean


class RankedTable(Record, _RankedTable):
    """The models of a table by rank: by falling value, then by rising best arm."""


class RankedWork(NamedTuple):
    """Which models fit, what keeps the others out, and what was seen of each arm."""

    watch: Ints  # by rank: the arm that keeps the model out, or INSIDE
    excess: Floats  # by rank: pulls * distance^2 on that arm, -1 if the model is inside
    means: Floats  # of each arm
    pulls: Floats
    pulled: Ints  # the arms with pulls, in the first places
    counts: Ints  # see below
    errors: Floats  # what rounding may do to excesses, and up to how many pulls of an arm
    tries: Tries  # what the lengths of streaks that may stop are guessed from


# Places in `counts`: the arms with pulls, the first rank inside, the ranks that are known, the ranks
# that plans have needed lately, and the updates.
PULLED, FIRST, KNOWN, NEEDED, UPDATES = range(5)


@compilable
def fresh_work(models: int, arms: int) -> RankedWork:
    """Return the memory before the first pull, when nothing is known."""
    counts = np.zeros(5, np.int64)
    counts[FIRST] = NOBODY
    return RankedWork(
        np.full(models, INSIDE, np.int64),
        np.full(models, -1.0),
        np.zeros(arms),
        np.zeros(arms),
        np.zeros(arms, np.int64),
        counts,
        np.zeros(2),
        fresh_tries(arms),
    )


@compilable
def needed_excess(work: RankedWork, budget: float) -> float:
    """Return the excess from which on a model surely is out, as long as the budget is at most this."""
    return budget + work.errors[0] * (1.0 + budget)


@compilable
def endured_budget(work: RankedWork, excess: float) -> float:
    """Return the budget that needs this excess."""
    return (excess - work.errors[0]) / (1.0 + work.errors[0])


@compilable
def excess_of(mean: float, arm: int, work: RankedWork) -> float:
    """Return the excess of a model with this mean of `arm`."""
    away = mean - work.means[arm]
    return away * away * work.pulls[arm]


@compilable
def raise_errors(table: RankedTable, work: RankedWork, pulls: float) -> None:
    """Note what rounding may do to excesses of arms with up to so many pulls, and some more.

    A mean or an end of an interval is off by e (|mean| + radius) with e = RELATIVE_ERROR. Let all means
    of models be at most `size`. If the arm's is at most twice that, sqrt(pulls) times a distance is off
    by f (2 size + sqrt(B)), f = e sqrt(pulls), and its square, about the budget B, by less than
    (4 f (1 + 2 size) + (2 f size)^2) (1 + B). Otherwise the distance is at least half the mean, and its
    error is a small part of it (docs/notes/lookahead.md 14.3). The bound follows from the data, not
    from how they came: plans have the same lengths after a restart.
    """
    while work.errors[1] < pulls:
        work.errors[1] = max(4.0 * work.errors[1], 1.0)
    factor = RELATIVE_ERROR * math.sqrt(work.errors[1])
    absolute = 2.0 * factor * table.size
    work.errors[0] = 4.0 * (factor + absolute) + absolute * absolute


@compilable
def note_arm(table: RankedTable, work: RankedWork, arm: int, data: Data) -> None:
    """Note the new data of an arm."""
    if work.pulls[arm] == 0.0:
        work.pulled[work.counts[PULLED]] = arm
        work.counts[PULLED] += 1
    pulls = data.pulls[arm]
    work.pulls[arm] = pulls
    work.means[arm] = data.sums[arm] / pulls
    if pulls > work.errors[1]:
        raise_errors(table, work, pulls)


class Bounds(NamedTuple):
    """Excesses from which on a model surely is out of an interval, and up to which it surely is in."""

    outer: float
    inner: float


@compilable
def bounds_of(work: RankedWork, level: Hoeffding) -> Bounds:
    """Return the bounds at this level."""
    outer = needed_excess(work, level.budget)
    return Bounds(outer, 2.0 * level.budget - outer)


@compilable
def strongest_watch(
    table: RankedTable, rank: int, except_for: int, work: RankedWork
) -> tuple[int, float]:
    """Return the arm on which the excess of a model is largest, other than one, and that excess."""
    strongest = INSIDE
    most = -1.0
    row = table.rows[table.ranking[rank]]
    for place in range(work.counts[PULLED]):
        arm = work.pulled[place]
        excess = excess_of(row[arm], arm, work)
        if excess > most and arm != except_for:
            most = excess
            strongest = arm
    return strongest, most


@compilable
def settle(
    table: RankedTable, rank: int, bounds: Bounds, data: Data, level: Hoeffding, work: RankedWork
) -> None:
    """Find out whether a model fits, by the definition if it is a close thing; note its watch."""
    watch, excess = strongest_watch(table, rank, INSIDE, work)
    if excess < bounds.outer:
        closest, excess = excess, -1.0
        watch = INSIDE
        if closest > bounds.inner:
            for place in range(work.counts[PULLED]):
                arm = work.pulled[place]
                mean = table.columns[arm, rank]
                low, high = level.interval(data.pulls[arm], data.sums[arm])
                if not low < mean < high:
                    watch = arm
                    excess = excess_of(mean, arm, work)
    work.watch[rank] = watch
    work.excess[rank] = excess


@compilable
def still_watched(table: RankedTable, rank: int, bounds: Bounds, work: RankedWork) -> bool:
    """Note the excess of a model on the arm that kept it out when it was last known, if any did.

    Say whether that arm surely keeps it out now.
    """
    watch = work.watch[rank]
    if watch == INSIDE:
        return False
    excess = excess_of(table.columns[watch, rank], watch, work)
    work.excess[rank] = excess
    return excess >= bounds.outer


@compilable
def look_further(table: RankedTable, data: Data, level: Hoeffding, work: RankedWork) -> None:
    """Find out about some more models."""
    known = work.counts[KNOWN]
    end = min(len(work.watch), known + STEP + known // 2)
    bounds = bounds_of(work, level)
    for rank in range(known, end):
        if not still_watched(table, rank, bounds, work):
            settle(table, rank, bounds, data, level, work)
    work.counts[KNOWN] = end


@compilable
def move_column(column: Floats, arm: int, bounds: Bounds, work: RankedWork) -> tuple[int, int]:
    """Write the excesses of the models that `arm` watches; return how many models have to be settled.

    And the rank of the first of them: those inside that may be out of the arm's interval now, and those
    outside whose watch may no longer hold.
    """
    known = len(column)
    excess, watch = work.excess[:known], work.watch[:known]
    mean, pulls = work.means[arm], work.pulls[arm]  # here: a loop that writes would read them anew
    doubts = 0
    first = known
    for rank in range(known):  # without a branch, so that several are looked at at a time
        away = column[rank] - mean
        now = away * away * pulls  # as `excess_of` has it
        held = now if watch[rank] == arm else excess[rank]
        excess[rank] = held
        doubtful = (held < bounds.outer) & ((held >= 0.0) | (now > bounds.inner))
        doubts += doubtful
        first = min(first, rank if doubtful else known)
    return doubts, first


@compilable
def settle_moved(
    table: RankedTable, arm: int, data: Data, level: Hoeffding, work: RankedWork
) -> int:
    """Bring the known models up to date with an arm; return the first rank that may have changed.

    A model that was inside can be put out by this arm only.
    """
    bounds = bounds_of(work, level)
    column = table.columns[arm][: work.counts[KNOWN]]
    doubts, first = move_column(column, arm, bounds, work)
    if doubts == 0:
        return UNCHANGED
    rank = first
    while doubts > 0:
        held = work.excess[rank]
        now = excess_of(column[rank], arm, work)
        if held < 0.0 and now >= bounds.outer:
            doubts -= 1
            work.watch[rank] = arm
            work.excess[rank] = now
        elif held < bounds.outer and (held >= 0.0 or now > bounds.inner):
            doubts -= 1
            settle(table, rank, bounds, data, level, work)
        rank += 1
    return first


@compilable
def forget_unneeded(work: RankedWork) -> None:
    """Now and then, let models be unknown that plans have not needed for some time."""
    work.counts[UPDATES] += 1
    if work.counts[UPDATES] % STEP == 0:
        work.counts[KNOWN] = min(work.counts[KNOWN], work.counts[NEEDED] + STEP)
        work.counts[NEEDED] = work.counts[FIRST] + 1


@compilable
def update_ranks(
    table: RankedTable, work: RankedWork, changed: int, data: Data, level: Hoeffding
) -> int:
    """Bring the set up to date; return the rank of the first model that fits, or NOBODY.

    `changed` is the arm with new data, or SEVERAL, or NO_ARM.
    """
    counts = work.counts
    first = 0
    if changed < 0:
        for arm in range(len(data.pulls)):
            if changed == SEVERAL and data.pulls[arm] > 0:
                note_arm(table, work, arm, data)
        counts[KNOWN] = 0
    else:
        note_arm(table, work, changed, data)
        forget_unneeded(work)
        first = settle_moved(table, changed, data, level, work)
        if first == UNCHANGED and counts[FIRST] != NOBODY:
            return int(counts[FIRST])
        first = min(first, counts[FIRST]) if counts[FIRST] != NOBODY else 0
    known, models = counts[KNOWN], len(work.watch)
    while first < models:
        if first >= known:
            look_further(table, data, level, work)
            known = counts[KNOWN]
        if work.excess[first] < 0.0:
            counts[FIRST] = first
            counts[NEEDED] = max(counts[NEEDED], first + 1)
            return first
        first += 1
    counts[FIRST] = NOBODY
    return NOBODY
