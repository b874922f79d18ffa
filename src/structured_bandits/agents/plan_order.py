"""In which order the pulls of a plan are handed out: in turn, or drawn.

In turn (`order="turn"`), the arm comes next that has had the fewest pulls of the plan, as in the
simulation. Drawn (`order="drawn"`), each pull that the plan still wants is equally likely to come next,
so an arm is chosen with probability wanted / all wanted, and that probability can be logged. Both serve
the same numbers of pulls by the end of the plan.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Ints
from structured_bandits.policies.phases import MOST_PULLS

NO_ARM = -1
ORDERS = ("turn", "drawn")


class Served(NamedTuple):
    """An arm, and the probability with which it was drawn; None if nothing was drawn."""

    arm: int
    propensity: float | None


NOTHING_WANTED = Served(NO_ARM, None)


def with_propensity(served: Served, chance: float | None) -> Served:
    """Return what is served with the chance that its policy gave it, if it says so."""
    return served if chance is None else Served(served.arm, chance)


def next_pull(quota: Ints, handed: Ints, allowed: Flags | None) -> int:
    """Return the next arm of a plan in turn, NO_ARM if it wants none that is allowed."""
    waiting = np.where(handed < quota, handed, MOST_PULLS)
    if allowed is not None:
        waiting[~allowed] = MOST_PULLS
    arm = int(waiting.argmin())  # who has had least
    return arm if waiting[arm] < MOST_PULLS else NO_ARM


def drawn_pull(
    quota: Ints, handed: Ints, allowed: Flags | None, rng: np.random.Generator
) -> Served:
    """Return an arm that the plan still wants, with the probability with which it was drawn.

    If the plan wants one arm only, nothing is drawn: its probability is 1.
    """
    wanted = np.maximum(quota - handed, 0)
    if allowed is not None:
        wanted[~allowed] = 0
    arms = np.flatnonzero(wanted)
    if not len(arms):
        return NOTHING_WANTED
    if len(arms) == 1:
        return Served(int(arms[0]), 1.0)
    ends = np.cumsum(wanted[arms])
    total = int(ends[-1])
    place = int(np.searchsorted(ends, rng.integers(total), side="right"))
    arm = int(arms[place])
    return Served(arm, int(wanted[arm]) / total)
