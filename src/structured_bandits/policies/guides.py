"""What guides OSSB: the estimate, how often it wants each arm pulled, and for how long it stays so."""

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
    RewardRange,
    agreed_streak,
    fresh_fit_work,
    write_losses,
)
from structured_bandits.planning.intervals import RELATIVE_ERROR
from structured_bandits.planning.kl import coin_divergence, kl_upper
from structured_bandits.planning.streaks import Streak, certain_streak, streak_until
from structured_bandits.protocol import Now
from structured_bandits.records import Record

LOG_ERROR = 1e-13  # a generous bound on the relative error of a logarithm and of products with it


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

    def exploit(self, arm: int, now: Now, data: Data, growth: float, work: Any) -> Streak:
        """Return a streak of the best arm, which all arms have enough pulls for now.

        Decisions ask for wanted * growth * log t pulls; `consult` has just been asked.
        """


@compilable
def enough_for(pulls: Ints, wanted: Floats, growth: float, t: int) -> float:
    """Return for how many further pulls of another arm `pulls` are surely enough.

    They are enough at time t + j if wanted * growth * log(t + j + 1) is no more, arm by arm.
    """
    level = math.inf
    for arm in range(len(pulls)):
        if wanted[arm] > 0.0:
            level = min(level, pulls[arm] / (wanted[arm] * growth))
    return pulls_until(level, t)


@compilable
def pulls_until(level: float, t: int) -> float:
    """Return for how many pulls after the next one log t surely stays at or below `level`."""
    safe = level * (1.0 - LOG_ERROR)
    return math.exp(safe) - 1.0 - t if safe < 700.0 else math.inf


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

    def exploit(self, arm: int, now: Now, data: Data, growth: float, work: FitWork) -> Streak:
        """Return a streak in which every model that may come to fit best has enough pulls too.

        The others have to stay behind (docs/planning.md 22.2).
        """
        if now.limit == 1:
            return certain_streak(arm, 1, 0)
        model = 0
        for other in range(len(work.losses)):
            if work.losses[other] < work.losses[model]:
                model = other
            if self.fit.best[other] == arm:
                row = self.allocations[other]
                work.agreeing[other] = enough_for(data.pulls, row, growth, now.t)
        rewards = RewardRange(self.bottom, self.top)
        most = work.agreeing[model]
        return agreed_streak(self.fit, model, data, work, now, rewards, most)


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

    def exploit(self, arm: int, now: Now, data: Data, growth: float, work: ArmWork) -> Streak:
        """Return a streak in which the mean of the best arm stays high enough (docs/planning.md 22.3).

        Half of the time, on a log scale, that the pulls of the others are enough for is for the clock;
        the other half is for the mean, which misses lower.
        """
        if now.limit == 1 or not math.isfinite(self.bottom) or data.pulls[arm] == 0:
            return certain_streak(arm, 1, 0)
        share = work.shares[arm]
        level = math.inf
        for other in range(self.arms):
            if other != arm:
                tells = coin_divergence(work.shares[other], share)
                level = min(level, data.pulls[other] * tells / growth)
        start = math.log(now.t + 1.0)
        if level == math.inf:  # a mean of 1, or no other arm: see how far the means are from there
            level = start + 2.0 * math.log(2.0 + now.limit)
        level = 0.5 * (start + level)
        length = min(pulls_until(level, now.t), now.limit - 1.0)
        low = 0.0
        for other in range(self.arms):
            if other != arm:
                bound = kl_upper(work.shares[other], growth * level / data.pulls[other])
                low = max(low, bound)
        size = max(abs(self.bottom), abs(self.top)) / (self.top - self.bottom)
        low = low * (1.0 + LOG_ERROR) + LOG_ERROR + RELATIVE_ERROR * size
        if length < 1.0 or low >= share:
            return certain_streak(arm, 1, 0)
        further = int(length)
        pulls = data.pulls[arm]
        room = pulls * share * (1.0 - RELATIVE_ERROR) / low - pulls if low > 0.0 else length
        misses = int(min(max(room, 0.0), length))
        if misses >= further:
            return certain_streak(arm, 1 + further, 0)
        return streak_until(arm, 1 + misses, 1 + further, misses, self.top)
