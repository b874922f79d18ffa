"""Random numbers that NumPy makes in C, for compiled code as well.

Numba compiles versions of its own of what NumPy's generators draw, and those of binomial and gamma
numbers took a quarter of a first start. But NumPy's own are there, ready to be called: they are part of
its interface in C. So the functions here name what they are called in NumPy's library, and compiled code
calls that (`structured_bandits.simulation.compiled`). Where the library does not show its functions,
Numba compiles the Python below. Policies and worlds from elsewhere may go on calling the generator.

The order of parameters and their types are those in C, with the generator last.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import numpy as np

from structured_bandits.base.undocumented import ALLOWED

Draw = TypeVar("Draw", bound=Callable[..., Any])

#: What compiled code may take from NumPy's library, and its name there.
DRAWS: dict[Callable[..., Any], str] = {}


def named_in_c(symbol: str) -> Callable[[Draw], Draw]:
    """Note what NumPy's library calls a function; return it unchanged."""

    def note(function: Draw) -> Draw:
        DRAWS[function] = symbol
        return function

    return note


@named_in_c("random_binomial")
def draw_binomial(share: float, count: int, rng: np.random.Generator) -> int:
    """Draw the number of ones among `count` numbers, each of which is one with probability `share`."""
    return int(rng.binomial(count, share))


@named_in_c("random_standard_gamma")
def draw_gamma(shape: float, rng: np.random.Generator) -> float:
    """Draw a gamma number with scale 1."""
    return float(rng.standard_gamma(shape))


@named_in_c("random_standard_exponential")
def draw_exponential(rng: np.random.Generator) -> float:
    """Draw an exponential number with mean 1."""
    return float(rng.standard_exponential())


@named_in_c("random_normal")
def draw_normal(mean: float, deviation: float, rng: np.random.Generator) -> float:
    """Draw a normal number."""
    return float(rng.normal(mean, deviation))


@named_in_c("random_chisquare")
def draw_chisquare(freedom: float, rng: np.random.Generator) -> float:
    """Draw the sum of the squares of so many standard normal numbers."""
    return float(rng.chisquare(freedom))


@cache
def addresses() -> dict[str, int]:
    """Return where NumPy's library has these functions, nothing unless it has all of them."""
    if not ALLOWED:
        return {}
    try:
        library = ctypes.CDLL(np.random._generator.__file__)
        places = {symbol: getattr(library, symbol) for symbol in DRAWS.values()}
    except (AttributeError, OSError):
        return {}
    return {name: ctypes.cast(place, ctypes.c_void_p).value or 0 for name, place in places.items()}
