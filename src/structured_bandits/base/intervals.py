"""Intervals of means that fit the data of one arm: Hoeffding's, or those of the divergence of coins.

With T pulls of mean m and the budget B = (2 sigma)^2 alpha log(clock):

- Hoeffding's interval has the radius sqrt(B / T), for any sub-Gaussian rewards; it is the paper's;
- the KL interval holds the means q with T d(x, y) < 2 B / w^2, for rewards in a range of width w, where
  x and y are m and q scaled to [0, 1] and d is the divergence of coins. It fails with no higher
  probability (Chernoff's bound, which holds for all laws on [0, 1], not only for coins) and lies inside
  Hoeffding's (Pinsker's inequality). For small rates it is far shorter (docs/notes/lookahead.md 16).

Both are records of the same form, so policies and cells need not know which they were given; compiled
code is made for one or the other. A third kind needs more than a class here: `policies.base` maps the
word `confidence=` to a class, data carry no squares, and what is dispatched by class (`chosen_by_class`
in lookahead/, policies/ucb.py and policies/ucbc.py, `theory.upper_bounds`) takes what is not
`Hoeffding` for KL intervals, whose lemmas would have to be proved anew (docs/notes/lookahead.md 16).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.kl import coin_divergence, kl_lower, kl_upper

RELATIVE_ERROR = 2e-14  # a generous bound on that of a mean, a radius or a sum of the two
INCLUDED = (
    1e-8  # an end of the range that fits is inside by this, more than the tolerance of programs
)

Means = TypeVar("Means", float, Floats)  # one, or those of several arms


class Intervals(Protocol):
    """What policies and cells ask of a kind of intervals, at a given budget."""

    @property
    def budget(self) -> float:
        """The b in Hoeffding's radius sqrt(b / pulls)."""

    def at(self, budget: float) -> Any:
        """Return intervals of the same kind with another budget."""

    def scaled(self, mean: Means) -> Means:
        """Return a mean, or means, on the scale of these intervals."""

    def interval(self, pulls: int, total: float) -> tuple[float, float]:
        """Return the open interval of means that fit `pulls` rewards summing to `total`."""

    def intervals(self, pulls: Ints, sums: Floats) -> tuple[Floats, Floats]:
        """Return the intervals of all arms, infinite for those without pulls; in plain Python only."""

    def surely_out(self, mean: float, root: float, least: float, most: float) -> float:
        """Return a strength: as long as sqrt(budget) is less, the range [least, most] surely is out.

        `mean` is the arm's and `root` the square root of its pulls; with a margin for the rounding of
        intervals; not positive if the mean is in the range.
        """

    def maybe_out(self, mean: float, root: float, least: float, most: float) -> float:
        """Return a strength: if sqrt(budget) is more, the range surely is not out."""

    def meets(self, pulls: int, lower: float, upper: float, margin: float) -> bool:
        """Is there surely a mean of `pulls` rewards whose interval holds both of two means?"""


class Hoeffding(NamedTuple):
    """Intervals of radius sqrt(budget / pulls)."""

    budget: float

    def at(self, budget: float) -> Hoeffding:
        """Return intervals with another budget."""
        return Hoeffding(budget)

    def scaled(self, mean: Means) -> Means:
        """Return it as it is."""
        return mean

    def interval(self, pulls: int, total: float) -> tuple[float, float]:
        """Return mean -/+ sqrt(budget / pulls)."""
        mean = total / pulls
        radius = math.sqrt(self.budget / pulls)
        return mean - radius, mean + radius

    def intervals(self, pulls: Ints, sums: Floats) -> tuple[Floats, Floats]:
        """Return the intervals of all arms."""
        counts = np.maximum(pulls, 1)
        means = sums / counts
        radii = np.where(pulls > 0, np.sqrt(self.budget / counts), np.inf)
        return means - radii, means + radii

    def surely_out(self, mean: float, root: float, least: float, most: float) -> float:
        """Return distance * sqrt(pulls), a little less."""
        away = (1.0 - RELATIVE_ERROR) * max(least - mean, mean - most) - RELATIVE_ERROR * abs(mean)
        return float(away * root)

    def maybe_out(self, mean: float, root: float, least: float, most: float) -> float:
        """Return distance * sqrt(pulls), a little more."""
        away = max(least - mean, mean - most)
        return float((away + 4.0 * RELATIVE_ERROR * (abs(least) + abs(most) + abs(mean))) * root)

    def meets(self, pulls: int, lower: float, upper: float, margin: float) -> bool:
        """Are the two less than two radii apart?"""
        return upper - lower < 2.0 * (math.sqrt(self.budget / pulls) - margin)


