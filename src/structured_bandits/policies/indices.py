"""Upper confidence indices, mean + radius."""

from __future__ import annotations

import math

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable


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
