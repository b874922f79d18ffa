"""Cells on which means are affine: what a policy asks follows from the span of the best arm's mean.

The span of a cell is the interval of means that its best arm takes inside a box. Curves find it from
positions on a line, constraints on differences by shortest paths, polytopes by linear programs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import (
    Prospect,
    Reach,
    confidence_box,
    reach_after,
    rounding_margin,
)
from structured_bandits.planning.lookahead import certain_pulls
from structured_bandits.structures.questions import Cells


class Spans(Protocol):
    """What `SpanCells` needs of cells; those of one piece stand together."""

    def screen(
        self, arm: int, pulls: Ints, sums: Floats, budget: float, margin: float, work: Floats
    ) -> None:
        """Prepare `stays`: note how cells fit the data of all arms but `arm`."""

    def stays(self, arm: int, pulls: Ints, sums: Floats, work: Floats, reach: Reach) -> bool:
        """Is the optimistic arm `arm` at every moment of the reach? Monotone in its length."""

    def fits(self, cell: int, low: Floats, high: Floats, before: bool) -> bool:
        """Does the cell's piece meet the open box? `before` is the answer for the cell before it."""

    def span(self, cell: int, low: Floats, high: Floats) -> tuple[float, float]:
        """Return infimum and supremum of the best arm's mean inside the box, (inf, -inf) if empty.

        The cell's piece meets the box.
        """