class KLIntervals(NamedTuple):
    """KL intervals, of rewards from `bottom` to bottom + width."""

    budget: float
    bottom: float
    width: float

    def at(self, budget: float) -> KLIntervals:
        """Return intervals with another budget."""
        return KLIntervals(budget, self.bottom, self.width)

    def scaled(self, mean: Means) -> Means:
        """Return it scaled to [0, 1]."""
        return (mean - self.bottom) / self.width

    def interval(self, pulls: int, total: float) -> tuple[float, float]:
        """Return the ends of the KL interval, cut by Hoeffding's, which rounding could overstep.

        With nothing but the least rewards, the bottom of the range itself fits, so the open interval
        begins a little below; likewise at the top.
        """
        mean = total / pulls
        radius = math.sqrt(self.budget / pulls)
        x = self.scaled(mean)
        b = 2.0 * self.budget / (self.width * self.width * pulls)
        low = self.bottom - INCLUDED * self.width
        if x > 0.0:
            low = self.bottom + self.width * kl_lower(x, b)
        high = self.bottom + (1.0 + INCLUDED) * self.width
        if x < 1.0:
            high = self.bottom + self.width * kl_upper(x, b)
        return max(low, mean - radius), min(high, mean + radius)

    def intervals(self, pulls: Ints, sums: Floats) -> tuple[Floats, Floats]:
        """Return the intervals of all arms."""
        low, high = np.full(len(pulls), -math.inf), np.full(len(pulls), math.inf)
        for arm in np.flatnonzero(pulls):
            low[arm], high[arm] = self.interval(int(pulls[arm]), float(sums[arm]))
        return low, high

    def surely_out(self, mean: float, root: float, least: float, most: float) -> float:
        """Return width * sqrt(pulls * divergence / 2) to the nearer end, moved in a little."""
        return coin_strength(self, mean, root, least, most, -RELATIVE_ERROR)

    def maybe_out(self, mean: float, root: float, least: float, most: float) -> float:
        """Return the same with the end moved out."""
        return coin_strength(self, mean, root, least, most, 4.0 * RELATIVE_ERROR)

    def meets(self, pulls: int, lower: float, upper: float, margin: float) -> bool:
        """Is the mean from which both are equally far, by the divergence, near enough to them?

        That mean is log((1 - l) / (1 - u)) / log(u (1 - l) / (l (1 - u))) (docs/notes/lookahead.md
        16.4).
        """
        low = self.scaled(lower - margin)
        high = self.scaled(upper + margin)
        if low <= 0.0 or high >= 1.0:
            return False  # an end of the range meets nothing but itself: not worth a case
        away = math.log((1.0 - low) / (1.0 - high))
        between = away / (away + math.log(high / low))
        farther = max(coin_divergence(between, low), coin_divergence(between, high))
        return 0.5 * self.width * self.width * farther * pulls < self.budget


@compilable
def coin_strength(
    level: KLIntervals, mean: float, root: float, least: float, most: float, error: float
) -> float:
    """Return width * sqrt(pulls * d(x, q) / 2) for the end q of the range that is nearer to the mean x.

    The end is moved away from the mean by `error`, relatively (towards it if that is negative). An
    outcome that the range excludes and the arm has shown keeps it out for ever.
    """
    if root == 0.0:
        return 0.0
    x = level.scaled(mean)
    size = 2.0 * abs(level.bottom) / level.width + x
    if least > mean:
        q = level.scaled(least)
        if q >= 1.0:
            return 0.0 if x >= 1.0 and q < 1.0 + INCLUDED else math.inf
        q = max(q + error * (q + size), x)
    elif most < mean:
        q = level.scaled(most)
        if q <= 0.0:
            return 0.0 if x <= 0.0 and q > -INCLUDED else math.inf
        q = min(q - error * (q + size), x)
    else:
        return 0.0
    divergence = coin_divergence(min(max(x, 0.0), 1.0), min(max(q, 0.0), 1.0))
    return root * level.width * math.sqrt(0.5 * divergence) * (1.0 + error)
