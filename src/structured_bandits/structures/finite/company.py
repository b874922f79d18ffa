"""For how many pulls of an arm the same arms are competitive on finitely many models.

The arm has to stay best in some model inside: its models inside cover every mean that may come, as
protectors of SUCB's choice do. And no model may come in whose best arm has none inside (docs/planning.md
23).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from structured_bandits.arrays import Flags
from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import Ahead, Data, Prospect
from structured_bandits.planning.intervals import Hoeffding, Intervals
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
    nothing_comes_in,
    strongest_watch,
)
from structured_bandits.structures.questions import halved_length

if TYPE_CHECKING:
    from structured_bandits.structures.finite.cells import FiniteCells


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

    From above, between two of them and from below (docs/planning.md 5.3); lower ones last longer
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