class SpanCells:
    """Mixin for cells with `best`, the arm of each cell, and `tie`: values that close are equal."""

    best: Ints
    tie: float

    def best_arms_in(self: _Cells, low: Floats, high: Floats, found: Flags) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        found[:] = False
        alive = False
        fits = False
        for cell in range(len(self.best)):
            fits = self.fits(cell, low, high, fits)
            if fits and not found[self.best[cell]]:
                lowest, highest = self.span(cell, low, high)
                if lowest <= highest:
                    found[self.best[cell]] = True
                    alive = True
        return alive

    def optimistic_arm(self: _Cells, low: Floats, high: Floats) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        The mean is a supremum: it may lie on the border of the box or at an open end of a piece. On
        the border of the box, arms with the same data tie exactly, but what is computed is rounded:
        values that differ by no more than rounding are equal.
        """
        return highest_arm(self, range(len(self.best)), low, high)

    def choose(
        self: _Cells,
        news: int,
        pulls: Ints,
        sums: Floats,
        budget: float,
        low: Floats,
        high: Floats,
        work: Any,
    ) -> int:
        """Return the optimistic arm inside the box, -1 if it is empty."""
        confidence_box(pulls, sums, budget, low, high)
        return self.optimistic_arm(low, high)

    def workspace(self: _Cells) -> Any:
        """Return the memory that `screen` and `stays` need: spans of the cells, then a box."""
        return np.zeros((2, len(self.best) + self.arm_count()))

    def screen(
        self: _Cells,
        arm: int,
        pulls: Ints,
        sums: Floats,
        budget: float,
        margin: float,
        work: Any,
    ) -> None:
        """Note, for each cell of `arm`, the means of `arm` that fit the data of all other arms.

        The box is narrowed by `margin`. A cell of which nothing fits gets the empty (inf, -inf).
        """
        cells = len(self.best)
        low = work[0, cells:]
        high = work[1, cells:]
        confidence_box(pulls, sums, budget, low, high)
        low += margin
        high -= margin
        low[arm] = -math.inf
        high[arm] = math.inf
        fits = False
        for cell in range(cells):
            work[0, cell] = math.inf
            work[1, cell] = -math.inf
            fits = self.fits(cell, low, high, fits)
            if fits and self.best[cell] == arm:
                lowest, highest = self.span(cell, low, high)
                work[0, cell] = lowest
                work[1, cell] = highest

    def sure_pulls(
        self: _Cells,
        arm: int,
        prospect: Prospect,
        pulls: Ints,
        sums: Floats,
        work: Any,
        lengths: Ints,
    ) -> int:
        """Return a number of pulls, from 1 to its limit, in which `arm` is certain to stay the choice.

        A search, which begins at the length found last for this arm.
        """
        margin = rounding_margin(prospect.bottom, prospect.top, prospect.budget)
        self.screen(arm, pulls, sums, prospect.budget, margin, work)
        outlook = Outlook(self, prospect, pulls, sums, work, lengths, prospect.bottom)
        return certain_pulls(outlook, outlook, arm, prospect.t, prospect.limit)

    def stays_empty(
        self: _Cells, arm: int, prospect: Prospect, pulls: Ints, sums: Floats, work: Any
    ) -> float:
        """Return 0.0: an empty box is looked at again after each pull."""
        return 0.0

    def stays(self: _Cells, arm: int, pulls: Ints, sums: Floats, work: Any, reach: Reach) -> bool:
        """Is the optimistic choice `arm` at every moment of the reach?

        As for finite models, a cell of `arm` being a continuum of them with values from work[0] to
        work[1] (docs/design.md, planning on curves): whatever the mean, protectors with values up to
        `safe` are inside the box or every threat below `safe` is outside, so a threat needs a value
        above `safe` somewhere in the part of its cell that may come to fit.
        """
        cells = len(self.best)
        safe = protected_value(work[0, :cells], work[1, :cells], reach)
        if safe == -math.inf:
            return False
        low = work[0, cells:]
        high = work[1, cells:]
        confidence_box(pulls, sums, reach.budget, low, high)
        low -= reach.margin
        high += reach.margin
        low[arm] = reach.band_low
        high[arm] = reach.band_high
        margin = reach.margin + 2.0 * self.tie
        fits = False
        for cell in range(cells):
            fits = self.fits(cell, low, high, fits)
            if fits and self.best[cell] != arm:
                lowest, highest = self.span(cell, low, high)
                if lowest <= highest and highest >= safe - margin:
                    return False
        return True


class _Cells(Cells, Spans, Protocol):
    """Cells that use the mixin, for the type checker."""

    tie: float


class Outlook(NamedTuple):
    """What cells with spans know when they search for the length of a plan."""

    cells: Any
    prospect: Prospect
    pulls: Ints
    sums: Floats
    work: Floats
    lengths: Ints
    low: float  # the least reward

    def certain(self, state: Any, arm: int, t: int, extra: int) -> bool:
        """Does `arm` stay the optimistic choice over `extra` more pulls of it, whatever comes?

        Protecting models count if they fit at the start, threatening ones if they may come to fit by
        the end; that makes the answer monotone.
        """
        budget = self.prospect.factor * math.log(t + 1 + extra)
        bottom, top = self.prospect.bottom, self.prospect.top
        reach = reach_after(self.pulls[arm], self.sums[arm], extra, bottom, top, budget)
        return bool(self.cells.stays(arm, self.pulls, self.sums, self.work, reach))


@compilable
def highest_arm(cells: _Cells, numbers: Any, low: Floats, high: Floats) -> int:
    """Return the `optimistic_arm` of these cells, given by rising numbers."""
    top = -math.inf
    choice = -1
    fits = False
    for cell in numbers:
        fits = cells.fits(cell, low, high, fits)
        if fits:
            arm = int(cells.best[cell])
            lowest, highest = cells.span(cell, low, high)
            if lowest <= highest:
                if choice < 0 or highest > top + cells.tie:
                    top = highest
                    choice = arm
                elif highest >= top - cells.tie and arm < choice:
                    choice = arm
    return choice


@compilable
def protected_value(lowest: Floats, highest: Floats, reach: Reach) -> float:
    """Return the value below which no threat counts; -inf if protectors leave a mean uncovered.

    Protecting cells have means of the arm between `lowest` and `highest`.
    """
    reached = reach.radius - reach.margin
    safe = -math.inf
    for cell in range(len(lowest)):
        if lowest[cell] < reach.lowest + reached:
            safe = max(safe, min(highest[cell], reach.lowest + reached))
    return safe if _covers(lowest, highest, reach.lowest, reach.highest, reached) else -math.inf


@compilable
def _covers(low: Floats, high: Floats, lowest: float, highest: float, radius: float) -> bool:
    """Is every mean in [lowest, highest] closer than `radius` to some interval (low, high)?"""
    uncovered = highest
    while uncovered >= lowest:
        further = uncovered
        for cell in range(len(low)):
            if low[cell] - radius < uncovered < high[cell] + radius:
                further = min(further, low[cell] - radius)
        if further == uncovered:
            return False
        uncovered = further
    return True
