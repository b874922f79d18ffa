"""The least squared regret for each bit of information (docs/notes/mathematics.md 2.19).

An arm costs some expected regret and brings some information about which arm is best. Of all random
choices of an arm, that with the least (expected regret)^2 / (expected information) is played; some such
choice is between two arms at most.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable

SMALL = 0.02  # up to here the series below has all digits that a float holds
NO_ARM = -1


class Mixture(NamedTuple):
    """Play `second` with probability `share`, `first` otherwise; `second` is NO_ARM if share is 0."""

    first: int
    second: int
    share: float


@compilable
def spare_logarithm(r: float) -> float:
    """Return (1 + r) log(1 + r) - r for r >= -1, which is about r^2 / 2, to almost all digits."""
    if r <= -1.0:  # less only by rounding
        return 1.0
    if abs(r) > SMALL:
        return (1.0 + r) * math.log1p(r) - r
    tail = 1.0 / 42.0 - r * (1.0 / 56.0 - r * (1.0 / 72.0 - r / 90.0))
    return (
        r
        * r
        * (0.5 - r * (1.0 / 6.0 - r * (1.0 / 12.0 - r * (0.05 - r * (1.0 / 30.0 - r * tail)))))
    )


@compilable
def coin_information(x: float, y: float, shift: float) -> float:
    """Return the divergence d(x + shift, x) of coins, with y = 1 - x given for when x is close to 1.

    Two terms that are never negative, so nothing cancels however small the shift is.
    """
    if shift == 0.0 or x <= 0.0 or y <= 0.0:  # a sure thing has no shift
        return 0.0
    return x * spare_logarithm(shift / x) + y * spare_logarithm(-shift / y)


@compilable
def least_ratio(regret: Floats, information: Floats) -> Mixture:
    """Return the choice with the least (expected regret)^2 / (expected information).

    Some information is positive. The points (information, regret) have a lower hull; the walk along
    it begins at the least regret and goes to the corner with the least slope, until the best point
    of the line between two corners lies between them (docs/notes/mathematics.md 2.19). Information is
    divided by the largest, or products of small numbers might vanish.
    """
    top = 0.0
    first = 0
    for arm in range(len(regret)):
        top = max(top, information[arm])
        cheaper = regret[arm] < regret[first]
        if cheaper or (regret[arm] == regret[first] and information[arm] > information[first]):
            first = arm
    while True:
        second = NO_ARM
        least = math.inf
        share = 0.0
        for arm in range(len(regret)):
            more = (information[arm] - information[first]) / top
            rise = regret[arm] - regret[first]
            if more > 0.0 and rise < least * more:
                second = arm
                least = rise / more
                share = line_share(regret[first], information[first] / top, rise, more)
        if share <= 0.0:
            return Mixture(first, NO_ARM, 0.0)
        if share < 1.0:
            return Mixture(first, second, share)
        first = second


@compilable
def line_share(regret: float, gain: float, rise: float, more: float) -> float:
    """Return where (regret + s rise)^2 / (gain + s more) is least, for s >= 0 and more > 0.

    The derivative has the sign of 2 rise (gain + s more) - more (regret + s rise).
    """
    if rise <= 0.0:  # only rounding makes it so: the walk begins at the least regret
        return 1.0
    return regret / rise - 2.0 * gain / more
