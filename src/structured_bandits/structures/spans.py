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
    Ahead,
    Box,
    Data,
    Prospect,
    after_pulls,
    rounding_margin,
    write_box,
)
from structured_bandits.planning.intervals import Intervals
from structured_bandits.planning.lookahead import certain_pulls
from structured_bandits.planning.tangents import FIRST_TIME
from structured_bandits.protocol import Now
from structured_bandits.structures.questions import Cells, Spans, halved_length


class SpanWork(NamedTuple):
    """What is noted of the cells for plans, and between them."""

    lowest: Floats  # of each cell that protects the choice: its least mean of the chosen arm
    highest: Floats
    box: Box
    lengths: Ints  # of each arm: the length found last, where the search begins
    notes: Any  # those of the cells


class SpanCells:
    """Mixin for cells with `best`, the arm of each cell, and `tie`: values that close are equal."""

    best: Ints
    tie: float

    def fresh_notes(self) -> Any:
        """Return nothing: these cells need no memory."""
        return np.zeros(0)

    def best_arms_in(self: _Cells, box: Box, found: Flags, notes: Any) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        found[:] = False
        alive = False
        fits = False
        for cell in range(len(self.best)):
            fits = self.fits(cell, box, fits, notes)
            if fits and not found[self.best[cell]]:
                lowest, highest = self.span(cell, box, notes)
                if lowest <= highest:
                    found[self.best[cell]] = True
                    alive = True
        return alive

    def optimistic_arm(self: _Cells, box: Box, notes: Any) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        The mean is a supremum: it may lie on the border of the box or at an open end of a piece. On
        the border of the box, arms with the same data tie exactly, but what is computed is rounded:
        values that differ by no more than rounding are equal.
        """
        return highest_arm(self, range(len(self.best)), box, notes)

    def choose(
        self: _Cells, changed: int, data: Data, level: Intervals, box: Box, work: Any
    ) -> int:
        """Return the optimistic arm inside the box, -1 if it is empty."""
        write_box(data, level, box)
        return self.optimistic_arm(box, work.notes)

    def workspace(self: _Cells) -> SpanWork:
        """Return the memory of plans."""
        arms, cells = self.arm_count(), len(self.best)
        return SpanWork(
            np.zeros(cells),
            np.zeros(cells),
            Box(np.zeros(arms), np.zeros(arms)),
            np.ones(arms, np.int64),
            self.fresh_notes(),
        )

    def screen(
        self: _Cells, arm: int, data: Data, level: Intervals, margin: float, work: SpanWork
    ) -> None:
        """Note, for each cell of `arm`, the means of `arm` that fit the data of all other arms.

        The box is narrowed by `margin`. A cell of which nothing fits gets the empty (inf, -inf).
        """
        box = work.box
        low, high = box.low, box.high
        write_box(data, level, box)
        low += margin
        high -= margin
        low[arm] = -math.inf
        high[arm] = math.inf
        fits = False
        for cell in range(len(self.best)):
            work.lowest[cell] = math.inf
            work.highest[cell] = -math.inf
            fits = self.fits(cell, box, fits, work.notes)
            if fits and self.best[cell] == arm:
                lowest, highest = self.span(cell, box, work.notes)
                work.lowest[cell] = lowest
                work.highest[cell] = highest

    def certain_length(self: _Cells, arm: int, prospect: Prospect, data: Data, work: Any) -> int:
        """Return a number of pulls, from 1 to its limit, in which `arm` surely stays the choice."""
        return searched_length(self, arm, prospect, data, work)

    def empty_length(self: _Cells, arm: int, prospect: Prospect, data: Data, work: Any) -> float:
        """Return 0.0: an empty box is looked at again after each pull."""
        return 0.0

    def keeps_choice(self: _Cells, arm: int, data: Data, work: SpanWork, ahead: Ahead) -> bool:
        """Is the optimistic choice `arm` whatever happens ahead?

        As for finite models, a cell of `arm` being a continuum of them with values from its lowest to
        its highest (docs/planning.md 9.1): whatever the mean, protectors with values up
        to `safe` are inside the box or every threat below `safe` is outside, so a threat needs a value
        above `safe` somewhere in the part of its cell that may come to fit.
        """
        safe = protected_value(work.lowest, work.highest, ahead)
        if safe == -math.inf:
            return False
        box = work.box
        write_box_ahead(arm, data, ahead, box)
        margin = ahead.margin + 2.0 * self.tie
        fits = False
        for cell in range(len(self.best)):
            fits = self.fits(cell, box, fits, work.notes)
            if fits and self.best[cell] != arm:
                lowest, highest = self.span(cell, box, work.notes)
                if lowest <= highest and highest >= safe - margin:
                    return False
        return True

    def arms_inside(self: _Cells, box: Box, found: Flags, work: Any) -> bool:
        """Mark the arms whose cells meet the box."""
        return self.best_arms_in(box, found, work.notes)

    def competitive_length(
        self: _Cells, arm: int, found: Flags, prospect: Prospect, data: Data, work: Any
    ) -> int:
        """Return a number of pulls of `arm` in which the marked arms surely hold."""
        if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
            return 1
        margin = rounding_margin(prospect.bottom, prospect.top, prospect.level.budget)
        self.screen(arm, data, prospect.level, margin, work)
        return halved_length(self, arm, found, prospect, data, work)

    def stays_competitive(
        self: _Cells, arm: int, found: Flags, data: Data, work: SpanWork, ahead: Ahead
    ) -> bool:
        """Are the means of `arm` that may come covered, and does no cell of another arm come in?"""
        if not covers(work.lowest, work.highest, ahead):
            return False
        box = work.box
        write_box_ahead(arm, data, ahead, box)
        fits = False
        for cell in range(len(self.best)):
            fits = self.fits(cell, box, fits, work.notes)
            if fits and not found[self.best[cell]]:
                lowest, highest = self.span(cell, box, work.notes)
                if lowest <= highest:
                    return False
        return True


class _Cells(Cells, Spans, Protocol):
    """Cells that use the mixin, for the type checker."""

    tie: float


class Outlook(NamedTuple):
    """What cells with spans know when they search for the length of a plan."""

    cells: _Cells
    prospect: Prospect
    data: Data
    work: Any
    lengths: Ints
    bottom: float  # the least reward

    def certain(self, state: Any, arm: int, now: Now, extra: int) -> bool:
        """Does `arm` stay the optimistic choice over `extra` more pulls of it, whatever comes?

        Protecting models count if they fit at the start, threatening ones if they may come to fit by
        the end; that makes the answer monotone.
        """
        pulls, total = self.data.pulls[arm], self.data.sums[arm]
        ahead = after_pulls(pulls, total, extra, self.prospect)
        return bool(self.cells.keeps_choice(arm, self.data, self.work, ahead))


@compilable
def write_box_ahead(arm: int, data: Data, ahead: Ahead, box: Box) -> None:
    """Write a box that holds that of each moment ahead, whatever the rewards of `arm`."""
    low, high = box.low, box.high
    write_box(data, ahead.level, box)
    low -= ahead.margin
    high += ahead.margin
    low[arm] = ahead.band_low
    high[arm] = ahead.band_high


@compilable
def searched_length(cells: _Cells, arm: int, prospect: Prospect, data: Data, work: Any) -> int:
    """Search for the length of a plan; the search begins at the length found last for this arm."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    margin = rounding_margin(prospect.bottom, prospect.top, prospect.level.budget)
    cells.screen(arm, data, prospect.level, margin, work)
    outlook = Outlook(cells, prospect, data, work, work.lengths, prospect.bottom)
    return certain_pulls(outlook, outlook, arm, Now(prospect.t, prospect.limit))


