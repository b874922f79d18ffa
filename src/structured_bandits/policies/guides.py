"""What guides OSSB: the estimate, and how often it wants each arm pulled."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Data
from structured_bandits.planning.fits import (
    FitWork,
    ModelFit,
    fresh_fit_work,
    write_losses,
)
from structured_bandits.planning.kl import coin_divergence
from structured_bandits.records import Record


class Allocation(NamedTuple):
    """How often each arm is wanted, and for which estimate that was solved."""

    wanted: Floats  # pulls of each arm over log t
    means: (
        Floats  # the estimate; nan before the first solution, and where nothing is solved in play
    )
    solved: Ints  # two numbers: when, and the best arm of the estimate


@compilable
def fresh_allocation(arms: int) -> Allocation:
    """Return the memory before anything was solved."""
    return Allocation(np.zeros(arms), np.full(arms, math.nan), np.zeros(2, np.int64))


class Guide(Protocol):
    """What OSSB asks at each decision."""

    def guide_work(self) -> Any:
        """Return the scratch memory of the questions."""

    def consult(self, data: Data, t: int, allocation: Allocation, work: Any) -> int:
        """Return the best arm of the estimate and write the wanted pulls, 0 for this arm."""


class _ModelGuide(NamedTuple):
    fit: ModelFit
    allocations: Floats  # models x arms
    bottom: float
    top: float


class ModelGuide(Record, _ModelGuide):
    """The estimate is a model of a table, the one with the least squares; the first on ties."""

    def guide_work(self) -> FitWork:
        """Return memory for each model."""
        return fresh_fit_work(len(self.fit.best))

    def consult(self, data: Data, t: int, allocation: Allocation, work: FitWork) -> int:
        """Return the best arm of the fitting model and write its allocation."""
        model = write_losses(self.fit, data, work.losses)
        for arm in range(len(allocation.wanted)):
            allocation.wanted[arm] = self.allocations[model, arm]
        return int(self.fit.best[model])


class ArmWork(NamedTuple):
    """The empirical mean of each arm, scaled to [0, 1] if rewards have a range."""

    shares: Floats


class _ArmGuide(NamedTuple):
    arms: int
    deviation: float  # of unbounded rewards
    bottom: float
    top: float


class ArmGuide(Record, _ArmGuide):
    """Nothing is known: the estimates are the empirical means, the lowest arm of equals is best.

    An arm with mean m wants 1 / d(m, highest mean) pulls. That is infinite for an arm that was never
    pulled, since nothing is known of it, and for one whose mean is the highest too.
    """

    def guide_work(self) -> ArmWork:
        """Return memory for each arm."""
        return ArmWork(np.zeros(self.arms))

    def consult(self, data: Data, t: int, allocation: Allocation, work: ArmWork) -> int:
        """Return the arm with the highest mean and write the wanted pulls."""
        wanted = allocation.wanted
        bounded = math.isfinite(self.bottom)
        best = -1
        for arm in range(self.arms):
            if data.pulls[arm] > 0:
                share = data.sums[arm] / data.pulls[arm]
                if bounded:
                    share = (share - self.bottom) / (self.top - self.bottom)
                    share = min(max(share, 0.0), 1.0)
                work.shares[arm] = share
                if best < 0 or share > work.shares[best]:
                    best = arm
        best = max(best, 0)
        for arm in range(self.arms):
            wanted[arm] = math.inf
            if data.pulls[arm] > 0:
                if bounded:
                    tells = coin_divergence(work.shares[arm], work.shares[best])
                else:
                    away = (work.shares[best] - work.shares[arm]) / self.deviation
                    tells = 0.5 * away * away
                wanted[arm] = 1.0 / tells if tells > 0.0 else math.inf
        wanted[best] = 0.0
        return best
