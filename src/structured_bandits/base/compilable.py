"""Marks plain functions that the simulation engine may compile.

The library never imports Numba here: `compilable` only notes the function, and
`structured_bandits.simulation.compiled` registers every noted function once. The same source runs as
plain Python in the live agent.
"""

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

COMPILABLE: list[Callable[..., Any]] = []
COMPILED_AS: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
CHOICES: list[tuple[Callable[..., Any], Callable[[type], Callable[..., Any] | None]]] = []


def compilable(function: Function) -> Function:
    """Note `function` as one that compiled code may call; return it unchanged."""
    COMPILABLE.append(function)
    return function


def compiled_as(loop: Callable[..., Any]) -> Callable[[Function], Function]:
    """Let compiled code run `loop` where plain Python runs the function; both must answer alike.

    For questions about large arrays: in plain Python a loop over their numbers takes a hundred times as
    long as NumPy, in compiled code it needs no memory for what lies between.
    """

    def note(function: Function) -> Function:
        COMPILED_AS.append((function, loop))
        return function

    return note


def chosen(choose: Callable[[type], Callable[..., Any] | None]) -> Callable[..., Any]:
    """Return a function that hands its arguments to the one chosen for the class of the first.

    Compiled code then holds the chosen one only, and none of the others.
    """

    def hand_on(first: Any, *others: Any) -> Any:
        function: Any = choose(type(first))
        return function(first, *others)

    CHOICES.append((hand_on, choose))
    return hand_on


def chosen_by_class(
    cases: dict[type, Callable[..., Any]], otherwise: Callable[..., Any]
) -> Callable[..., Any]:
    """Return a function that hands its arguments to the one for the class of the first argument."""
    return chosen(lambda kind: cases.get(kind, otherwise))


def do_nothing(*arguments: Any) -> None:
    """Stand where a class has nothing to do; for `chosen`."""


class Kernel:
    """A function of arrays in NumPy, and the loops that simulations compile in its place.

    For solvers that policies in plain Python call: live agents use NumPy; simulations let Numba compile
    the loops on their own (`simulation.compiled.compile_kernels`), which are some ten times faster.
    """

    def __init__(self, plain: Callable[..., Any], loops: tuple[Callable[..., Any], ...]) -> None:
        self.plain, self.loops = plain, loops
        self.compiled: Callable[..., Any] | None = None
        self.__doc__, self.__name__ = plain.__doc__, plain.__name__

    def __call__(self, *arguments: Any) -> Any:
        """Call what is fastest."""
        return (self.compiled or self.plain)(*arguments)


KERNELS: list[Kernel] = []


def kernel(*loops: Callable[..., Any]) -> Callable[[Callable[..., Any]], Kernel]:
    """Let simulations run compiled loops where plain Python runs a function; helpers come after it."""

    def note(function: Callable[..., Any]) -> Kernel:
        KERNELS.append(Kernel(function, loops))
        return KERNELS[-1]

    return note
