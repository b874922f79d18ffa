"""A generator that reads a tape of uniform numbers, for randomised policies in the Python engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.special import betaincinv


def below(u: float, probability: float) -> bool:
    """Does a wait end with this uniform, if the small uniforms end it?"""
    return u < probability


def above(u: float, probability: float) -> bool:
    """Does a wait end with this uniform, if the large uniforms end it?"""
    return u >= 1.0 - probability


@dataclass
class UniformTape:
    """Hands out the numbers of a tape, one for each uniform, Beta draw or failure of a wait."""

    tape: Sequence[float]
    ends: Callable[[float, float], bool] = below
    place: int = 0

    def uniform(self, low: float, high: float) -> float:
        assert (low, high) == (0.0, 1.0)
        self.place += 1
        return self.tape[self.place - 1]

    def beta(self, a: float, b: float) -> float:
        return float(betaincinv(a, b, self.uniform(0.0, 1.0)))

    def geometric(self, probability: float) -> int:
        """Return how many uniforms there are up to the first that ends the wait."""
        start = self.place
        while self.place < len(self.tape):
            if self.ends(self.uniform(0.0, 1.0), probability):
                return self.place - start
        return self.place - start + 1  # the tape ends inside the wait
