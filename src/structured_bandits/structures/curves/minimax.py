"""The lowest point of the highest of several lines, exactly: all that hardness on a curve needs."""

from __future__ import annotations

import numpy as np

from structured_bandits.base.arrays import Flags, Floats

HEIGHT_ROUNDING = 4.0 * np.finfo(np.float64).eps  # relative, of a line's height at a place


def lowest_maximum(first: Floats, last: Floats) -> tuple[Floats, Floats, Floats]:
    """Return, for each row, the least over x in [0, 1] of the highest line, and where it is taken.

    Line j of a row goes from first[row, j] at x = 0 to last[row, j] at x = 1. The maximum is convex
    and the places where it is least are an interval, from the second array returned to the third.
    """
    x = _place(first, last - first)
    value = np.where(x == 1.0, last.max(axis=1), (first + x[:, None] * (last - first)).max(axis=1))
    with np.errstate(divide="ignore", invalid="ignore"):
        meets = (value[:, None] - first) / (last - first)  # where a line has the value
    left = np.where(last < first, meets, 0.0).max(axis=1)
    right = np.where(last > first, meets, 1.0).min(axis=1)
    return value, np.minimum(x, left.clip(0.0, 1.0)), np.maximum(x, right.clip(0.0, 1.0))


def _place(first: Floats, rise: Floats) -> Floats:
    """Return a place where the highest line is lowest.

    If it falls at 0 and rises at 1, the crossing of a falling and a rising line bounds it from below;
    as long as another line is higher there, that line replaces the one of its direction. Every
    step finds a new line, so there are no more steps than lines.
    """
    rows = np.arange(len(first))
    last = first + rise
    falling = np.where(first == first.max(axis=1, keepdims=True), rise, -np.inf).argmax(axis=1)
    rising = np.where(last == last.max(axis=1, keepdims=True), rise, np.inf).argmin(axis=1)
    x = np.where(rise[rows, falling] >= 0.0, 0.0, 1.0)
    open_rows: Flags = (rise[rows, falling] < 0.0) & (rise[rows, rising] > 0.0)
    for _ in range(first.shape[1]):
        rows = np.flatnonzero(open_rows)
        if not len(rows):
            break
        down, up = falling[rows], rising[rows]
        start, slope = first[rows, down], rise[rows, down]
        x[rows] = ((start - first[rows, up]) / (rise[rows, up] - slope)).clip(0.0, 1.0)
        heights = first[rows] + x[rows, None] * rise[rows]
        top = heights.argmax(axis=1)
        direction = rise[rows, top]
        bound = start + x[rows] * slope
        size = np.abs(first[rows]).max(axis=1) + np.abs(rise[rows]).max(axis=1)
        done = (heights.max(axis=1) <= bound + HEIGHT_ROUNDING * size) | (direction == 0.0)
        falling[rows] = np.where(direction < 0.0, top, down)
        rising[rows] = np.where(direction > 0.0, top, up)
        open_rows[rows[done]] = False
    return x
