"""A generator that reads a tape of uniform numbers, for randomised policies in the Python engine.

Each draw is the quantile of its law at the next number of the tape, as the oracles have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy.special import betaincinv, ndtri


@dataclass
class QuantileTape:
    """Stands for a generator."""

    uniforms: Iterator[float]

    def beta(self, a: float, b: float) -> float:
        return float(betaincinv(a, b, next(self.uniforms)))

    def normal(self, mean: float, deviation: float) -> float:
        return mean + deviation * float(ndtri(next(self.uniforms)))
