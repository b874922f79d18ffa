"""Which arms can be best at all, and their upper confidence indices, mean + radius."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable


@compilable
def candidate_arms(cells: Any) -> Flags:
    """Mark the arms that are best in some model, A*(Theta)."""
    candidates = np.zeros(cells.arm_count(), np.bool_)
    for arm in cells.best:
        candidates[arm] = True
    return candidates


@compilable
def highest_index(pulls: Ints, sums: Floats, budget: float, allowed: Flags) -> int:
    """Return the allowed arm with the highest mean + sqrt(budget / pulls).

    Arms that were never pulled come first; the lowest arm wins a tie.
    """
    highest = -math.inf
    choice = -1
    for arm in range(len(pulls)):
        if allowed[arm]:
            if pulls[arm] == 0:
                return arm
            index = sums[arm] / pulls[arm] + math.sqrt(budget / pulls[arm])
            if index > highest:
                highest = index
                choice = arm
    return choice
