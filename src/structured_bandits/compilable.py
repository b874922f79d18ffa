"""Marks plain functions that the simulation engine may compile.

The library never imports Numba here: `compilable` only notes the function, and
`structured_bandits.simulation.compiled` registers every noted function once. The same source runs as
plain Python in the live agent.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILABLE: list[Callable[..., Any]] = []


def compilable(function: Function) -> Function:
    """Note `function` as one that compiled code may call; return it unchanged."""
    COMPILABLE.append(function)
    return function
