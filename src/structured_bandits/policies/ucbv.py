"""UCB-V: confidence radii from the variances that were seen (Audibert, Munos and Szepesvári, 2009)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data, fresh_data
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import (
    GivenRange,
    checked_rewards,
    playable_arms,
    registered,
    structure_and_arms,
)
from structured_bandits.policies.index_policy import NO_ARM, BlindPolicy, first_unpulled
from structured_bandits.policies.playing import add_outcome
from structured_bandits.protocols import Choice, Now, Outcome
from structured_bandits.structures.base import Structure

OF_VARIANCE, OF_WIDTH = 2.4, 3.6  # 2 zeta and 3 zeta with zeta = 1.2, as in the paper's experiments


class UCBVState(NamedTuple):
    """What was seen of each arm."""

    data: Data
    squares: Floats  # sums of the squared rewards


class _UCBV(NamedTuple):
    n_arms: int
    playable: Ints
    sigma: float
    bottom: float
    top: float


@registered
class UCBV(BlindPolicy, _UCBV):
    """Play the arm with the highest m + sqrt(2.4 v log t / T) + 3.6 w log t / T, each arm once first.

    T, m and v are the pulls of an arm and the mean and variance of its rewards so far; w is the width of
    the range. Arms whose rewards vary little are distinguished sooner than by UCB. It needs the sums of
    squared rewards.

    >>> UCBV(3)
    UCBV(3 arms, arms='all', reward_range=(0.0, 1.0))
    """

    needs_squares = True
    learned = ("data", "squares")

    arms: str

    def __new__(
        cls,
        structure_or_n_arms: Structure | int,
        arms: str = "all",
        reward_range: GivenRange = "structure",
    ) -> UCBV:
        """Check the parameters."""
        structure, n_arms = structure_and_arms(structure_or_n_arms)
        playable = playable_arms(structure, n_arms, arms)
        if reward_range is None:
            raise ParameterError(
                "reward_range=None: UCBV needs the range of rewards, a pair (low, high); take UCB, "
                "KLUCB or MOSS with a sigma for unbounded ones"
            )
        policy = super().__new__(
            cls, n_arms, playable, *checked_rewards(reward_range, None, structure)
        )
        policy.structure, policy.arms = structure, arms
        return policy

    def width(self) -> str:
        """Return the confidence radius in words."""
        width = OF_WIDTH * (self.top - self.bottom)
        return f"sqrt({OF_VARIANCE:g} v log t / T) + {width:g} log t / T"

    def init(self) -> UCBVState:
        """Return a fresh state."""
        return UCBVState(fresh_data(self.n_arms), np.zeros(self.n_arms))

    def check_learned(self, state: UCBVState, t: int) -> None:
        """Raise a ValueError if no rewards in the range have such sums of squares."""
        most = state.data.pulls * max(self.bottom**2, self.top**2)
        if not ((state.squares >= 0.0) & (state.squares <= most * (1.0 + 1e-9))).all():
            raise ValueError(f"sums of squares {state.squares} of {state.data.pulls} rewards")

    def choose(self, state: UCBVState, now: Now, rng: np.random.Generator) -> Choice:
        """Return the first arm without a pull, else the one with the highest index."""
        unpulled = first_unpulled(state.data, self.playable)
        if unpulled != NO_ARM:
            return Choice(unpulled, 0)
        log_time = math.log(now.t + 1)
        root = math.sqrt(log_time)
        indices = []
        for arm in self.playable:
            mean, spread, share = parts(state, arm, self.top - self.bottom)
            indices.append(mean + (root * spread + log_time * share))
        return Choice(int(self.playable[np.argmax(indices)]), 0)

    def update(self, state: UCBVState, outcome: Outcome) -> None:
        """Add the pulls and the sums of their rewards and of their squares."""
        add_outcome(self, state, outcome)
        state.squares[outcome.arm] += outcome.squares


@compilable
def parts(state: UCBVState, arm: int, width: float) -> tuple[float, float, float]:
    """Return what the index of an arm is made of: m, sqrt(2.4 v / T) and 3.6 w / T."""
    pulls = state.data.pulls[arm]
    mean = state.data.sums[arm] / pulls
    variance = max(state.squares[arm] / pulls - mean * mean, 0.0)
    return mean, math.sqrt(OF_VARIANCE * variance / pulls), OF_WIDTH * width / pulls
