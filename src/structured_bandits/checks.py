"""Checks of numbers that users hand in: errors name argument, value and what is accepted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structured_bandits.errors import ParameterError


def checked_above(name: str, value: Any, bound: float) -> float:
    """Return a finite number strictly above `bound` as a float."""
    return _checked_number(name, value, f"a finite number > {bound:g}", lambda x: x > bound)


def checked_at_least(name: str, value: Any, bound: float) -> float:
    """Return a finite number of at least `bound` as a float."""
    return _checked_number(name, value, f"a finite number >= {bound:g}", lambda x: x >= bound)


def checked_number(name: str, value: Any) -> float:
    """Return a finite number as a float."""
    return _checked_number(name, value, "a finite number", lambda x: True)


def numbers(values: Any) -> NDArray[np.float64] | None:
    """Return an array of numbers as floats, None if it is ragged or holds anything else."""
    try:
        raw = np.array(values)
    except (TypeError, ValueError):
        return None
    return raw.astype(np.float64) if raw.dtype.kind in "iuf" else None


def _checked_number(name: str, value: Any, accepted: str, holds: Callable[[float], bool]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, (bool, str)) or not math.isfinite(number) or not holds(number):
        raise ParameterError(f"{name}={value!r}: expected {accepted}")
    return number


def checked_count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least` as an int; 1e6 is accepted for 1_000_000."""
    number = _checked_number(
        name, value, f"a whole number >= {least}", lambda x: x >= least and x == math.floor(x)
    )
    if number >= 2.0**52:
        raise ParameterError(f"{name}={value!r}: expected less than 2**52")
    return int(value) if isinstance(value, (int, np.integer)) else int(number)
