"""Indices of arms: which one leads, and by how much."""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable

CLOSE = 1e-9  # a smaller lead, on the scale of rewards in [0, 1], is not worth a plan
# What a plan keeps between the leader and the others: more than rounding can do to a mean in [0, 1] or
# to an index (docs/planning.md 18.1).
SPREAD = 1e-13


class Front(NamedTuple):
    """The arm with the highest index, the lowest of several, and the second highest index."""

    arm: int
    highest: float
    second: float  # -inf if there is no other arm


@compilable
def front_of(indices: Floats, playable: Ints) -> Front:
    """Return which of the playable arms leads."""
    highest = second = -math.inf
    choice = playable[0]
    for place in range(len(playable)):
        index = indices[playable[place]]
        if index > highest:
            second = highest
            highest = index
            choice = playable[place]
        elif index > second:
            second = index
    return Front(choice, highest, second)
