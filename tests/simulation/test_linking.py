"""Libraries that wait: small functions compiled in them do what plain Python does, whoever calls them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target
from numba.extending import register_jitable

from structured_bandits.simulation import compiled
from structured_bandits.simulation.linking import waiting_library

CODEGEN = cpu_target.target_context.codegen()


@contextmanager
def waiting() -> Iterator[None]:
    """Compile as the engine is compiled."""
    CODEGEN._library_class = compiled.WAITING
    try:
        yield
    finally:
        del CODEGEN._library_class


def total_of_digits(number: int) -> int:
    if number < 0:
        raise ValueError("a negative number has no digits")
    return number if number < 10 else number % 10 + counted(number // 10)


@njit
def counted(number: int) -> int:
    """Call itself: Numba finds the address of such a function only when it has been made."""
    return number if number < 10 else number % 10 + counted(number // 10)


inner = register_jitable(total_of_digits)


def digits_of_all(numbers: Any) -> Any:
    totals = np.zeros(len(numbers), np.int64)
    for place in range(len(numbers)):
        totals[place] = inner(numbers[place])
    return totals


def test_what_is_called_waits_and_plays_the_same() -> None:
    outer = njit(digits_of_all)
    numbers = np.array([7, 10, 98765, 2**40])
    expected = [sum(map(int, str(number))) for number in numbers]
    with waiting():
        assert outer(numbers).tolist() == expected
    (signature,) = outer.signatures
    assert outer.overloads[signature].library.made
    with pytest.raises(ValueError, match="a negative number has no digits"):
        outer(np.array([3, -1]))
    ordinary = njit(lambda numbers: digits(numbers).sum())
    assert ordinary(numbers) == sum(expected)


digits = register_jitable(digits_of_all)


def test_an_engine_leaves_numba_and_the_collector_as_they_were() -> None:
    @njit
    def not_an_engine(x: float) -> float:
        return x

    class Event:
        data = {"dispatcher": not_an_engine}  # noqa: RUF012

    listener = compiled._Compilations()
    for module, engine in ((compiled.__name__, True), ("elsewhere", False)):
        not_an_engine.py_func.__module__ = module
        listener.on_start(Event)
        assert (CODEGEN._library_class is compiled.WAITING) is engine
        assert gc.isenabled() is not engine
        listener.on_start(Event)
        listener.on_end(Event)
        assert (CODEGEN._library_class is compiled.WAITING) is engine
        listener.on_end(Event)
        assert CODEGEN._library_class is JITCodeLibrary
        assert gc.isenabled()


def test_a_numba_with_other_libraries_does_as_it_always_did() -> None:
    assert waiting_library(JITCodeLibrary, lambda name: None) is not None
    assert waiting_library(object, lambda name: None) is None
