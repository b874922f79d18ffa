"""Asking cells what they answer, with memory of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.base.confidence import Box


def best_arms(cells: Any, low: Any, high: Any) -> tuple[bool, list[bool]]:
    """Is anything inside the box, and which arms are best there?"""
    found = np.zeros(cells.arm_count(), np.bool_)
    alive = cells.best_arms_in(Box(low, high), found, cells.fresh_notes())
    return bool(alive), found.tolist()


def optimistic_arm(cells: Any, low: Any, high: Any) -> int:
    """The arm with the highest mean inside the box, -1 if it is empty."""
    return int(cells.optimistic_arm(Box(low, high), cells.fresh_notes()))
