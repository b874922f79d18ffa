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


def chosen(choose: Callable[[type], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function that hands its arguments to the one chosen for the class of the first.

    Compiled code then holds the chosen one only, and none of the others.
    """

    def hand_on(first: Any, *others: Any) -> Any:
        return choose(type(first))(first, *others)

    CHOICES.append((hand_on, choose))
    return hand_on


def chosen_by_class(
    cases: dict[type, Callable[..., Any]], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that hands its arguments to the one for the class of the first argument."""
    return chosen(lambda kind: cases.get(kind, otherwise))


def do_nothing(*arguments: Any) -> None:
    """Stand where a class has nothing to do; for `chosen`."""
