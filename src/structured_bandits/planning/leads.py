"""Upper confidence indices, such as mean + radius: which arm leads, and how fast a lead is lost."""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.arrays import Flags
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data
from structured_bandits.planning.intervals import RELATIVE_ERROR, Intervals


class Leader(NamedTuple):
    """The arm with the highest index."""

    arm: int
    lead: float  # over the second highest, with a margin for rounding; 0 if it has no pulls
    widest: float  # 1 / sqrt(pulls) of the arm with the fewest pulls


@compilable
def highest_index(data: Data, level: Intervals, allowed: Flags) -> Leader:
    """Return the allowed arm whose interval has the highest upper end.

    Arms that were never pulled come first; the lowest arm wins a tie.
    """
    pulls = data.pulls
    highest = second = -math.inf
    fewest = math.inf
    choice = -1
    for arm in range(len(pulls)):
        if allowed[arm]:
            if pulls[arm] == 0:
                return Leader(arm, 0.0, math.inf)
            _, index = level.interval(pulls[arm], data.sums[arm])
            fewest = min(fewest, float(pulls[arm]))
            if index > highest:
                second = highest
                highest = index
                choice = arm
            elif index > second:
                second = index
    lead = highest - second - RELATIVE_ERROR * (abs(highest) + math.sqrt(level.budget))
    return Leader(choice, lead, 1.0 / math.sqrt(fewest))


@compilable
def lead_drift(root: float, own: float, widest: float, pulls: int, growth: float) -> float:
    """Return how fast a lead is lost by the pulls of its arm, apart from their rewards, times `pulls`.

    The index of an arm is mean + root / sqrt(pulls), with 1 / sqrt(pulls) = `own`; that part falls no
    faster than its tangent at first. The others' indices grow with root, relatively by `growth` a pull,
    and no faster later on (docs/planning.md 7.1).
    """
    return root * (0.5 * own + widest * pulls * growth)
