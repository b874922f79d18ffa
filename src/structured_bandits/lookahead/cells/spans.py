"""Lookahead on cells with spans, by search: a test says whether a choice is certain for a length.

The test knows of cells what `fits` and `span` answer. A cell of the chosen arm is a continuum of models:
those that fit the data of the other arms protect the choice (docs/notes/lookahead.md 9.1).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data, fresh_box, write_box
from structured_bandits.base.intervals import Intervals
from structured_bandits.lookahead.cells import base
from structured_bandits.lookahead.prospect import Ahead, Prospect, after_pulls, rounding_margin
from structured_bandits.lookahead.search import certain_pulls
from structured_bandits.lookahead.tangents import FIRST_TIME
from structured_bandits.protocols import Now
from structured_bandits.structures.spans import Spanned


class SpanWork(NamedTuple):
    """What is noted of the cells for plans, and between them."""

    lowest: Floats  # of each cell that protects the choice: its least mean of the chosen arm
    highest: Floats
    box: Box
    lengths: Ints  # of each arm: the length found last, where the search begins
    notes: Any  # those of the cells


def workspace(cells: Spanned) -> SpanWork:
    """Return the memory of plans."""
    arms, count = cells.arm_count(), len(cells.best)
    return SpanWork(
        np.zeros(count),
        np.zeros(count),
        fresh_box(arms),
        np.ones(arms, np.int64),
        cells.fresh_notes(),
    )


def screen(
    cells: Spanned, arm: int, data: Data, level: Intervals, margin: float, work: SpanWork
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
    for cell in range(len(cells.best)):
        work.lowest[cell] = math.inf
        work.highest[cell] = -math.inf
        fits = cells.fits(cell, box, fits, work.notes)
        if fits and cells.best[cell] == arm:
            lowest, highest = cells.span(cell, box, work.notes)
            work.lowest[cell] = lowest
            work.highest[cell] = highest


def certain_length(cells: Spanned, arm: int, prospect: Prospect, data: Data, work: Any) -> int:
    """Return a number of pulls, from 1 to its limit, in which `arm` surely stays the choice."""
    return searched_length(cells, arm, prospect, data, work)


def keeps_choice(cells: Spanned, arm: int, data: Data, work: SpanWork, ahead: Ahead) -> bool:
    """Is the optimistic choice `arm` whatever happens ahead?

    As for finite models, a cell of `arm` being a continuum of them with values from its lowest to
    its highest (docs/notes/lookahead.md 9.1): whatever the mean, protectors with values up
    to `safe` are inside the box or every threat below `safe` is outside, so a threat needs a value
    above `safe` somewhere in the part of its cell that may come to fit.
    """
    safe = protected_value(work.lowest, work.highest, ahead)
    if safe == -math.inf:
        return False
    box = work.box
    write_box_ahead(arm, data, ahead, box)
    margin = ahead.margin + 2.0 * cells.tie
    fits = False
    for cell in range(len(cells.best)):
        fits = cells.fits(cell, box, fits, work.notes)
        if fits and cells.best[cell] != arm:
            lowest, highest = cells.span(cell, box, work.notes)
            if lowest <= highest and highest >= safe - margin:
                return False
    return True


def competitive_length(
    cells: Spanned, arm: int, found: Flags, prospect: Prospect, data: Data, work: Any
) -> int:
    """Return a number of pulls of `arm` in which the marked arms surely hold."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    margin = rounding_margin(prospect.bottom, prospect.top, prospect.level.budget)
    base.screen(cells, arm, data, prospect.level, margin, work)
    return halved_length(cells, arm, found, prospect, data, work)


def stays_competitive(
    cells: Spanned, arm: int, found: Flags, data: Data, work: SpanWork, ahead: Ahead
) -> bool:
    """Are the means of `arm` that may come covered, and does no cell of another arm come in?"""
    if not covers(work.lowest, work.highest, ahead):
        return False
    box = work.box
    write_box_ahead(arm, data, ahead, box)
    fits = False
    for cell in range(len(cells.best)):
        fits = cells.fits(cell, box, fits, work.notes)
        if fits and not found[cells.best[cell]]:
            lowest, highest = cells.span(cell, box, work.notes)
            if lowest <= highest:
                return False
    return True


class Outlook(NamedTuple):
    """What cells with spans know when they search for the length of a plan."""

    cells: Spanned
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
        return bool(base.keeps_choice(self.cells, arm, self.data, self.work, ahead))


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
def searched_length(cells: Spanned, arm: int, prospect: Prospect, data: Data, work: Any) -> int:
    """Search for the length of a plan; the search begins at the length found last for this arm."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return 1
    margin = rounding_margin(prospect.bottom, prospect.top, prospect.level.budget)
    base.screen(cells, arm, data, prospect.level, margin, work)
    outlook = Outlook(cells, prospect, data, work, work.lengths, prospect.bottom)
    return certain_pulls(outlook, outlook, arm, Now(prospect.t, prospect.limit))


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


@compilable
def halved_length(
    cells: Any, arm: int, found: Flags, prospect: Prospect, data: Data, work: Any
) -> int:
    """Halve a number of pulls of `arm` until `stays_competitive` is sure of it."""
    more = prospect.limit - 1
    while more > 0:
        ahead = after_pulls(data.pulls[arm], data.sums[arm], more, prospect)
        if base.stays_competitive(cells, arm, found, data, work, ahead):
            break
        more //= 2
    return 1 + more
