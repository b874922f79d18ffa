"""What policies, worlds, the engine and the agent hand to each other.

Everything that passes between them is a record, so that a later version can add to it: compiled code
matches the names of parameters, and a new parameter would break every policy that somebody has written.
A new field breaks none that only reads the record. Who makes one in compiled code has to give all
fields, since defaults of named tuples are not known there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.base.arrays import Floats, Ints


class Now(NamedTuple):
    """The moment at which a policy plans."""

    t: int  # pulls so far
    limit: int  # a policy that looks at every reward plans no more pulls than this
    least: float = math.nan  # if misses and gains can be counted: the least and the highest reward
    most: float = math.nan


class Choice(NamedTuple):
    """The decision about one pull."""

    arm: int
    empty: int  # 1 if no model fitted the data, so that this was decided without the models; else 0


class Seen(NamedTuple):
    """Results of pulls, a number for each arm."""

    pulls: Ints
    sums: Floats  # of the rewards
    squares: Floats  # sums of the squared rewards; nan where nobody knows them


class Outcome(NamedTuple):
    """Results of some pulls of one arm."""

    arm: int
    pulls: int
    total: float  # of the rewards
    squares: float  # the sum of the squared rewards; nan if nobody knows it


class Paid(NamedTuple):
    """What a world pays for some pulls of an arm."""

    pulls: int
    total: float  # of the rewards
    squares: float  # the sum of the squared rewards


class Stop(NamedTuple):
    """Pull up to `length` times, as long as there are no more misses and no more gains than these.

    Hits, which are rewards that are no misses, may earn further misses, or cost some if `earned` is
    negative: after k hits, misses + spare + k * earned are allowed.
    """

    length: int
    misses: int  # rewards below the highest that the world pays
    gains: int  # rewards above the least that it pays
    spare: float = 0.0  # a part of a miss
    earned: float = 0.0  # by each hit


class ChoosingPolicy(Protocol):
    """A policy that decides before each pull; any named tuple with these methods will do.

    `update` may be left out: then pulls and sums are added to `state.data`.
    """

    def init(self) -> Any:
        """Return a fresh state: a named tuple of arrays that hold what was learned."""

    def choose(self, state: Any, now: Now, rng: np.random.Generator) -> Choice:
        """Return the arm of the next pull."""

    def update(self, state: Any, outcome: Outcome) -> None:
        """Take in the results of some pulls of one arm."""


class PolicyLike(Protocol):
    """A policy that plans pulls of several arms at once; any named tuple with these methods will do."""

    def init(self) -> Any:
        """Return a fresh state: a named tuple of arrays."""

    def plan(self, state: Any, now: Now, quota: Ints, rng: np.random.Generator) -> int:
        """Write into `quota` how often each arm is pulled next; return how often no model fitted."""

    def observe(self, state: Any, seen: Seen) -> None:
        """Take in the results of pulls."""


class InOrder(Protocol):
    """What a policy with `in_order = True` has besides: it wants rewards in the order of asking too."""

    def hear(self, state: Any, seen: Seen) -> None:
        """Take in results as soon as they come; where they may come late, instead of `observe`."""

    def settle(self, state: Any, seen: Seen) -> bool:
        """Take in the same results again, in the order in which their decisions were asked for.

        Must there be another plan because of them?
        """


class WorldLike(Protocol):
    """What the engine needs of a world; any named tuple with `means` and `draw` will do."""

    @property
    def means(self) -> Floats:
        """The true means of the arms, from which regret is computed."""

    def draw(self, arm: int, pulls: int, count: int, rng: np.random.Generator) -> Paid:
        """Return what the next `count` pulls of `arm` pay, which was pulled `pulls` times before."""


class LateWorld(WorldLike, Protocol):
    """A world whose rewards come late: any world with a method `draw_delay`."""

    def draw_delay(self, arm: int, reward: float, rng: np.random.Generator) -> int:
        """Return how many other pulls are made before the reward of a pull of `arm` is known."""


class ChangingWorld(WorldLike, Protocol):
    """A world whose means change over time: any world with these two methods."""

    def mean_at(self, arm: int, t: int) -> float:
        """Return the mean of an arm after t pulls."""

    def draw_at(self, arm: int, t: int, rng: np.random.Generator) -> Paid:
        """Return what a pull of an arm pays after t pulls."""


class StoppingWorld(WorldLike, Protocol):
    """A world that can stop after some misses, which are rewards below the highest that the arm pays.

    So a reward that is no miss cannot lower the mean of the arm.
    """

    def most_paid(self) -> float:
        """Return the highest reward that any arm pays."""

    def draw_until(
        self, arm: int, pulls: int, count: int, misses: int, rng: np.random.Generator
    ) -> Paid:
        """Pull `arm` until there are more than `misses` misses, at most `count` times."""


class CountingWorld(StoppingWorld, Protocol):
    """A world that can also stop after some gains, which are rewards above the least that it pays."""

    def least_paid(self) -> float:
        """Return the least reward that any arm pays."""

    def draw_while(self, arm: int, pulls: int, stop: Stop, rng: np.random.Generator) -> Paid:
        """Pull `arm` until there are more misses or more gains than `stop` allows, or enough pulls."""
