"""Streaks of SUCB: the pulls of an arm that it has just chosen and surely goes on to choose."""

from __future__ import annotations

from typing import Any

from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import Data, Prospect
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.stopping import likely_shares, stopping_streak
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.tangents import ALL_SHARES, FIRST_TIME, Tangents, shared_tangents
from structured_bandits.structures.curves import plans as curve_plans
from structured_bandits.structures.curves.cells import IntervalCells
from structured_bandits.structures.finite import ranked_plans
from structured_bandits.structures.finite.ranked_cells import RankedCells
from structured_bandits.structures.finite.ranks import RankedWork
from structured_bandits.structures.questions import Cells


def pulls_by_rank(
    cells: RankedCells, arm: int, at: Tangents, prospect: Prospect, data: Data, work: RankedWork
) -> float:
    """Return for how many pulls after the first `arm` stays the choice on a table."""
    return ranked_plans.length_of_choice(cells.ranked, arm, at, prospect, data, work)


#: For how many pulls after the first an arm stays the choice, under the shares of the tangents.
further_pulls = chosen_by_class({RankedCells: pulls_by_rank}, curve_plans.length_of_choice)


def tangent_streak(
    level: Hoeffding,
    cells: Any,
    arm: int,
    prospect: Prospect,
    counted: bool,
    data: Data,
    work: Any,
) -> Streak:
    """By tangents: while misses and gains are few, if they are counted, else whatever the rewards."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return certain_streak(arm, 1, 0)
    shares = likely_shares(arm, data, prospect, work.tries) if counted else ALL_SHARES
    at = shared_tangents(prospect, shares, data.pulls[arm], data.sums[arm])
    further = int(further_pulls(cells, arm, at, prospect, data, work))
    if not counted:
        return certain_streak(arm, 1 + further, 0)
    return stopping_streak(arm, further, shares, work.tries)


@compilable
def whole_streak(
    level: Intervals,
    cells: Cells,
    arm: int,
    prospect: Prospect,
    counted: bool,
    data: Data,
    work: Any,
) -> Streak:
    """As long as the cells find that the arm stays the choice, whatever the rewards."""
    return certain_streak(arm, cells.certain_length(arm, prospect, data, work), 0)


#: For cells with tangents: they are those of Hoeffding's intervals.
streak_for_level = chosen_by_class({Hoeffding: tangent_streak}, whole_streak)


def streak_by_tangents(
    cells: Any, arm: int, prospect: Prospect, counted: bool, data: Data, work: Any
) -> Streak:
    """By tangents, if the intervals allow it."""
    streak: Streak = streak_for_level(prospect.level, cells, arm, prospect, counted, data, work)
    return streak


def streak_by_search(
    cells: Cells, arm: int, prospect: Prospect, counted: bool, data: Data, work: Any
) -> Streak:
    """By search, or however the cells find lengths."""
    return whole_streak(prospect.level, cells, arm, prospect, counted, data, work)


#: `choice_streak(cells, arm, prospect, counted, data, work)`: the streak of an arm that `choose` has
#: just returned; `counted` says whether the player can stop at misses and gains.
choice_streak = chosen_by_class(
    {RankedCells: streak_by_tangents, IntervalCells: streak_by_tangents}, streak_by_search
)
