"""For how long SUCB's choice and competitive arms are certain on boxes (docs/notes/lookahead.md 24).

A box is a range of each arm's mean, so watches know exactly which boxes fit. Those in which the chosen
arm can be best protect the choice; others threaten it only if they fit or may come to fit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data, fresh_box, write_box
from structured_bandits.base.intervals import Intervals
from structured_bandits.lookahead.cells.finite import outside_length
from structured_bandits.lookahead.cells.spans import covers, protected_value, write_box_ahead
from structured_bandits.lookahead.prospect import Ahead, Prospect
from structured_bandits.lookahead.tangents import FIRST_TIME
from structured_bandits.lookahead.witnesses import (
    Ranges,
    Watches,
    comes_in,
    fresh_watches,
    update_watches,
)
from structured_bandits.structures.boxes.cells import BoxCells


def workspace(cells: BoxCells) -> BoxWork:
    """Return the memory of `choose` and the questions after it."""
    return fresh_box_work(len(cells.floor), cells.arm_count())


def choose(
    cells: BoxCells, changed: int, data: Data, level: Intervals, box: Box, work: BoxWork
) -> int:
    """Return what `optimistic_arm` does, without a look at the models that an arm keeps out."""
    ranges = Ranges(cells.least, cells.most, work.watches.every)
    update_watches(ranges, work.watches, changed, data, level, box)
    write_box(data, level, box)
    return highest_inside(cells, box, work)


def empty_length(cells: BoxCells, arm: int, prospect: Prospect, data: Data, work: BoxWork) -> float:
    """Return for how many pulls of `arm` every model surely stays out."""
    if prospect.t + 1 < FIRST_TIME:
        return 0.0
    return outside_length(prospect.level, arm, prospect, data, work.watches)


def screen(
    cells: BoxCells, arm: int, data: Data, level: Intervals, margin: float, work: Any
) -> None:
    """Note the models that protect the choice of `arm`."""
    note_protectors(cells, arm, data, level, margin, work)


def keeps_choice(cells: BoxCells, arm: int, data: Data, work: Any, ahead: Ahead) -> bool:
    """Is the optimistic choice `arm` whatever happens ahead? See docs/notes/lookahead.md 9.1."""
    count = work.protectors[0]
    safe = protected_value(work.lowest[:count], work.highest[:count], ahead)
    if safe == -math.inf:
        return False
    value = safe - ahead.margin
    return not others_come_in(cells, arm, work.chosen, value, data, work, ahead)


def stays_competitive(
    cells: BoxCells, arm: int, found: Flags, data: Data, work: Any, ahead: Ahead
) -> bool:
    """Are the means of `arm` that may come covered, and does no cell of another arm come in?"""
    count = work.protectors[0]
    covered = covers(work.lowest[:count], work.highest[:count], ahead)
    return covered and not others_come_in(cells, arm, found, -math.inf, data, work, ahead)


class BoxWork(NamedTuple):
    """Which boxes fit, from plan to plan, and what protects a plan.

    The protectors are in the first places of `lowest` and `highest`: their means of the chosen arm.
    """

    watches: Watches  # of the models
    lowest: Floats
    highest: Floats
    protectors: Ints  # one number: how many there are
    chosen: Flags  # the arm that is planned for
    box: Box
    notes: Floats  # those of the cells
    lengths: Ints  # of the last plan for each arm, where the next search begins


@compilable
def fresh_box_work(models: int, arms: int) -> BoxWork:
    """Return the memory before the first pull; a model has one cell of an arm at most."""
    watches = fresh_watches(models, arms)
    return BoxWork(
        watches,
        np.zeros(models),
        np.zeros(models),
        np.zeros(1, np.int64),
        np.zeros(arms, np.bool_),
        fresh_box(arms),
        np.zeros(1),
        watches.lengths,
    )


@compilable
def highest_lower_end(box: Box) -> float:
    """Return the highest of the lower ends; infinite if an interval is empty, and so the box."""
    highest = -math.inf
    for arm in range(len(box.low)):
        if box.low[arm] >= box.high[arm]:
            return math.inf
        highest = max(highest, box.low[arm])
    return highest


@compilable
def highest_inside(cells: BoxCells, box: Box, work: BoxWork) -> int:
    """Return the arm with the highest mean where it is best in a model inside; the lowest on ties."""
    work.notes[0] = highest_lower_end(box)
    top = -math.inf
    choice = -1
    for model in work.watches.inside[: work.watches.size[0]]:
        for cell in range(cells.first[model], cells.first[model + 1]):
            arm = int(cells.best[cell])
            lowest, highest = cells.span(cell, box, work.notes)
            if lowest <= highest and (highest > top or (highest == top and arm < choice)):
                top = highest
                choice = arm
    return choice


@compilable
def note_protectors(
    cells: BoxCells, arm: int, data: Data, level: Intervals, margin: float, work: BoxWork
) -> None:
    """Note, of each model inside, the means of `arm` where it is best.

    They fit the data of all other arms, in a box that is narrowed by `margin`.
    """
    work.chosen[:] = False
    work.chosen[arm] = True
    low, high = work.box.low, work.box.high
    write_box(data, level, work.box)
    low += margin
    high -= margin
    low[arm] = -math.inf
    high[arm] = math.inf
    count = 0
    for model in work.watches.inside[: work.watches.size[0]]:
        first = cells.first[model]
        if cells.fits(first, work.box, False, work.notes):
            for cell in range(first, cells.first[model + 1]):
                lowest, highest = cells.span(cell, work.box, work.notes)
                if cells.best[cell] == arm and lowest <= highest:
                    work.lowest[count] = lowest
                    work.highest[count] = highest
                    count += 1
    work.protectors[0] = count


@compilable
def others_come_in(
    cells: BoxCells, arm: int, marked: Flags, value: float, data: Data, work: BoxWork, ahead: Ahead
) -> bool:
    """May an arm that is not marked be best in a model that fits, with a mean of `value` or more?"""
    write_box_ahead(arm, data, ahead, work.box)
    work.notes[0] = highest_lower_end(work.box)
    ranges = Ranges(cells.least, cells.most, work.watches.every)
    for model in work.watches.every:
        if comes_in(ranges, work.watches, model, arm, ahead):
            for cell in range(cells.first[model], cells.first[model + 1]):
                lowest, highest = cells.span(cell, work.box, work.notes)
                if not marked[cells.best[cell]] and lowest <= highest and highest >= value:
                    return True
    return False
