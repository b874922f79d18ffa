"""A policy of one's own for a comparison from a file (docs/add-a-policy.md)."""

from typing import NamedTuple

import numpy as np


class State(NamedTuple):
    """What was seen so far."""

    pulls: np.ndarray
    sums: np.ndarray


class TryEach(NamedTuple):
    """Try each arm a few times, then keep to the one with the highest average."""

    n_arms: int
    times: int

    def init(self):
        """Return a fresh state."""
        return State(np.zeros(self.n_arms, np.int64), np.zeros(self.n_arms))

    def plan(self, state, now, quota, rng):
        """Write the next pulls: all that are left to try, or one of the best arm."""
        best, trying = 0, False
        for arm in range(self.n_arms):
            quota[arm] = max(0, self.times - state.pulls[arm])
            trying = trying or quota[arm] > 0
            if state.sums[arm] * state.pulls[best] > state.sums[best] * state.pulls[arm]:
                best = arm
        if not trying:
            quota[best] = 1
        return 0

    def observe(self, state, seen):
        """Take in the results."""
        for arm in range(self.n_arms):
            state.pulls[arm] += seen.pulls[arm]
            state.sums[arm] += seen.sums[arm]


def try_share(n_arms, horizon, share):
    """Return a policy that spends a share of all pulls on trying."""
    return TryEach(n_arms, max(1, round(share * horizon / n_arms)))
