"""For how many pulls a choice on polytopes is certain; no program is solved for it.

The models that protect the choice are at hand, and bounds stand for the values of those that threaten
it (docs/planning.md 9.1, 10.2, 10.3). A bound holds for all boxes that a box contains. So the bounds for
the last pull of a plan serve for all shorter plans, and which of them holds is arithmetic of one arm.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from structured_bandits.planning.confidence import (
    Ahead,
    Data,
    Prospect,
    after_pulls,
    rounding_margin,
    with_more_margin,
)
from structured_bandits.planning.intervals import Intervals
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.spans import SpanWork, protected_value


class BoundedCells(Protocol):
    """Cells that bound the values of threats."""

    tie: float

    def screen(self, arm: int, data: Data, level: Intervals, margin: float, work: SpanWork) -> None:
        """Note the means of `arm` that protect its choice."""

    def highest_rival(self, arm: int, work: SpanWork) -> float:
        """Return a bound on the values of the cells of other arms in the box of the last choice."""

    def highest_threat(
        self, arm: int, data: Data, ahead: Ahead, safe: float, work: SpanWork
    ) -> float:
        """Return a bound on their values ahead; any bound below `safe` will do."""


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
    cells: BoundedCells, arm: int, prospect: Prospect, data: Data, work: SpanWork
) -> int:
    """Return a number of pulls in which `arm`, which was just chosen, surely stays the choice.

    A plan that is too long by the bounds for its end gives way to the one that these would allow. It is
    not cut to less than half at once: for a shorter plan the bounds are better.
    """
    own = OneArm(int(data.pulls[arm]), float(data.sums[arm]), prospect)
    rival = cells.highest_rival(arm, work)
    extra = own.pulls_above(rival, prospect.limit - 1)
    if extra == 0:
        return 1
    margin = rounding_margin(prospect.bottom, prospect.top, prospect.level.budget)
    cells.screen(arm, data, prospect.level, margin, work)
    if work.highest[0] <= rival:  # what is safe is no higher, and rivals only rise
        return 1
    threat, reaching = math.inf, 0  # the bound, and the pulls that it was made for
    while extra > 0:
        ahead = own.ahead(extra)
        safe = protected_value(work.lowest, work.highest, ahead) - ahead.margin - 2.0 * cells.tie
        fewer = extra // 2
        if safe > -math.inf:
            if not extra <= reaching <= 2 * extra:
                threat, reaching = cells.highest_threat(arm, data, ahead, safe, work), extra
            if threat < safe:
                break
            if threat < work.highest[0]:
                fewer = max(fewer, own.pulls_above(threat + 2.0 * ahead.margin, extra - 1))
        extra = min(fewer, extra - 1)
    return 1 + extra
