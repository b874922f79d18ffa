"""Confidence boxes: what the pulls so far say of the means (paper, Algorithm 1 line 7).

A model is kept when every arm's mean lies in the open interval of means that fit its data; an arm that
was never pulled says nothing. Two kinds of intervals are known (`base.intervals`). All policies
share them, so equal alpha means equal widths everywhere.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.intervals import Intervals


class Data(NamedTuple):
    """Pulls and sums of rewards, a number for each arm."""

    pulls: Ints
    sums: Floats


class Box(NamedTuple):
    """An open box of means: those of each arm lie strictly between `low` and `high`."""

    low: Floats
    high: Floats


@compilable
def fresh_data(arms: int) -> Data:
    """Return the data before the first pull."""
    return Data(np.zeros(arms, np.int64), np.zeros(arms))


@compilable
def fresh_box(arms: int) -> Box:
    """Return the memory of a box."""
    return Box(np.zeros(arms), np.zeros(arms))


@compilable
def width_budget(alpha: float, sigma: float, log_clock: float) -> float:
    """Return the b in the radius sqrt(b / pulls), that is (2 sigma)^2 alpha log(clock)."""
    return 4.0 * sigma * sigma * alpha * log_clock


@compilable
def write_interval(arm: int, data: Data, level: Intervals, box: Box) -> None:
    """Write the open interval of means of one arm that fit its data."""
    pulls = data.pulls[arm]
    if pulls > 0:
        low, high = level.interval(pulls, data.sums[arm])
        box.low[arm] = low
        box.high[arm] = high
    else:
        box.low[arm] = -math.inf
        box.high[arm] = math.inf


@compilable
def write_box(data: Data, level: Intervals, box: Box) -> None:
    """Write the open box of means that fit the data."""
    for arm in range(len(data.pulls)):
        write_interval(arm, data, level, box)


def box_of(data: Data, level: Intervals) -> Box:
    """Return the open box of means that fit the data, all arms at once; for plain Python."""
    low, high = level.intervals(data.pulls, data.sums)
    return Box(low, high)
