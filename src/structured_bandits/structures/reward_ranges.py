"""The range of rewards that a structure declares, and what follows for structures made of others.

A structure that says nothing has rewards in `UNIT`. Where it meets others, it goes along with them:
None stands for nothing said.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.errors import StructureError

Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)


class Rewards(NamedTuple):
    """The scale of rewards and their range; its ends are infinite if they have none."""

    sigma: float
    bottom: float
    top: float


def hull(ranges: Iterable[Range | None]) -> Range | None:
    """Return the least range that holds these: of rewards that lie in one of them.

    >>> hull([(0.0, 2.0), None, (1.0, 3.0)])
    (0.0, 3.0)
    """
    said = [each for each in ranges if each is not None]
    return (min(low for low, _ in said), max(high for _, high in said)) if said else None


def overlap(ranges: Iterable[Range | None]) -> Range | None:
    """Return what these ranges have in common: where rewards lie that are in all of them.

    >>> overlap([(0.0, 2.0), None, (1.0, 3.0)])
    (1.0, 2.0)
    """
    said = [each for each in ranges if each is not None]
    if not said:
        return None
    low, high = max(low for low, _ in said), min(high for _, high in said)
    if not low < high:
        shown = ", ".join(f"({low:g}, {high:g})" for low, high in said)
        raise StructureError(
            f"reward_range: the parts declare {shown}, which have no range in common; give the "
            "reward_range of all"
        )
    return low, high


def multiplied(reward_range: Range | None, factors: Floats) -> Range | None:
    """Return the range of rewards in `reward_range` after each arm's are multiplied by its factor."""
    if reward_range is None:
        return None
    ends = np.outer(factors, reward_range)
    return float(ends.min()), float(ends.max())
