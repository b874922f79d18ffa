"""A guide for OSSB on curves and polytopes: allocations are solved as play goes on, in Python."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.errors import ParameterError
from structured_bandits.planning.confidence import Data
from structured_bandits.policies.base import cannot_play
from structured_bandits.policies.guides import Allocation
from structured_bandits.solvers.linear import UnsolvedError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.theory.graves_lai import SLACK, cheapest_allocation
from structured_bandits.theory.truth import truth_of

NEAR = 1e-4  # by which an allocation may miss what it has to refute, unless it is to be exact
MOVED = 1e-3  # of a mean, in units of the range: then the allocation is solved anew
TIE = 1e-9  # means that differ by no more, in these units, are equal


class SolvedGuide:
    """The estimate is a model with the least squares, its allocation that of Graves and Lai there.

    If the estimate has several best arms and is the limit of models confused with it, no allocation
    refutes them; then the tied arms want infinitely many pulls, which cost nothing at the estimate.
    """

    compiles: ClassVar[bool] = False

    def __init__(self, structure: Structure, rewards: Rewards, exact: bool) -> None:
        self.structure, self.exact, self.rewards = structure, exact, rewards
        bounded = math.isfinite(rewards.bottom)
        self.family = "bernoulli" if bounded else "gaussian"
        self.ends = (rewards.bottom, rewards.top) if bounded else (0.0, 1.0)
        self.unit = self.ends[1] - self.ends[0]
        self.cells = structure.fitting_cells
        if not hasattr(self.cells, "fitting_means"):
            raise cannot_play("OSSB", structure, "fitting_means")
        if bounded:
            _check_means(structure, self.ends)

    def guide_work(self) -> Floats:
        """Return nothing: no scratch is needed."""
        return np.zeros(0)

    def consult(self, data: Data, t: int, allocation: Allocation, work: Floats) -> int:
        """Return the best arm of the estimate; bring its allocation up to date."""
        means = self.cells.fitting_means(data)
        if self.exact or _is_old(allocation, means, t, self.unit):
            self._solve(means, t, allocation)
        return int(allocation.solved[1])

    def _solve(self, means: Floats, t: int, allocation: Allocation) -> None:
        """Write the allocation of an estimate; the last one stays if no solver finds another."""
        best = int(means.argmax())
        try:
            truth = truth_of(self.structure, means, TIE * self.unit)
            slack = SLACK if self.exact else NEAR
            sigma = self.rewards.sigma
            bound = cheapest_allocation(truth, self.family, sigma, self.ends, slack)
            best, allocation.wanted[:] = truth.best_arm, bound.allocation
            if math.isinf(bound.constant):
                allocation.wanted[:] = np.where(truth.gaps == 0.0, math.inf, 0.0)
        except UnsolvedError:
            pass
        allocation.wanted[best] = 0.0
        allocation.means[:] = means
        allocation.solved[:] = t, best

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SolvedGuide) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> tuple[Any, ...]:
        return self.structure.fingerprint, self.exact, self.rewards


def _is_old(allocation: Allocation, means: Floats, t: int, unit: float) -> bool:
    """Has the estimate moved, has it another best arm, or has t passed a power of 2 since?"""
    time, best = (int(number) for number in allocation.solved)
    near = bool(
        np.abs(means - allocation.means).max() <= MOVED * unit
    )  # no: nothing was solved yet
    ahead = means.max() > means[best] + TIE * unit
    return not near or ahead or int(t).bit_length() > time.bit_length()


def _check_means(structure: Structure, ends: tuple[float, float]) -> None:
    """Raise unless rewards in the range can have all means: the divergences are those of its ends."""
    low, high = ends
    ranges, slack = structure.mean_ranges, TIE * (high - low)  # type: ignore[attr-defined]
    if ranges.min() < low - slack or ranges.max() > high + slack:
        raise ParameterError(
            f"reward_range=({low:g}, {high:g}): structure={structure!r} has means from "
            f"{ranges.min():g} to {ranges.max():g}, which such rewards cannot have; give a range that "
            "holds all means, or reward_range=None and a sigma"
        )
