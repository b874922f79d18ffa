"""Cells of a curve structure: intervals of the parameter on which one arm is best.

On a cell every mean is affine. A position x in [0, 1] says where in the cell: the means are
`at_start` at 0 and `at_end` at 1. The means at the ends are stored, never recomputed from slopes, so
that neighbouring cells agree on their common border to the last bit. A point of the parameter space is
a cell whose two ends are equal.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.records import Record
from structured_bandits.structures.confidence import Reach, confidence_box

SAME = 1e-13  # what rounding may do to a number of size one
TIE = 1e-11  # and to a value found from a position, which comes from another, flatter line


@compilable
def between(first: float, last: float, x: float) -> float:
    """Return the value at position x of the line from `first` to `last`, exact at both ends."""
    return last if x == 1.0 else first + x * (last - first)


@compilable
def highest_between(first: float, last: float, left: float, right: float) -> float:
    """Return the largest value on [left, right] of the line from `first` to `last`."""
    return max(between(first, last, left), between(first, last, right))


@compilable
def surviving_part(first: Floats, last: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """Return the ends of the part of a cell inside the open box; (1, 0) if no length is left.

    A part of positive length, or a cell on which nothing changes, counts; touching does not.
    """
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


class _IntervalCells(NamedTuple):
    start: Floats  # parameter at position 0 of each cell, in rising order
    end: Floats  # parameter at position 1
    owns_end: Flags  # does the parameter `end` belong to this cell?
    at_start: Floats  # cells x arms
    at_end: Floats
    best: Ints
    tie: float  # values computed from positions that differ by no more are equal


class IntervalCells(Record, _IntervalCells):
    """The cells of a curve structure and the questions that policies ask of them."""

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.at_start.shape[1]

    def best_arms_in(self, low: Floats, high: Floats, found: Flags) -> bool:
        """Mark the arms whose cells have length inside the open box; is anything inside at all?"""
        found[:] = False
        alive = False
        for cell in range(len(self.best)):
            left, right = surviving_part(self.at_start[cell], self.at_end[cell], low, high)
            if left < right:
                found[self.best[cell]] = True
                alive = True
        return alive

    def optimistic_arm(self, low: Floats, high: Floats) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        The mean is a supremum: it may lie on the border of the box or at an open end of a piece. On
        the border of the box, arms with the same data tie exactly, but what is computed from a
        position is rounded: values that differ by no more than rounding are equal.
        """
        highest = -math.inf
        choice = -1
        for cell in range(len(self.best)):
            left, right = surviving_part(self.at_start[cell], self.at_end[cell], low, high)
            if left < right:
                arm = int(self.best[cell])
                first = self.at_start[cell, arm]
                last = self.at_end[cell, arm]
                value = highest_between(first, last, left, right)
                if value > highest + self.tie:
                    highest = value
                    choice = arm
                elif value >= highest - self.tie and arm < choice:
                    choice = arm
        return choice

    def workspace(self) -> Floats:
        """Return the memory that `screen` and `stays` need: a pair per cell, then a box."""
        return np.zeros((2, len(self.best) + self.at_start.shape[1]))

    def screen(
        self, arm: int, pulls: Ints, sums: Floats, budget: float, margin: float, work: Floats
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
        for cell in range(cells):
            work[0, cell] = math.inf
            work[1, cell] = -math.inf
            if self.best[cell] == arm:
                left, right = surviving_part(self.at_start[cell], self.at_end[cell], low, high)
                if left < right:
                    one = between(self.at_start[cell, arm], self.at_end[cell, arm], left)
                    two = between(self.at_start[cell, arm], self.at_end[cell, arm], right)
                    work[0, cell] = min(one, two)
                    work[1, cell] = max(one, two)

    def stays(self, arm: int, pulls: Ints, sums: Floats, work: Floats, reach: Reach) -> bool:
        """Is the optimistic choice `arm` at every moment of the reach?

        As for finite models, a cell of `arm` being a continuum of them with values from work[0] to
        work[1] (docs/design.md, planning on curves): whatever the mean, protectors with values up to
        `safe` are inside the box or every threat below `safe` is outside, so a threat needs a value
        above `safe` somewhere in the part of its cell that may come to fit.
        """
        cells = len(self.best)
        reached = reach.radius - reach.margin
        margin = reach.margin + 2.0 * self.tie
        safe = -math.inf
        for cell in range(cells):
            if work[0, cell] < reach.lowest + reached:
                safe = max(safe, min(work[1, cell], reach.lowest + reached))
        if not _covers(work[0, :cells], work[1, :cells], reach.lowest, reach.highest, reached):
            return False
        low = work[0, cells:]
        high = work[1, cells:]
        confidence_box(pulls, sums, reach.budget, low, high)
        low -= reach.margin
        high += reach.margin
        low[arm] = reach.band_low
        high[arm] = reach.band_high
        for cell in range(cells):
            other = int(self.best[cell])
            if other != arm:
                left, right = surviving_part(self.at_start[cell], self.at_end[cell], low, high)
                if left < right:
                    first = self.at_start[cell, other]
                    last = self.at_end[cell, other]
                    if highest_between(first, last, left, right) >= safe - margin:
                        return False
        return True

    def fitting_arm(self, pulls: Ints, sums: Floats) -> int:
        """Return the best arm where the sum of pulls * (mean - model)^2 is least, first cell on ties.

        On a cell the sum is a quadratic a x^2 + 2 b x + c in the position; its minimum over the
        closed cell is at -b / a or at an end. Sums that differ by no more than rounding are equal.
        """
        closest = math.inf
        choice = 0
        for cell in range(len(self.best)):
            a = 0.0
            b = 0.0
            c = 0.0
            c_end = 0.0
            for arm in range(len(pulls)):
                first = self.at_start[cell, arm]
                last = self.at_end[cell, arm]
                rise = last - first
                a += pulls[arm] * rise * rise
                b += rise * (pulls[arm] * first - sums[arm])
                c += first * (pulls[arm] * first - 2.0 * sums[arm])
                c_end += last * (pulls[arm] * last - 2.0 * sums[arm])
            if b >= -SAME * a:
                loss = c
            elif a + b <= SAME * a:
                loss = c_end
            else:
                loss = c - b * b / a
            if loss < closest - SAME * (a + abs(c) + abs(c_end)):
                closest = loss
                choice = int(self.best[cell])
        return choice

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
            if away < distance - SAME:
                distance = away
                smallest = left
                largest = right
            elif away <= distance + SAME:
                smallest = min(smallest, left)
                largest = max(largest, right)
        return 0.5 * (smallest + largest)

    def arm_at(self, parameter: float) -> int:
        """Return the best arm at `parameter`, or at the nearest one there is (the lower on ties).

        A parameter that differs from a border by no more than rounding is on it.
        """
        same = SAME * (abs(self.start[0]) + abs(self.end[-1]))
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
