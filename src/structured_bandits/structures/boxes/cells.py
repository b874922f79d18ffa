"""Cells of boxes of means: pairs of a box and an arm that is best in a part of it.

In a box every mean is free between its ends, whatever the others are. So all answers are minima and
maxima over the arms, and they are exact: nothing is computed but the ends themselves
(docs/notes/lookahead.md 24).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data
from structured_bandits.base.records import Record
from structured_bandits.structures.polyhedral.least_squares import SAME_LOSS
from structured_bandits.structures.spans import SpanCells


class _BoxCells(NamedTuple):
    least: Floats  # models x arms: the lower ends of the boxes
    most: Floats  # and the upper ones; a mean may be either
    floor: Floats  # models: the best mean is at least this
    first: Ints  # of each model: its first cell; its cells stand together, arms rising
    model: Ints  # of each cell
    best: Ints  # of each cell
    tie: float


class BoxCells(Record, SpanCells, _BoxCells):
    """The boxes of a structure and the questions that policies ask of them.

    Values are ends of boxes or of confidence intervals, never sums of them: equal ones are equal to
    the last bit, and nothing else counts as equal.
    """

    def __new__(cls, least: Floats, most: Floats) -> BoxCells:
        """Find the cells of the boxes from `least` to `most` (models x arms).

        All arrays lie in one piece, or another engine is compiled.
        """
        model, arm = map(np.ascontiguousarray, np.nonzero(leading_arms(least, most)))
        first = np.searchsorted(model, np.arange(len(least) + 1))
        return super().__new__(cls, least, most, least.max(axis=1), first, model, arm, 0.0)

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.least.shape[1]

    def fresh_notes(self) -> Floats:
        """Return the memory of one number: the highest lower end of the box asked about last."""
        return np.zeros(1)

    def fits(self, cell: int, box: Box, before: bool, notes: Floats) -> bool:
        """Does the model's box meet the open box? Arm by arm."""
        model = self.model[cell]
        if cell > 0 and self.model[cell - 1] == model:
            return before
        low, high = box.low, box.high
        highest = -math.inf
        for arm in range(len(low)):
            if self.most[model, arm] <= low[arm] or self.least[model, arm] >= high[arm]:
                return False
            if low[arm] >= high[arm]:
                return False
            highest = max(highest, low[arm])
        notes[0] = highest
        return True

    def span(self, cell: int, box: Box, notes: Floats) -> tuple[float, float]:
        """Return the means of the best arm where it is best inside the open box.

        The other arms can be as low as both boxes let them, so the least best mean is the same for
        every arm of the model: the highest of all lower ends. Of the model's own ends it is reached
        where the arm is always the best, of the open box's ends it is not.
        """
        model = self.model[cell]
        arm = self.best[cell]
        below = notes[0]
        floor = self.floor[model]
        above = min(self.most[model, arm], box.high[arm])
        if above <= below or box.high[arm] <= floor:
            return math.inf, -math.inf
        return max(below, floor), above

    def fitting_arm(self, data: Data) -> int:
        """Return the first arm that is best in a model of the nearest box with the fitting means.

        The fitting means are the averages, cut to the box; arms without pulls may have any mean.
        """
        model = nearest_box(self, data)
        floor = -math.inf
        for arm in range(len(data.pulls)):
            floor = max(floor, fitted_ends(self, model, arm, data)[0])
        for cell in range(len(self.best)):
            arm = self.best[cell]
            if self.model[cell] == model and fitted_ends(self, model, arm, data)[1] >= floor:
                return int(arm)
        return (
            -1
        )  # not reached: some arm has a cell with these means (docs/notes/lookahead.md 24.4)


def leading_arms(least: Floats, most: Floats) -> Flags:
    """Return which arms are best somewhere in which box (models x arms).

    An arm whose mean is not known exactly is, if it can be above the lower ends of all others. One
    whose mean is known has to be at the highest lower end, and every arm that has this end too must
    always be equal to it; of those the first counts.
    """
    wide = most > least
    highest = least.max(axis=1, keepdims=True)
    at_top = least == highest
    leads: Flags = wide & (most > highest)
    settled = np.flatnonzero(~(at_top & wide).any(axis=1))
    leads[settled, at_top[settled].argmax(axis=1)] = True
    return leads


@compilable
def fitted_ends(cells: BoxCells, model: int, arm: int, data: Data) -> tuple[float, float]:
    """Return the ends between which an arm's mean may be in the best-fitting models of a box."""
    least = cells.least[model, arm]
    most = cells.most[model, arm]
    if data.pulls[arm] == 0:
        return least, most
    mean = min(max(data.sums[arm] / data.pulls[arm], least), most)
    return mean, mean


@compilable
def nearest_box(cells: BoxCells, data: Data) -> int:
    """Return the first box with the least sum of pulls * (mean - model)^2.

    Sums that differ by no more than on other convex sets (SAME_LOSS) are equal.
    """
    pulls, sums = data.pulls, data.sums
    total = 0
    for arm in range(len(pulls)):
        total += pulls[arm]
    same = SAME_LOSS * (1.0 + total)
    closest = math.inf
    choice = 0
    for model in range(len(cells.floor)):
        loss = 0.0
        for arm in range(len(pulls)):
            if pulls[arm] > 0:
                mean = sums[arm] / pulls[arm]
                away = max(cells.least[model, arm] - mean, mean - cells.most[model, arm], 0.0)
                loss += pulls[arm] * away * away
        if loss < closest - same:
            closest = loss
            choice = model
    return choice
