"""The ends of boxes around the rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.base.checks import numbers
from structured_bandits.errors import StructureError

DECIMALS = 12  # that ends keep, so that 0.7 - 0.2 is 0.5 and arms that can only tie do only tie


def box_ends(table: Floats, margins: Any, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of boxes of half-width `margins`, cut to [low, high].

    A box never loses its row: where a mean of the table is outside the range, the box ends at it.
    """
    half = checked_margins(margins, table.shape)
    least, most = checked_range(low, high)
    below = np.clip(np.round(table - half, DECIMALS), least, most)
    above = np.clip(np.round(table + half, DECIMALS), least, most)
    known = half == 0.0
    return (
        np.where(known, table, np.minimum(below, table)),
        np.where(known, table, np.maximum(above, table)),
    )


def checked_margins(margins: Any, shape: tuple[int, ...]) -> Floats:
    """Return a margin for each mean of a table: from a number, a row (arms) or a table."""
    models, arms = shape
    frame = hasattr(margins, "columns") and hasattr(margins, "to_numpy")
    half = numbers(margins.to_numpy() if frame else margins)
    if half is None or half.shape not in ((), (arms,), (models, arms)):
        raise StructureError(
            f"margins={margins!r}: expected a number, one for each of the {arms} arms, or a table of "
            f"{models} models × {arms} arms"
        )
    if not (np.isfinite(half) & (half >= 0.0)).all():
        wrong = half[~(np.isfinite(half) & (half >= 0.0))][0]
        raise StructureError(f"margins: {wrong:g} is among them; expected finite numbers >= 0")
    return np.broadcast_to(half, shape)


def checked_range(low: Any, high: Any) -> tuple[float, float]:
    """Return the range that means are cut to; either end may be infinite."""
    ends = numbers([low, high])
    if ends is None or ends.shape != (2,) or not ends[0] < ends[1]:
        raise StructureError(f"low={low!r}, high={high!r}: expected numbers low < high")
    return float(ends[0]), float(ends[1])
