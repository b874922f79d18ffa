"""Posterior sampling of an arm by one uniform number, the leader last (docs/notes/lookahead.md 20.1).

The leader is the arm with more than LEAD times the weight of all others together, if there is one. The
uniform number is held against the other arms in the order of their index, then the leader: so the
leader is played if and only if the number is at least the probability of the others, and pulls of it
can be skipped (`thinning`). Without a leader all arms come in order.

LEAD is a number that data do not hit: odds of exactly 1 are common, and rounding would decide there
which arm comes last.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.protocols import Outcome

LEAD = 1.7


class Drawn(NamedTuple):
    """An arm, and the odds against it if it is the leader; infinite if it is not."""

    arm: int
    odds: float


class Known(NamedTuple):
    """What is known of the next uniform number: it lies between these."""

    low: float
    high: float


UNKNOWN = Known(0.0, 1.0)


@compilable
def next_uniform(known: Known, rng: np.random.Generator) -> float:
    """Draw the uniform number of this pull, given what is known of it."""
    return rng.uniform(known.low, known.high)


class Sampling(Protocol):
    """A posterior over models as posterior sampling asks for it."""

    def fresh_belief(self) -> Any:
        """Return what is believed before the first pull; `arms` are weights of the arms."""

    def take_in(self, belief: Any, outcome: Outcome) -> None:
        """Let the results of some pulls of one arm count."""

    def believe(self, belief: Any, data: Data) -> None:
        """Compute what is believed from all data, as if nothing had been learned before."""

    def draw_arm(self, belief: Any, known: Known, rng: np.random.Generator) -> Drawn:
        """Draw a model, given what is known of the next uniform number; return its best arm."""


@compilable
def draw_from(weights: Floats, u: float) -> Drawn:
    """Return the arm that u, uniform in [0, 1), draws with these weights."""
    leader = 0
    for arm in range(len(weights)):
        leader = arm if weights[arm] > weights[leader] else leader
    others = 0.0  # summed up, not found as a difference: they may be far smaller than the leader
    for arm in range(len(weights)):
        others += weights[arm] if arm != leader else 0.0
    leads = weights[leader] > LEAD * others
    mark = u * (others + weights[leader])
    passed = 0.0
    last = leader
    for arm in range(len(weights)):
        if weights[arm] > 0.0 and not (leads and arm == leader):
            passed += weights[arm]
            last = arm
            if mark < passed:
                return Drawn(arm, math.inf)
    return Drawn(leader, others / weights[leader]) if leads else Drawn(last, math.inf)
