"""What the policies that are blind to the structure and give each arm an index have in common."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.base.checks import checked_count
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data, fresh_data
from structured_bandits.policies.base import StreakPolicy
from structured_bandits.protocol import Outcome


class IndexState(NamedTuple):
    """What was seen of each arm, its mean and its index."""

    data: Data
    means: Floats  # scaled to [0, 1] if rewards have a range; of arms with pulls
    indices: Floats


class BlindPolicy(StreakPolicy):
    """Mixin: all it takes from a structure is which arms are `playable`."""

    playable: Ints

    def active_arms(self, state: Any, t: int) -> tuple[int, ...]:
        """Return the arms that the policy plays at all."""
        return tuple(int(arm) for arm in self.playable)


class IndexPolicy(BlindPolicy):
    """Mixin: knows pulls, sums and means of its arms, and gives them indices."""

    def init(self) -> IndexState:
        """Return a fresh state: arms that were never pulled have the highest index."""
        return IndexState(
            fresh_data(self.n_arms), np.zeros(self.n_arms), np.full(self.n_arms, math.inf)
        )

    def restore(self, state: IndexState) -> None:
        """Compute the means."""
        for arm in np.flatnonzero(state.data.pulls):
            note_mean(state, int(arm), self.bottom, self.top)

    def end_streak(self, state: IndexState, outcome: Outcome) -> None:
        """Add the pulls and the sum of their rewards."""
        take_in(state, outcome, self.bottom, self.top)


@compilable
def take_in(state: Any, outcome: Outcome, bottom: float, top: float) -> None:
    """Add pulls and the sum of their rewards to a state with `data` and `means`."""
    state.data.pulls[outcome.arm] += outcome.pulls
    state.data.sums[outcome.arm] += outcome.total
    note_mean(state, outcome.arm, bottom, top)


@compilable
def note_mean(state: Any, arm: int, bottom: float, top: float) -> None:
    """Note the mean of an arm, scaled to [0, 1] if rewards have a range."""
    pulls, total = state.data.pulls[arm], state.data.sums[arm]
    if math.isfinite(bottom):
        total -= pulls * bottom
    state.means[arm] = total / (pulls * width_of(bottom, top))


@compilable
def width_of(bottom: float, top: float) -> float:
    """Return the width of the range of rewards, by which they are scaled; 1 if there is none."""
    return top - bottom if math.isfinite(bottom) else 1.0


def checked_horizon(horizon: Any) -> int | None:
    """Return the number of pulls in all, None if it is not known."""
    return None if horizon is None else checked_count("horizon", horizon)
