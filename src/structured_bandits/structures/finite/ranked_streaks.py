"""Streaks of SUCB on a table of models that may stop: at misses, or at gains.

A plan that has to expect nothing but the least rewards, or nothing but the highest, is short. One that
ends with the unexpected may be longer by far: the tangents of all conditions are linear in the numbers
of misses and gains, so the same walk down the ranking certifies every streak in which both are few
(docs/planning.md 5.4).

How many are allowed is a guess, which decides how long streaks are and never what is played.
"""

from __future__ import annotations

import math
from typing import Any

from structured_bandits.compilable import chosen_by_class, compilable
from structured_bandits.planning.confidence import Data, Prospect
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.tangents import FIRST_TIME, Shares, shared_tangents
from structured_bandits.structures.finite.ranked_cells import RankedCells
from structured_bandits.structures.finite.ranked_plans import length_of_choice
from structured_bandits.structures.finite.ranks import RankedWork
from structured_bandits.structures.questions import Cells

SHORT = 3  # pulls after the first; plans with less are no better than runs
RUNS = 4.0  # streaks that are runs before shares are tried again
TYPICAL = 16.0  # pulls of a streak of which nothing is known


@compilable
def likely_shares(arm: int, data: Data, bottom: float, top: float, work: RankedWork) -> Shares:
    """Return a little more than the expected shares; or none of the rarer one, where plans are short.

    If the arm goes on as before, a streak as long as the last one has misses and gains within one or
    two standard deviations of their means. If the last one was short, the next few are runs: until
    the first miss of an arm that seldom misses, until the first gain of an arm that seldom gains.
    """
    pulls = data.pulls[arm]
    share = ((data.sums[arm] - bottom * pulls) / (top - bottom) + 0.5) / (pulls + 1.0)
    share = min(max(share, 0.0), 1.0)
    if work.lengths[arm] < 0.0:
        work.lengths[arm] += 1.0
        return Shares(0.0, 1.0) if share > 0.5 else Shares(1.0, 0.0)
    length = max(work.lengths[arm], TYPICAL)
    deviations = 1.0 + 0.25 * math.log(length)
    spare = deviations * math.sqrt(share * (1.0 - share) * (1.0 / length + 1.0 / pulls))
    return Shares(min(1.0, 1.0 - share + spare), min(1.0, share + spare))


def ranked_streak(
    cells: RankedCells, arm: int, prospect: Prospect, counted: bool, data: Data, work: RankedWork
) -> Streak:
    """Pull `arm` as long as misses and gains are few, if they are counted."""
    if not counted or data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return certain_streak(arm, cells.certain_length(arm, prospect, data, work), 0)
    shares = likely_shares(arm, data, prospect.bottom, prospect.top, work)
    at = shared_tangents(prospect, shares, data.pulls[arm], data.sums[arm])
    further = int(length_of_choice(cells.ranked, arm, at, prospect, data, work))
    if shares.misses > 0.0 and shares.gains > 0.0:
        work.lengths[arm] = further if further >= SHORT else -RUNS
    misses = int(shares.misses * further)
    gains = int(shares.gains * further)
    return Streak(arm, 1 + min(misses, gains), 1 + further, misses, 0, -math.inf, gains)


def whole_streak(
    cells: Cells, arm: int, prospect: Prospect, counted: bool, data: Data, work: Any
) -> Streak:
    """Pull `arm` as long as it is certain to stay the choice, whatever the rewards."""
    return certain_streak(arm, cells.certain_length(arm, prospect, data, work), 0)


#: `choice_streak(cells, arm, prospect, counted, data, work)`: the streak of an arm that `choose` has
#: just returned; `counted` says whether the player can stop at misses and gains.
choice_streak = chosen_by_class({RankedCells: ranked_streak}, whole_streak)
