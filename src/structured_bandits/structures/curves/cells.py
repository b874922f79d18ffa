"""Cells of a curve structure: intervals of the parameter on which one arm is best.

On a cell every mean is affine. A position x in [0, 1] says where in the cell: the means are
`at_start` at 0 and `at_end` at 1. The means at the ends are stored, never recomputed from slopes, so
that neighbouring cells agree on their common border to the last bit. A point of the parameter space is
a cell whose two ends are equal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data
from structured_bandits.base.records import Record
from structured_bandits.structures.spans import SpanCells

NUMBER_ERROR = 1e-13  # what rounding may do to a number of size one
TIE = 1e-11  # and to a value found from a position, which comes from another, flatter line


@compilable
def between(first: float, last: float, x: float) -> float:
    """Return the value at position x of the line from `first` to `last`, exact at both ends."""
    return last if x == 1.0 else first + x * (last - first)


@compilable
def surviving_part(first: Floats, last: Floats, box: Box) -> tuple[float, float]:
    """Return the ends of the part of a cell inside the open box; (1, 0) if no length is left.

    A part of positive length, or a cell on which nothing changes, counts; touching does not.
    """
    low, high = box.low, box.high
    left = 0.0
    right = 1.0
    for arm in range(len(low)):
        rise = last[arm] - first[arm]
        if rise == 0.0:
            if not low[arm] < first[arm] < high[arm]:
                return 1.0, 0.0
        else:
            at_low = (low[arm] - first[arm]) / rise
            at_high = (high[arm] - first[arm]) / rise
            left = max(left, min(at_low, at_high))
            right = min(right, max(at_low, at_high))
            if left >= right:
                return 1.0, 0.0
    return left, right


@compilable
def fitting_place(cells: IntervalCells, data: Data) -> tuple[int, float]:
    """Return the cell and the position in it where the sum of pulls * (mean - model)^2 is least.

    On a cell the sum is a quadratic a x^2 + 2 b x + c in the position; its minimum over the closed
    cell is at -b / a or at an end. Sums that differ by no more than rounding are equal, and the first
    cell wins.
    """
    pulls, sums = data.pulls, data.sums
    closest = math.inf
    choice = 0
    place = 0.0
    for cell in range(len(cells.best)):
        a = 0.0
        b = 0.0
        c = 0.0
        c_end = 0.0
        for arm in range(len(pulls)):
            first = cells.at_start[cell, arm]
            last = cells.at_end[cell, arm]
            rise = last - first
            a += pulls[arm] * rise * rise
            b += rise * (pulls[arm] * first - sums[arm])
            c += first * (pulls[arm] * first - 2.0 * sums[arm])
            c_end += last * (pulls[arm] * last - 2.0 * sums[arm])
        if b >= -NUMBER_ERROR * a:
            x = 0.0
            loss = c
        elif a + b <= NUMBER_ERROR * a:
            x = 1.0
            loss = c_end
        else:
            x = -b / a
            loss = c - b * b / a
        if loss < closest - NUMBER_ERROR * (a + abs(c) + abs(c_end)):
            closest = loss
            choice = cell
            place = x
    return choice, place


class _IntervalCells(NamedTuple):
    start: Floats  # parameter at position 0 of each cell, in rising order
    end: Floats  # parameter at position 1
    owns_end: Flags  # does the parameter `end` belong to this cell?
    at_start: Floats  # cells x arms
    at_end: Floats
    best: Ints
    tie: float  # values computed from positions that differ by no more are equal
    least: Floats  # cells x arms: the range of each mean on the cell
    most: Floats


class IntervalCells(Record, SpanCells, _IntervalCells):
    """The cells of a curve structure and the questions that policies ask of them."""

    weighed_models = True  # the likelihoods of all models can be compared, line by line

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.at_start.shape[1]

    def fits(self, cell: int, box: Box, before: bool, notes: Floats) -> bool:
        """Does the cell's piece meet the box? Only its cells can tell."""
        return True

    def span(self, cell: int, box: Box, notes: Floats) -> tuple[float, float]:
        """Return the means of the best arm on the part of the cell inside the open box."""
        left, right = surviving_part(self.at_start[cell], self.at_end[cell], box)
        if left >= right:
            return math.inf, -math.inf
        first = self.at_start[cell, self.best[cell]]
        last = self.at_end[cell, self.best[cell]]
        one = between(first, last, left)
        two = between(first, last, right)
        return min(one, two), max(one, two)

    def fitting_arm(self, data: Data) -> int:
        """Return the best arm where the sum of pulls * (mean - model)^2 is least, first cell on ties."""
        cell, _ = fitting_place(self, data)
        return int(self.best[cell])

    def fitting_means(self, data: Data) -> Floats:
        """Return the means of the best-fitting model; of several in a cell those at the first."""
        cell, x = fitting_place(self, data)
        first, last = self.at_start[cell], self.at_end[cell]
        return last.copy() if x == 1.0 else first + x * (last - first)

    def closest_parameter(self, arm: int, mean: float) -> float:
        """Return the parameter whose mean of `arm` is nearest to `mean`.

        If there are several, the middle between the smallest and the largest (errata, I-35);
        distances that differ by no more than rounding are equal.
        """
        distance = math.inf
        smallest = 0.0
        largest = 0.0
        for cell in range(len(self.best)):
            first = self.at_start[cell, arm]
            last = self.at_end[cell, arm]
            nearest = min(max(mean, min(first, last)), max(first, last))
            if first == last:
                left = self.start[cell]
                right = self.end[cell]
            else:
                left = between(self.start[cell], self.end[cell], (nearest - first) / (last - first))
                right = left
            away = abs(nearest - mean)
            if away < distance - NUMBER_ERROR:
                distance = away
                smallest = left
                largest = right
            elif away <= distance + NUMBER_ERROR:
                smallest = min(smallest, left)
                largest = max(largest, right)
        return 0.5 * (smallest + largest)

    def arm_at(self, parameter: float) -> int:
        """Return the best arm at `parameter`, or at the nearest one there is (the lower on ties).

        A parameter that differs from a border by no more than rounding is on it.
        """
        same = NUMBER_ERROR * (abs(self.start[0]) + abs(self.end[-1]))
        distance = math.inf
        choice = 0
        for cell in range(len(self.best)):
            start = self.start[cell]
            end = self.end[cell]
            if start == end:
                inside = abs(parameter - end) <= same
            elif self.owns_end[cell]:
                inside = start - same <= parameter <= end + same
            else:
                inside = start - same <= parameter < end - same
            if inside:
                return int(self.best[cell])
            away = max(start - parameter, parameter - end)
            if away < distance - same:
                distance = away
                choice = int(self.best[cell])
        return choice
