"""Cutting a piece of a curve structure where its best arm changes.

The cuts are the vertices of the upper envelope of the arms' lines. Floats are exact fractions, so the
walk along the envelope is done in fractions: no vertex is missed, invented or given to the wrong arm.
Only the results are rounded, each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def envelope(first: Sequence[Fraction], last: Sequence[Fraction]) -> list[tuple[Fraction, int]]:
    """Return (position where it begins to be best, arm) along the lines from `first` to `last`.

    Positions run from 0 to 1 and each arm returned is strictly best right after its position, the
    lowest index standing for lines that coincide. Isolated ties never make an arm best.
    """
    rises = [end - start for start, end in zip(first, last, strict=True)]
    position = Fraction(0)
    arm = max(range(len(first)), key=lambda i: (first[i], rises[i], -i))
    parts = [(position, arm)]
    while True:
        crossings = [
            ((first[arm] - first[i]) / (rises[i] - rises[arm]), -rises[i], i)
            for i in range(len(first))
            if rises[i] > rises[arm]
        ]
        if not crossings or min(crossings)[0] >= 1:
            return parts
        position, _, arm = min(crossings)
        parts.append((position, arm))
