"""What a policy is, and what all of ours have in common.

A policy is a named tuple of parameters with three methods that Numba can compile:

- `init()` returns a fresh state, a named tuple of arrays;
- `plan(state, t, limit, quota, rng)` writes into `quota` how often each arm is pulled next, played in
  round-robin order, after `t` pulls so far, and returns the number of empty confidence sets it met. A
  policy that looks at rewards before each pull plans no further than `limit`, and never further than
  no reward in its declared range can change its mind;
- `observe(state, pulls, sums)` takes in the pulls of each arm and the sums of their rewards.

Everything else here (checks, representation) is plain Python and never compiled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.checks import checked_above, checked_count
from structured_bandits.errors import ParameterError
from structured_bandits.planning.round_robin import add_results
from structured_bandits.planning.streaks import StreakLike
from structured_bandits.records import Record
from structured_bandits.structures.base import Structure
from structured_bandits.structures.curves.structure import CurveStructure


class PolicyLike(Protocol):
    """What the engine and the agent need of a policy; any such named tuple will do."""

    def init(self) -> Any:
        """Return a fresh state: a named tuple of arrays."""

    def plan(self, state: Any, t: int, limit: int, quota: Ints, rng: np.random.Generator) -> int:
        """Write how often each arm is pulled next; return the number of empty sets met."""

    def observe(self, state: Any, pulls: Ints, sums: Floats) -> None:
        """Take in pulls and sums of rewards per arm."""


class Policy(Record):
    """Mixin of the library's policies; `structure` is what they were built for, if anything."""

    structure: Structure | None
    n_arms: int
    sigma: float
    low: float
    high: float

    def observe(self, state: Any, pulls: Ints, sums: Floats) -> None:
        """Add the pulls and the sums of their rewards."""
        add_results(state.pulls, state.sums, pulls, sums)

    @property
    def arm_names(self) -> tuple[str, ...]:
        """The names of the arms."""
        if self.structure is not None:
            return self.structure.arm_names
        return tuple(str(number) for number in range(1, self.n_arms + 1))

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """The declared range of rewards, None if unbounded."""
        return (self.low, self.high) if math.isfinite(self.low) else None

    def active_arms(self, state: Any, t: int) -> tuple[int, ...]:
        """Return the arms that the policy may still play for good reason after `t` pulls."""
        return tuple(range(self.n_arms))

    def width(self) -> str:
        """Return the confidence radius in words, for tables."""
        return "none"

    def __repr__(self) -> str:
        subject = repr(self.structure) if self.structure is not None else f"{self.n_arms} arms"
        shown = [f"{name}={value!r}" for name, value in self.parameters().items()]
        return f"{type(self).__name__}({', '.join([subject, *shown])})"

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain values, for results and snapshots."""
        fields = {
            name: value
            for name, value in self._asdict().items()  # type: ignore[attr-defined]
            if name not in ("cells", "n_arms", "low", "high")
        }
        return {**fields, "reward_range": self.reward_range}


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


class StructuredPolicy(Policy):
    """Mixin of the policies that need a structure; the others have `n_arms` as a parameter."""

    structure: Structure

    @property
    def n_arms(self) -> int:  # type: ignore[override]
        """The number of arms."""
        return self.structure.n_arms


class Rewards(NamedTuple):
    """The checked reward range and scale of a policy."""

    sigma: float
    low: float
    high: float


def checked_rewards(reward_range: tuple[float, float] | None, sigma: float | None) -> Rewards:
    """Return scale and range; sigma defaults to half the range's width (Hoeffding)."""
    if reward_range is None:
        if sigma is None:
            raise ParameterError("sigma=None: unbounded rewards (reward_range=None) need a sigma")
        low, high = -math.inf, math.inf
    else:
        try:
            low, high = (float(end) for end in tuple(reward_range))
        except (TypeError, ValueError, OverflowError):
            raise ParameterError(
                f"reward_range={reward_range!r}: expected a pair (low, high) or None"
            ) from None
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ParameterError(f"reward_range={reward_range!r}: needs finite low < high, or None")
    scale = (high - low) / 2.0 if sigma is None else checked_above("sigma", sigma, 0.0)
    return Rewards(scale, low, high)


def checked_structure(structure: Any, needed: type[Structure] = Structure) -> Structure:
    """Return a structure of the needed kind."""
    if not isinstance(structure, needed):
        wanted = "a CurveStructure" if needed is CurveStructure else "a structure"
        raise ParameterError(f"structure={structure!r}: expected {wanted}")
    return structure


def structure_and_arms(structure_or_n_arms: Any) -> tuple[Structure | None, int]:
    """Return the structure, if one is given, and the number of arms."""
    if isinstance(structure_or_n_arms, Structure):
        return structure_or_n_arms, structure_or_n_arms.n_arms
    return None, checked_count("n_arms", structure_or_n_arms)


def flagged(flags: Any) -> tuple[int, ...]:
    """Return the indices of the flags that are set."""
    return tuple(int(index) for index in np.flatnonzero(flags))
