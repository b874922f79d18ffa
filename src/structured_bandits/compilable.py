"""Marks plain functions that the simulation engine may compile.

The library never imports Numba here: `compilable` only notes the function, and
`structured_bandits.simulation.compiled` registers every noted function once. The same source runs as
plain Python in the live agent.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILABLE: list[Callable[..., Any]] = []
CHOICES: list[tuple[Callable[..., Any], Callable[[type], Callable[..., Any]]]] = []


def compilable(function: Function) -> Function:
    """Note `function` as one that compiled code may call; return it unchanged."""
    COMPILABLE.append(function)
    return function


def chosen_by_class(choose: Callable[[type], Callable[..., Any]]) -> Callable[[Function], Function]:
    """Note a function that hands its arguments to `choose(type(first argument))`.

    Compiled code then holds the chosen one only, and none of the others.
    """

    def note(function: Function) -> Function:
        CHOICES.append((function, choose))
        return function

    return note
