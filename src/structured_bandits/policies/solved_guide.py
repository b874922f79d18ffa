"""A guide for OSSB on curves and polytopes: allocations are solved as play goes on, in Python."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError
from structured_bandits.information.graves_lai import cheapest_allocation
from structured_bandits.information.truth import truth_of
from structured_bandits.planning.confidence import Data
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.policies.base import Rewards
from structured_bandits.policies.guides import Allocation
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure

MOVED = 1e-3  # of a mean: then the allocation is solved anew
TIE = 1e-9  # means that differ by no more are equal


class SolvedGuide:
    """The estimate is a model with the least squares, its allocation that of Graves and Lai there.

    If the estimate has several best arms and is the limit of models confused with it, no allocation
    refutes them; then the tied arms want infinitely many pulls, which cost nothing at the estimate.
    """

    compiles: ClassVar[bool] = False

    def __init__(self, structure: Structure, rewards: Rewards, exact: bool) -> None:
        self.structure, self.exact, self.sigma = structure, exact, rewards.sigma
        self.family = "bernoulli" if math.isfinite(rewards.bottom) else "gaussian"
        self.cells = structure.fitting_cells
        if not hasattr(self.cells, "fitting_means"):
            raise ParameterError(
                f"OSSB cannot play on structure={structure!r}: it asks for 'fitting_means', which such "
                "a structure does not answer; give the number of arms to play without a structure"
            )
        if self.family == "bernoulli":
            _check_unit_interval(structure, rewards)

    def guide_work(self) -> Floats:
        """Return nothing: no scratch is needed."""
        return np.zeros(0)

    def consult(self, data: Data, t: int, allocation: Allocation, work: Floats) -> int:
        """Return the best arm of the estimate; bring its allocation up to date."""
        means = self.cells.fitting_means(data)
        if self.exact or _is_old(allocation, means, t):
            self._solve(means, t, allocation)
        return int(allocation.solved[1])

    def exploit(self, arm: int, now: Now, data: Data, growth: float, work: Floats) -> Streak:
        """Return one pull."""
        return certain_streak(arm, 1, 0)

    def _solve(self, means: Floats, t: int, allocation: Allocation) -> None:
        truth = truth_of(self.structure, means)
        bound = cheapest_allocation(truth, self.family, self.sigma)
        allocation.wanted[:] = bound.allocation
        if math.isinf(bound.constant):
            allocation.wanted[:] = np.where(truth.gaps == 0.0, math.inf, 0.0)
        allocation.wanted[truth.best_arm] = 0.0
        allocation.means[:] = means
        allocation.solved[:] = t, truth.best_arm

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SolvedGuide) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return self.structure.fingerprint, self.exact, self.family, self.sigma


def _is_old(allocation: Allocation, means: Floats, t: int) -> bool:
    """Has the estimate moved, has it another best arm, or has t passed a power of 2 since?"""
    time, best = (int(number) for number in allocation.solved)
    near = bool(np.abs(means - allocation.means).max() <= MOVED)  # no: nothing was solved yet
    return not near or means.max() > means[best] + TIE or t.bit_length() > time.bit_length()


def _check_unit_interval(structure: Structure, rewards: Rewards) -> None:
    """Raise unless rewards lie in [0, 1], for which divergences of coins are known, and means too."""
    if (rewards.bottom, rewards.top) != (0.0, 1.0):
        raise ParameterError(
            f"reward_range=({rewards.bottom:g}, {rewards.top:g}): on curves and polytopes OSSB takes "
            "rewards in (0, 1), or reward_range=None and a sigma"
        )
    ranges = structure.mean_ranges  # type: ignore[attr-defined]
    if ranges.min() < -TIE or ranges.max() > 1.0 + TIE:
        raise ParameterError(
            f"reward_range=(0, 1): structure={structure!r} has means from {ranges.min():g} to "
            f"{ranges.max():g}, which such rewards cannot have; take reward_range=None and a sigma"
        )
