"""Random problems that every policy of an experiment meets, drawn once for all of them.

Policies are played one after the other, so each of them would draw the same problems again, and while
Python draws, no other worker can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.experiments.worlds import Problem

MOST = 256  # problems that are kept; a structure of 150 models of 50 arms takes 70 kB


class DrawnOnce:
    """Draws a problem, or returns the one that was drawn from a generator in this state before.

    The generator is not set to where a draw would leave it: nobody draws from it again.
    """

    def __init__(self, draw: Callable[[np.random.Generator], Problem]) -> None:
        self._draw = draw
        self._kept: dict[tuple[Any, ...], Problem] = {}

    def __call__(self, rng: np.random.Generator) -> Problem:
        """Return the problem that is drawn from this generator."""
        state = rng.bit_generator.state
        if state["bit_generator"] != "PCG64":
            return self._draw(rng)
        start = (*state["state"].values(), state["has_uint32"], state["uinteger"])
        problem = self._kept.get(start)
        if problem is None:
            problem = self._draw(rng)
            if len(self._kept) >= MOST:
                self._kept.pop(
                    next(iter(self._kept), start), None
                )  # the first; or another thread did
            self._kept[start] = problem
        return problem

    def __reduce__(self) -> tuple[Any, ...]:
        return DrawnOnce, (self._draw,)  # another process draws for itself
