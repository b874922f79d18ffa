"""Columns of whole numbers for JSON: as they are if they are few, else packed.

There may be a million decisions whose rewards are out. Written digit by digit they would take half a
second, for which a service would have to stop; their differences mostly fit into one byte each.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from structured_bandits.arrays import Ints

FEW = 1_000  # numbers that are written as they are
WIDTHS = (1, 2, 4, 8)  # bytes of a difference


def packed(values: Sequence[int]) -> list[int] | dict[str, Any]:
    """Return whole numbers of 64 bits in a form that JSON takes.

    >>> packed([5, 6, 8])
    [5, 6, 8]
    >>> packed(range(5, 1006))["first"]
    5
    """
    if len(values) <= FEW:
        return list(values)
    column = np.asarray(values, np.int64)
    steps = np.diff(column)
    width = next(each for each in WIDTHS if _fits(steps, each))
    text = b64encode(steps.astype(f"<i{width}").tobytes()).decode()
    return {"first": int(column[0]), "width": width, "steps": text}


def unpacked(name: str, saved: Any) -> Ints:
    """Return what `packed` was given; raises ValueError if it cannot be that."""
    if isinstance(saved, list) and set(map(type, saved)) <= {int}:
        return np.array(saved, np.int64)
    if not isinstance(saved, dict) or type(saved["first"]) is not int:
        raise ValueError(f"decisions: {name} are no whole numbers")
    if type(saved["width"]) is not int or saved["width"] not in WIDTHS:
        raise ValueError(f"decisions: {name} have a width of {saved['width']!r} bytes")
    steps = np.frombuffer(b64decode(saved["steps"], validate=True), f"<i{saved['width']}")
    return np.concatenate(([saved["first"]], saved["first"] + np.cumsum(steps, dtype=np.int64)))


def _fits(steps: Ints, width: int) -> bool:
    most = np.iinfo(f"i{width}")
    return bool(most.min <= steps.min() and steps.max() <= most.max)
