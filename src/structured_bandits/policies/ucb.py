"""UCB: optimism arm by arm, blind to the structure."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.checks import checked_above
from structured_bandits.compilable import compilable
from structured_bandits.policies.base import (
    Policy,
    checked_rewards,
    structure_and_arms,
)
from structured_bandits.structures.base import Structure
from structured_bandits.structures.confidence import rounding_margin, width_budget
from structured_bandits.structures.tangents import FIRST_TIME


class UCBState(NamedTuple):
    """Pulls and sums of rewards of each arm, and what its index is made of."""

    pulls: Ints
    sums: Floats
    means: Floats
    roots: Floats  # 1 / sqrt(pulls)


class _UCB(NamedTuple):
    n_arms: int
    alpha: float
    sigma: float
    low: float
    high: float


class UCB(Policy, _UCB):
    """Play the arm with the highest mean + 2 sigma sqrt(alpha log t / pulls), each arm once first.

    Every arm is played, also those that are best in no model. UCB1 is alpha = 2. The paper never
    writes its UCB down; at equal alpha ours has the widths of SUCB and SAE (errata, I-12).

    >>> UCB(3)
    UCB(3 arms, alpha=2.0, sigma=0.5, reward_range=(0.0, 1.0))
    """

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        alpha: float = 2.0,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        sigma: float | None = None,
    ) -> UCB:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        rewards = checked_rewards(reward_range, sigma)
        policy = super().__new__(cls, n_arms, checked_above("alpha", alpha, 0.0), *rewards)
        policy.structure = structure
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        return f"sqrt({width_budget(self.alpha, self.sigma, 1.0):g} log t / T)"

    def init(self) -> UCBState:
        """Return a fresh state."""
        return UCBState(
            np.zeros(self.n_arms, np.int64),
            np.zeros(self.n_arms),
            np.zeros(self.n_arms),
            np.full(self.n_arms, math.inf),
        )

    def observe(self, state: UCBState, pulls: Ints, sums: Floats) -> None:
        """Add the pulls and the sums of their rewards."""
        for arm in range(self.n_arms):
            if pulls[arm] > 0:
                state.pulls[arm] += pulls[arm]
                state.sums[arm] += sums[arm]
                state.means[arm] = state.sums[arm] / state.pulls[arm]
                state.roots[arm] = 1.0 / math.sqrt(state.pulls[arm])

    def plan(
        self, state: UCBState, t: int, limit: int, quota: Ints, rng: np.random.Generator
    ) -> int:
        """Plan a run of the arm with the highest index."""
        quota[:] = 0
        for arm in range(self.n_arms):
            if state.pulls[arm] == 0:
                quota[arm] = 1
                return 0
        log_time = math.log(t + 1)
        root = math.sqrt(width_budget(self.alpha, self.sigma, log_time))
        highest = second = -math.inf
        choice = 0
        widest = 0.0
        for arm in range(self.n_arms):
            index = state.means[arm] + root * state.roots[arm]
            widest = max(widest, state.roots[arm])
            if index > highest:
                second = highest
                highest = index
                choice = arm
            elif index > second:
                second = index
        quota[choice] = 1
        if limit > 1 and t + 1 >= FIRST_TIME and math.isfinite(self.low):
            lead = highest - second - rounding_margin(self.low, self.high, root * root)
            lost = lead_lost(
                state.means[choice],
                state.pulls[choice],
                self.low,
                root * state.roots[choice],
                root * widest,
                t + 1.0,
            )
            quota[choice] += int(max(0.0, min(lead / lost, limit - 1.0)))
        return 0


@compilable
def lead_lost(
    mean: float, pulls: int, bottom: float, radius: float, others: float, time: float
) -> float:
    """Return how fast, at most, an index loses its lead when its arm is pulled.

    After j rewards of the worst kind the index is lo_j + r_j, which is convex and falls; the other
    indices, with radii of at most `others`, are concave and rise with log t. So the tangents at j = 0
    bound the lead from below (PLANNING, UCB).
    """
    growth = 0.5 / (time * math.log(time))  # half the relative growth of the budget
    return (mean - bottom) / pulls + radius * (0.5 / pulls - growth) + others * growth
