"""Lookahead on finitely many models, whatever the intervals (docs/notes/lookahead.md 16, 23).

A choice is certain by a search over lengths, whose test goes down the ranking; for Hoeffding's intervals
`ranked` has a closed form. Arms stay competitive as long as the arm that is pulled stays best in some
model inside (its models inside cover every mean that may come, as protectors of SUCB's choice do) and no
model comes in whose best arm has none inside.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from structured_bandits.base.arrays import Flags, Ints
from structured_bandits.base.compilable import chosen_by_class, compilable
from structured_bandits.base.confidence import Box, Data
from structured_bandits.base.intervals import Hoeffding, Intervals
from structured_bandits.lookahead.cells.spans import halved_length
from structured_bandits.lookahead.prospect import Ahead, Prospect, after_pulls
from structured_bandits.lookahead.search import certain_pulls
from structured_bandits.lookahead.tangents import (
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
from structured_bandits.lookahead.witnesses import (
    INSIDE,
    Ranges,
    Watches,
    comes_in,
    fresh_watches,
    nothing_comes_in,
    pulls_gaps_hold,
    strongest_watch,
    update_watches,
)
from structured_bandits.protocols import Now
from structured_bandits.structures.finite.cells import FiniteCells


def workspace(cells: FiniteCells) -> Watches:
    """Return the memory of `choose` and the questions after it."""
    return fresh_watches(len(cells.best), cells.arm_count())


def choose(
    cells: FiniteCells, changed: int, data: Data, level: Intervals, box: Box, work: Watches
) -> int:
    """Return the best arm of the highest-ranked model inside the open box, -1 if it is empty."""
    ranges = Ranges(cells.table, cells.table, cells.ranking)
    update_watches(ranges, work, changed, data, level, box)
    if work.size[0] == 0:
        return -1
    return int(cells.best[cells.ranking[work.inside[0]]])


def certain_length(
    cells: FiniteCells, arm: int, prospect: Prospect, data: Data, work: Watches
) -> int:
    """Return a number of pulls, from 1 to its limit, in which `arm` is certain to stay the choice.

    By a search, for intervals of any kind; `RankedCells` have a formula for Hoeffding's.
    """
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    return choice_length(cells, arm, prospect, data, work)


def empty_length(
    cells: FiniteCells, arm: int, prospect: Prospect, data: Data, work: Watches
) -> float:
    """Return for how many pulls of `arm` every model surely stays out."""
    if prospect.t + 1 < FIRST_TIME:
        return 0.0
    return outside_length(prospect.level, arm, prospect, data, work)


def arms_inside(cells: FiniteCells, box: Box, found: Flags, work: Watches) -> bool:
    """Mark the best arms of the models inside, as `choose` left them."""
    found[:] = False
    for rank in work.inside[: work.size[0]]:
        found[cells.best[cells.ranking[rank]]] = True
    return bool(work.size[0] > 0)


def competitive_length(
    cells: FiniteCells, arm: int, found: Flags, prospect: Prospect, data: Data, work: Watches
) -> int:
    """Return a number of pulls of `arm` in which the marked arms surely hold.

    How, depends on the kind of intervals (`company_length`).
    """
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    return company_length(prospect.level, cells, arm, found, prospect, data, work)


def stays_competitive(
    cells: FiniteCells, arm: int, found: Flags, data: Data, work: Watches, ahead: Ahead
) -> bool:
    """Are the means of `arm` that may come covered, and does no model of another arm come in?"""
    covered = covering_rank(cells, arm, work, ahead) != NO_COVER
    return covered and not_joined(cells, arm, found, work, ahead)


NO_COVER = -1  # instead of a rank


@compilable
def choice_length(
    cells: FiniteCells, arm: int, prospect: Prospect, data: Data, work: Watches
) -> int:
    """Return a number of pulls, from 1 to its limit, in which an arm is certain to stay the choice.

    The search begins at the length found last for this arm.
    """
    outlook = Outlook(cells, prospect, data, work, work.lengths, prospect.bottom)
    return certain_pulls(outlook, outlook, arm, Now(prospect.t, prospect.limit))


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
        come in (docs/notes/lookahead.md 16.5).
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


def tangent_length(
    level: Hoeffding,
    cells: FiniteCells,
    arm: int,
    found: Flags,
    prospect: Prospect,
    data: Data,
    work: Watches,
) -> int:
    """Find it by tangents: first how long the arm is covered, then how long nobody joins meanwhile."""
    at = tangents(prospect, data.pulls[arm], data.sums[arm])
    length = cover_length(cells, arm, at, prospect.limit - 1.0, work)
    if length >= 1.0 and not nothing_comes_in(at, arm, length, work):
        length = alone_length(cells, arm, found, at, length, level, work)
    return 1 + int(length)


def halving_length(
    level: Intervals,
    cells: FiniteCells,
    arm: int,
    found: Flags,
    prospect: Prospect,
    data: Data,
    work: Watches,
) -> int:
    """Look at fewer and fewer pulls."""
    return halved_length(cells, arm, found, prospect, data, work)


#: A number of pulls of an arm, from 1 to its limit, in which the marked arms surely hold.
company_length = chosen_by_class({Hoeffding: tangent_length}, halving_length)


@compilable
def cover_length(cells: FiniteCells, arm: int, at: Tangents, limit: float, work: Watches) -> float:
    """Return for how many pulls, at most `limit`, the models of `arm` inside cover its means.

    From above, between two of them and from below (docs/notes/lookahead.md 5.3); lower ones last longer
    below, but have to be close.
    """
    longest = 0.0
    possible = limit
    lowest = math.inf
    for rank in work.inside[: work.size[0]]:
        model = cells.ranking[rank]
        if cells.best[model] != arm:
            continue
        mean = cells.table[model, arm]
        if lowest == math.inf:
            possible = min(possible, pulls_above_floor(at, mean))
        else:
            possible = min(possible, pulls_close_enough(at, lowest - mean))
        longest = max(longest, min(possible, pulls_below_ceiling(at, mean)))
        if longest >= possible:
            break
        lowest = mean
    return longest


@compilable
def alone_length(
    cells: FiniteCells,
    arm: int,
    found: Flags,
    at: Tangents,
    limit: float,
    level: Intervals,
    work: Watches,
) -> float:
    """Return for how many pulls, at most `limit`, no model of an arm that is not marked comes in.

    By the strongest watch of each such model, or as long as its mean of `arm` is out of reach.
    """
    ranges = Ranges(cells.table, cells.table, cells.ranking)
    length = limit
    limits = limits_for(at, length)
    for rank in work.every:
        model = cells.ranking[rank]
        watch = work.watch[rank]
        if watch == INSIDE or found[cells.best[model]]:
            continue
        if watch != arm and work.strength[watch] >= limits.strength:
            continue
        mean = cells.table[model, arm]
        if not limits.unreached_low <= mean <= limits.unreached_high:
            continue
        _, strength = strongest_watch(ranges, model, work, arm, level)
        kept = max(pulls_refuted(at, strength), pulls_unreached(at, mean))
        if kept < length:
            length = kept
            limits = limits_for(at, length)
    return length


@compilable
def not_joined(cells: FiniteCells, arm: int, found: Flags, work: Watches, ahead: Ahead) -> bool:
    """Does no model of an arm that is not marked come in?"""
    ranges = Ranges(cells.table, cells.table, cells.ranking)
    for rank in work.every:
        marked = found[cells.best[cells.ranking[rank]]]
        if not marked and comes_in(ranges, work, rank, arm, ahead):
            return False
    return True
