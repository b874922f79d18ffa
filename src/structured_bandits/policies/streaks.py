"""Policies that pull one arm at a time: their plans are streaks, some pulls of a single arm.

The engine plays a streak without a pass over the arms, so that a short plan costs about what a pull
costs by hand, and it may stop early: after some misses, rewards below the highest that the world pays. A
reward that is no miss is never below a mean, so it cannot cost an arm its lead by much; a streak that
ends with the misses can be far longer than one that has to expect nothing else (PLANNING, Further).

Such a policy answers `streak` and `end_streak`; `plan` and `observe`, which speak of all arms and know
no misses, follow from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.policies.base import Policy


class Streak(NamedTuple):
    """Pull `arm` up to `length` times, but no further once there are more than `misses` misses.

    Who cannot tell misses pulls it `surely` times, which is right whatever the rewards are.
    """

    arm: int
    surely: int
    length: int
    misses: int
    empty: int  # empty confidence sets met


@compilable
def certain_streak(arm: int, length: int, empty: int) -> Streak:
    """Return a streak that does not mind misses."""
    return Streak(arm, length, length, length, empty)


class StreakLike(Protocol):
    """What the engine needs of a policy that plans streaks, besides `init`."""

    def streak(self, state: Any, t: int, limit: int, rng: np.random.Generator) -> Streak:
        """Return what to pull after `t` pulls, no more than `limit`."""

    def end_streak(self, state: Any, arm: int, pulls: int, total: float) -> None:
        """Take in `pulls` pulls of `arm` whose rewards sum to `total`."""


class StreakPolicy(Policy):
    """Mixin: `plan` and `observe` of a policy with `streak` and `end_streak`."""

    def plan(
        self: StreakLike, state: Any, t: int, limit: int, quota: Ints, rng: np.random.Generator
    ) -> int:
        """Plan the part of a streak that is certain; one pull if the confidence set is empty.

        Empty sets are counted pull by pull, and an agent may not come to the end of a plan.
        """
        streak = self.streak(state, t, limit, rng)
        quota[:] = 0
        quota[streak.arm] = 1 if streak.empty > 0 else streak.surely
        return min(streak.empty, 1)

    def end_streak(self, state: Any, arm: int, pulls: int, total: float) -> None:
        """Add the pulls and the sum of their rewards."""
        state.pulls[arm] += pulls
        state.sums[arm] += total

    def observe(self: StreakLike, state: Any, pulls: Ints, sums: Floats) -> None:
        """Take in the pulls and the sums of their rewards, arm by arm."""
        for arm in range(len(pulls)):
            if pulls[arm] > 0:
                self.end_streak(state, arm, pulls[arm], sums[arm])
