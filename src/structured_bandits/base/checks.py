"""Checks of what users hand in: errors name argument, value and what is accepted."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structured_bandits.errors import ParameterError

_PLAIN = {float, int, np.float64, np.int64}
SMALLEST, LARGEST = 1e-100, 1e100  # of parameters: their squares and products stay finite numbers


def meant(word: object, accepted: Iterable[str]) -> str:
    """Return what an unknown word may have meant, to end a message with; nothing if none is near.

    >>> meant("horizn", ["policy", "horizon"]), meant("sucb", ["UCB", "SUCB"]), meant("tea", ["UCB"])
    ('; did you mean horizon?', '; did you mean SUCB?', '')
    """
    known = {each.casefold(): each for each in accepted}
    near = get_close_matches(str(word).casefold(), known, n=1)
    return f"; did you mean {known[near[0]]}?" if near else ""


def checked_above(name: str, value: Any, bound: float) -> float:
    """Return a finite number strictly above `bound` as a float."""
    return _checked_number(name, value, f"a finite number > {bound:g}", lambda x: x > bound)


def checked_at_least(name: str, value: Any, bound: float) -> float:
    """Return a finite number of at least `bound` as a float."""
    return _checked_number(name, value, f"a finite number >= {bound:g}", lambda x: x >= bound)


def checked_probability(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1 as a float."""
    accepted = "a probability between 0 and 1"
    return _checked_number(name, value, accepted, lambda x: 0.0 < x < 1.0)


def checked_share(name: str, value: Any, least: float, most: float) -> float:
    """Return a number between two ends, which are accepted."""
    share = checked_at_least(name, value, least)
    if share > most:
        raise ParameterError(f"{name}={value!r}: expected {least:g} to {most:g}")
    return share


def checked_number(name: str, value: Any) -> float:
    """Return a finite number as a float."""
    return _checked_number(name, value, "a finite number", lambda x: True)


def numbers(values: Any) -> NDArray[np.float64] | None:
    """Return an array of numbers as floats, None if it is ragged or holds anything else."""
    try:
        raw = np.array(values)
    except (TypeError, ValueError):
        return None
    if raw.dtype.kind not in "iuf" or first_without_number(values) is not None:
        return None
    return raw.astype(np.float64)


def first_without_number(values: Any) -> tuple[tuple[int, ...], Any] | None:
    """Return place and value of the first truth value or text in (nested) values, None without one.

    NumPy makes numbers of both, of "1_0" too. What is nested without end NumPy has to refuse before.
    """
    if isinstance(values, (bool, np.bool_, str, bytes)):
        return (), values
    if hasattr(values, "dtype"):  # an array, of any make
        array = np.asarray(values)
        return None if array.dtype.kind in "iuf" else first_without_number(array.tolist())
    if not isinstance(values, (list, tuple)) or set(map(type, values)) <= _PLAIN:
        return None
    for number, value in enumerate(values):
        found = first_without_number(value)
        if found is not None:
            return (number, *found[0]), found[1]
    return None


def _checked_number(name: str, value: Any, accepted: str, holds: Callable[[float], bool]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if isinstance(value, (bool, str)) or not math.isfinite(number) or not holds(number):
        raise ParameterError(f"{name}={value!r}: expected {accepted}")
    return number


def checked_range(name: str, value: Any, otherwise: str = "") -> tuple[float, float]:
    """Return the ends of a range of rewards; `otherwise` says what else is accepted, as in " or None".

    >>> checked_range("reward_range", [0, 10])
    (0.0, 10.0)
    """
    ends = numbers(value)
    if ends is None or ends.shape != (2,):
        raise ParameterError(f"{name}={value!r}: expected a pair (low, high){otherwise}")
    low, high = ends.tolist()
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(
            f"{name}={value!r}: needs finite low < high{otherwise and ','}{otherwise}"
        )
    if not (high - low >= SMALLEST and max(abs(low), abs(high)) <= LARGEST):
        raise ParameterError(
            f"{name}={value!r}: expected ends up to {LARGEST:g} that are at least {SMALLEST:g} apart; "
            "use other units"
        )
    return low + 0.0, high + 0.0  # so that -0.0 is 0.0


def checked_weights(prior: Any, count: int, what: str) -> NDArray[np.float64]:
    """Return the positive weights of a prior, one for each model or piece, as `what` says."""
    weights = numbers(prior)
    if weights is None or weights.shape != (count,):
        raise ParameterError(f"prior={prior!r}: expected {count} numbers, one for each {what}")
    if not (np.isfinite(weights).all() and (weights > 0.0).all()):
        raise ParameterError(
            f"prior={prior!r}: expected positive numbers; leave out a {what} that is impossible"
        )
    return weights


def checked_word(name: str, value: Any, accepted: Iterable[str]) -> str:
    """Return a word if it is one of those that are accepted."""
    words = tuple(accepted)
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        raise ParameterError(f"{name}={value!r}: accepted are {', '.join(others)} and {last}")
    return value


def checked_count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least` as an int; 1e6 is accepted for 1_000_000."""
    number = _checked_number(
        name, value, f"a whole number >= {least}", lambda x: x >= least and x == math.floor(x)
    )
    if number >= 2.0**52:
        raise ParameterError(f"{name}={value!r}: expected less than 2**52")
    return int(value) if isinstance(value, (int, np.integer)) else int(number)


@lru_cache(maxsize=1024)
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function; remembered, since a look takes long."""
    return tuple(inspect.signature(function).parameters)