@compilable
def highest_arm(cells: _Cells, numbers: Any, box: Box, notes: Any) -> int:
    """Return the `optimistic_arm` of these cells, given by rising numbers."""
    top = -math.inf
    choice = -1
    fits = False
    for cell in numbers:
        fits = cells.fits(cell, box, fits, notes)
        if fits:
            arm = int(cells.best[cell])
            lowest, highest = cells.span(cell, box, notes)
            if lowest <= highest:
                if choice < 0 or highest > top + cells.tie:
                    top = highest
                    choice = arm
                elif highest >= top - cells.tie and arm < choice:
                    choice = arm
    return choice


@compilable
def protected_value(lowest: Floats, highest: Floats, ahead: Ahead) -> float:
    """Return the value below which no threat counts; -inf if protectors leave a mean uncovered.

    Protecting cells have means of the arm between `lowest` and `highest`.
    """
    if not covers(lowest, highest, ahead):
        return -math.inf
    safe = -math.inf
    for cell in range(len(lowest)):
        if lowest[cell] < ahead.ceiling:
            safe = max(safe, min(highest[cell], ahead.ceiling))
    return safe


@compilable
def covers(low: Floats, high: Floats, ahead: Ahead) -> bool:
    """Does the interval of every mean that may come hold a part of one of (low, high)?

    From the highest mean downwards: what is covered so far ends where intervals no longer hold
    `reached`, the lowest protected mean; another protector has to meet it there.
    """
    if ahead.roof <= ahead.floor:
        return False  # rounding is all there is
    reached = math.inf
    for cell in range(len(low)):
        if low[cell] < ahead.roof and high[cell] > ahead.floor:
            reached = min(reached, low[cell])
    while ahead.ceiling <= reached < math.inf:
        further = reached
        for cell in range(len(low)):
            if low[cell] < further and (
                high[cell] >= reached
                or ahead.level.meets(ahead.pulls, high[cell], reached, ahead.margin)
            ):
                further = low[cell]
        if further == reached:
            return False
        reached = further
    return reached < ahead.ceiling
