"""MOSS: minimax optimal in the stochastic case (Audibert and Bubeck, 2009)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.base.checks import checked_at_least
from structured_bandits.compilable import compilable
from structured_bandits.planning.corners import Reach, stopping_streak
from structured_bandits.planning.indices import CLOSE, SPREAD, Front, front_of
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import (
    GivenRange,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.index_policy import (
    IndexPolicy,
    IndexState,
    checked_horizon,
    take_in,
    width_of,
)
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.base import Structure


class _MOSS(NamedTuple):
    n_arms: int
    playable: Ints
    pulls_in_all: int  # 0: the anytime form
    factor: float  # of the logarithm in the radius
    scale: float  # 2 sigma, on the scale of the means that the state has
    sigma: float
    bottom: float
    top: float


@registered
class MOSS(IndexPolicy, _MOSS):
    """Play the arm with the highest mean + 2 sigma sqrt(log+(n / (K T)) / T), each arm once first.

    T are the pulls of an arm, and K is the number of arms that it plays. Without a horizon n, the number
    of the decision takes its place, and the logarithm is multiplied by (1 + alpha) / 2.

    >>> MOSS(3, horizon=1000)
    MOSS(3 arms, horizon=1000, alpha=1.0, arms='all', reward_range=(0.0, 1.0), sigma=0.5)
    """

    horizon: int | None
    alpha: float
    arms: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        horizon: int | None = None,
        alpha: float = 1.0,
        arms: str = "all",
        reward_range: GivenRange = "structure",
        sigma: float | None = None,
    ) -> MOSS:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        playable = playable_arms(structure, n_arms, arms)
        known, tuning = checked_horizon(horizon), checked_at_least("alpha", alpha, 0.0)
        factor = 0.5 * (1.0 + tuning) if known is None else 1.0
        rewards = checked_rewards(reward_range, sigma, structure)
        scale = 2.0 * rewards.sigma / width_of(rewards.bottom, rewards.top)
        policy = super().__new__(cls, n_arms, playable, known or 0, factor, scale, *rewards)
        policy.structure, policy.arms = structure, arms
        policy.horizon, policy.alpha = known, tuning
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        clock = "n" if self.pulls_in_all > 0 else "t"
        return f"sqrt({4.0 * self.sigma**2 * self.factor:g} log+({clock} / (K T)) / T)"

    def restore(self, state: IndexState) -> None:
        """Compute the means, and the indices as far as they do not depend on time."""
        super().restore(state)
        for arm in np.flatnonzero(state.data.pulls):
            write_index(self, state, int(arm), self.pulls_in_all)

    def streak(self, state: IndexState, now: Now, rng: np.random.Generator) -> Streak:
        """Pull the arm with the highest index as long as it is sure to have it."""
        if self.pulls_in_all == 0:
            for place in range(len(self.playable)):
                write_index(self, state, self.playable[place], now.t + 1)
        front = front_of(state.indices, self.playable)
        if now.limit == 1 or front.highest == math.inf or not math.isfinite(self.bottom):
            return certain_streak(front.arm, 1, 0)  # without pulls or bounds no more is certain
        if front.second == -math.inf:
            return certain_streak(front.arm, now.limit, 0)  # there is no other arm
        if front.highest - front.second < CLOSE:
            return certain_streak(front.arm, 1, 0)
        return moss_streak(self, state, front, now)

    def end_streak(self, state: IndexState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        take_in(state, outcome, self.bottom, self.top)
        write_index(self, state, outcome.arm, self.pulls_in_all)


@compilable
def radius(policy: Any, pulls: float, clock: float) -> float:
    """Return the radius of an arm after so many pulls; `clock` is the horizon or what stands for it."""
    ratio = clock / (len(policy.playable) * pulls)
    if ratio <= 1.0:
        return 0.0
    return policy.scale * math.sqrt(policy.factor * math.log(ratio) / pulls)


@compilable
def write_index(policy: Any, state: IndexState, arm: int, clock: int) -> None:
    """Write the index of an arm with pulls; others keep theirs, which is infinite."""
    pulls = state.data.pulls[arm]
    if pulls > 0:
        state.indices[arm] = state.means[arm] + radius(policy, pulls, clock)


@compilable
def highest_rival(policy: Any, state: IndexState, front: Front, clock: float) -> float:
    """Return the highest index of the other arms when the clock will be at `clock`."""
    if policy.pulls_in_all > 0:
        return front.second  # they stand still
    highest = -math.inf
    for place in range(len(policy.playable)):
        arm = policy.playable[place]
        if arm != front.arm:
            index = state.means[arm] + radius(policy, state.data.pulls[arm], clock)
            highest = max(highest, index)
    return highest


@compilable
def moss_streak(policy: Any, state: IndexState, front: Front, now: Now) -> Streak:
    """Pull the leader as long as it surely leads, judged at the plan's end (docs/planning.md 18.3).

    There its radius is smallest and the others' are largest, so its mean must stay above a level, which
    misses alone decide. A plan holds no more pulls than the arm has; doubling them is far enough.
    """
    arm = front.arm
    pulls = state.data.pulls[arm]
    mean = state.means[arm]
    length = min(now.limit - 1, pulls)
    while length > 0:
        clock = policy.pulls_in_all if policy.pulls_in_all > 0 else now.t + 1 + length
        rival = highest_rival(policy, state, front, clock)
        level = rival + SPREAD * (1.0 + abs(rival)) - radius(policy, pulls + length, clock)
        misses = misses_above(level, mean, pulls, length)
        # If there are rarely more misses than that, a shorter plan would not last longer.
        if misses >= 0 and misses + 1.0 >= 0.5 * length * (1.0 - mean):
            return stopping_streak(arm, Reach(length, misses), policy.top)
        length //= 2
    return certain_streak(arm, 1, 0)


@compilable
def misses_above(level: float, mean: float, pulls: int, length: int) -> int:
    """Return how many misses, up to `length`, leave the mean above a level; -1 if it is below now."""
    if level >= mean or level >= 1.0:
        return -1
    if level * (pulls + length) <= mean * pulls:  # also if nothing but misses come
        return length
    return int(mean * pulls / level - pulls)
