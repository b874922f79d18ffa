"""For how many pulls a choice on polytopes is certain; no program is solved for it.

The models that protect the choice are at hand, and bounds stand for the values of those that threaten
it (docs/notes/lookahead.md 9.1, 10.2, 10.3). A bound holds for all boxes that a box contains. So the
bounds for the last pull of a plan serve for all shorter plans, and which of them holds is arithmetic
of one arm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.confidence import Box, Data, box_of
from structured_bandits.base.intervals import Intervals
from structured_bandits.lookahead.cells import spans
from structured_bandits.lookahead.cells.spans import SpanWork, covers, protected_value
from structured_bandits.lookahead.prospect import (
    Ahead,
    Prospect,
    after_pulls,
    rounding_margin,
    with_more_margin,
)
from structured_bandits.lookahead.tangents import FIRST_TIME
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.polyhedral.cells import PolytopeCells, ProgramNotes
from structured_bandits.structures.polyhedral.solved_programs import FAR, ends_of


def workspace(cells: PolytopeCells) -> SpanWork:
    """Return the memory of plans: one cell protects the choice, that of the choice."""
    return spans.workspace(cells)._replace(lowest=np.zeros(1), highest=np.zeros(1))


def choose(
    cells: PolytopeCells, changed: int, data: Data, level: Intervals, box: Box, work: SpanWork
) -> int:
    """Return the optimistic arm inside the box, -1 if it is empty."""
    box.low[:], box.high[:] = level.intervals(data.pulls, data.sums)
    return cells.optimistic_arm(box, work.notes)


def screen(
    cells: PolytopeCells, arm: int, data: Data, level: Intervals, margin: float, work: SpanWork
) -> None:
    """Note means of `arm` that fit the data of all other arms, from the models at hand.

    The choice of `arm` left two models of its cell, and those between them that fit protect the
    choice. More could be found at the price of more programs.
    """
    cell = work.notes.chosen
    if cells.best[cell] != arm:
        work.lowest[0], work.highest[0] = math.inf, -math.inf
        return
    ends = ends_of(box_of(data, level))
    ends -= margin + 2.0 * TOLERANCE  # so that `fits` would say yes
    ends[[arm, arm + len(data.pulls)]] = FAR
    work.lowest[0], work.highest[0] = work.notes.witnesses.span(cell, arm, ends)


def certain_length(
    cells: PolytopeCells, arm: int, prospect: Prospect, data: Data, work: SpanWork
) -> int:
    """Return a number of pulls, from 1 to its limit, in which `arm` surely stays the choice."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    return bounded_length(cells, arm, prospect, data, work)


def highest_rival(cells: PolytopeCells, arm: int, work: SpanWork) -> float:
    """Return a bound on the values of other arms' cells in the box of the last choice."""
    notes: ProgramNotes = work.notes
    return _highest_of_others(cells, arm, notes.bounds, -math.inf, notes.ends, notes)


def highest_threat(
    cells: PolytopeCells, arm: int, data: Data, ahead: Ahead, safe: float, work: SpanWork
) -> float:
    """Return a bound on the values of other arms' cells whatever happens ahead.

    Any bound below `safe` will do.
    """
    ends = _ends_ahead(arm, data, ahead)
    return _highest_of_others(
        cells, arm, cells.value_bounds(ends, work.notes), safe, ends, work.notes
    )


def _highest_of_others(
    cells: PolytopeCells, arm: int, bounds: Floats, enough: float, ends: Floats, notes: ProgramNotes
) -> float:
    """Return the highest bound of other arms' cells.

    If that is not low enough, it is the highest of those that the box does not surely miss.
    """
    bounds[cells.of_arm[arm]] = -math.inf
    cell = int(bounds.argmax())
    if bounds[cell] >= enough and notes.slacks.bound(cell, ends) <= 0.0:
        bounds[notes.slacks.bounds(ends) <= 0.0] = -math.inf
    return float(bounds.max())


def stays_competitive(
    cells: PolytopeCells, arm: int, found: Flags, data: Data, work: SpanWork, ahead: Ahead
) -> bool:
    """Are the means of `arm` covered, and does no other arm join in? No program is solved."""
    ahead = with_more_margin(ahead, 2.0 * TOLERANCE)
    if not covers(work.lowest, work.highest, ahead):
        return False
    others = ~found[cells.best]
    slacks = work.notes.slacks.bounds(_ends_ahead(arm, data, ahead))
    return not (slacks[others] > 0.0).any()


def _ends_ahead(arm: int, data: Data, ahead: Ahead) -> Floats:
    """Return the ends of a box that holds that of each moment ahead, whatever the rewards of `arm`."""
    ends = ends_of(box_of(data, ahead.level))
    ends += ahead.margin
    ends[arm], ends[arm + len(data.pulls)] = ahead.band_high, -ahead.band_low
    return np.minimum(ends, FAR, out=ends)


class OneArm(NamedTuple):
    """The arm that is to be pulled, and what the plan is made for."""

    pulls: int
    total: float
    prospect: Prospect

    def ahead(self, extra: int) -> Ahead:
        """Return what may have happened after `extra` pulls, with a tolerance to spare."""
        return with_more_margin(
            after_pulls(self.pulls, self.total, extra, self.prospect), 2.0 * TOLERANCE
        )

    def stays_above(self, value: float, extra: int) -> bool:
        """Is the upper end above a value after `extra` of the least rewards?"""
        _, _, factor, level, bottom, _ = self.prospect
        then = level.at(factor * math.log(self.prospect.t + 1 + extra))
        return bool(then.interval(self.pulls + extra, self.total + extra * bottom)[1] > value)

    def pulls_above(self, value: float, most: int) -> int:
        """Return for how many of the least rewards, at most `most`, the upper end is above a value."""
        sure, unsure = 0, 1
        while unsure <= most and self.stays_above(value, unsure):
            sure, unsure = unsure, 2 * unsure
        unsure = min(unsure, most + 1)
        while unsure - sure > max(1, sure // 16):
            trial = (sure + unsure) // 2
            if self.stays_above(value, trial):
                sure = trial
            else:
                unsure = trial
        return sure


def bounded_length(
    cells: PolytopeCells, arm: int, prospect: Prospect, data: Data, work: SpanWork
) -> int:
    """Return a number of pulls in which `arm`, which was just chosen, surely stays the choice.

    A plan that is too long by the bounds for its end gives way to the one that these would allow. It is
    not cut to less than half at once: for a shorter plan the bounds are better.
    """
    own = OneArm(int(data.pulls[arm]), float(data.sums[arm]), prospect)
    rival = highest_rival(cells, arm, work)
    extra = own.pulls_above(rival, prospect.limit - 1)
    if extra == 0:
        return 1
    margin = rounding_margin(prospect.bottom, prospect.top, prospect.level.budget)
    screen(cells, arm, data, prospect.level, margin, work)
    if work.highest[0] <= rival:  # what is safe is no higher, and rivals only rise
        return 1
    threat, reaching = math.inf, 0  # the bound, and the pulls that it was made for
    while extra > 0:
        ahead = own.ahead(extra)
        safe = protected_value(work.lowest, work.highest, ahead) - ahead.margin - 2.0 * cells.tie
        fewer = extra // 2
        if safe > -math.inf:
            if not extra <= reaching <= 2 * extra:
                threat, reaching = highest_threat(cells, arm, data, ahead, safe, work), extra
            if threat < safe:
                break
            if threat < work.highest[0]:
                fewer = max(fewer, own.pulls_above(threat + 2.0 * ahead.margin, extra - 1))
        extra = min(fewer, extra - 1)
    return 1 + extra
