"""UCB: optimism arm by arm, blind to the structure."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.checks import checked_above
from structured_bandits.policies.base import (
    Policy,
    checked_rewards,
    structure_and_arms,
)
from structured_bandits.policies.lookahead import certain_pulls
from structured_bandits.structures.base import Structure
from structured_bandits.structures.confidence import rounding_margin, width_budget


class UCBState(NamedTuple):
    """Pulls and sums of rewards of each arm, and what its index is made of."""

    pulls: Ints
    sums: Floats
    means: Floats
    roots: Floats  # 1 / sqrt(pulls)
    lengths: Ints  # length of the last plan for each arm


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
            np.ones(self.n_arms, np.int64),
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
        root = math.sqrt(width_budget(self.alpha, self.sigma, math.log(t + 1)))
        highest = -math.inf
        choice = 0
        for arm in range(self.n_arms):
            index = state.means[arm] + root * state.roots[arm]
            if index > highest:
                highest = index
                choice = arm
        quota[choice] = certain_pulls(self, state, choice, t, limit)
        return 0

    def certain(self, state: UCBState, arm: int, t: int, extra: int) -> bool:
        """Does `arm` keep the highest index after `extra` rewards of the worst kind?

        Its index falls with more pulls and the others' rise with log t, so the end decides.
        """
        budget = width_budget(self.alpha, self.sigma, math.log(t + 1 + extra))
        root = math.sqrt(budget)
        pulls = state.pulls[arm] + extra
        index = (state.sums[arm] + extra * self.low) / pulls + root / math.sqrt(pulls)
        to_beat = index - rounding_margin(self.low, self.high, budget)
        for other in range(self.n_arms):
            if other != arm and not state.means[other] + root * state.roots[other] < to_beat:
                return False
        return True
