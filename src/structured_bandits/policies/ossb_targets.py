"""What OSSB aims at: an estimate of the model, and how often it wants each arm pulled.

The allocations of Graves and Lai, in units of log t: the cheapest pulls that refute every model which
the best arm alone cannot tell from this one (docs/notes/mathematics.md 5.1, 2.20). On tables they are
solved once for each model, when the policy is made; on curves and polytopes as play goes on, in Python.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.kl import coin_divergence
from structured_bandits.base.records import Record
from structured_bandits.errors import ParameterError
from structured_bandits.inference.likelihood import FLOOR
from structured_bandits.policies.base import cannot_play
from structured_bandits.solvers.linear import UnsolvedError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.model_fit import FitWork, ModelFit, fresh_fit_work, write_losses
from structured_bandits.structures.questions import Confusing
from structured_bandits.structures.reward_ranges import Rewards
from structured_bandits.theory.divergence import Information
from structured_bandits.theory.graves_lai import SLACK, cheapest_allocation, cheapest_refutation
from structured_bandits.theory.truth import truth_of

TOLERANCE = 1e-9  # means that differ by no more, in units of the range, are equal
NEGLIGIBLE = 1e-9  # beside the largest of an allocation: what a solver makes of 0
UNTOLD = 1e-12  # divergences of at most that tell nothing: the models differ by less than 1e-6


def model_allocations(structure: FiniteStructure, rewards: Rewards) -> Floats:
    """Return the wanted pulls (models x arms), 0 for the best arm of each model.

    Rewards in a range are scaled to [0, 1] and taken for coins: of all rewards with the same means those
    are the hardest to tell apart. A coin that never shows one side is taken to show it with probability
    `FLOOR`: a model that one outcome would refute is not refuted before the outcome is looked for.
    """
    table, best = _shares(structure, rewards), structure.cells.best
    family = "bernoulli" if math.isfinite(rewards.bottom) else "gaussian"
    known = np.clip(table, FLOOR, 1.0 - FLOOR) if family == "bernoulli" else table
    wanted = np.zeros(table.shape)
    tolerance = TOLERANCE if family == "bernoulli" else TOLERANCE * (1.0 + np.abs(table).max())
    for model, own in enumerate(best):
        same = np.abs(table[:, own] - table[model, own]) <= tolerance
        others = np.flatnonzero(same & (best != own))
        information = Information(known[model], int(own), family, rewards.sigma)
        others = others[information.of(known[others]).max(axis=1, initial=0.0) > UNTOLD]
        if len(others):
            gaps = table[model, own] - table[model]
            confusing = Confusing(known[others], known[others], others, others)
            pulls = cheapest_refutation(information, gaps, [confusing]).allocation
            wanted[model] = np.where(pulls > NEGLIGIBLE * pulls.max(), pulls, 0.0)
    return wanted


def _shares(structure: FiniteStructure, rewards: Rewards) -> Floats:
    """Return the means, those of rewards in a range scaled to [0, 1]."""
    table = structure.cells.table
    if not math.isfinite(rewards.bottom):
        return table
    outside = np.argwhere((table < rewards.bottom) | (table > rewards.top))
    if len(outside):
        model, arm = outside[0]
        raise ParameterError(
            f"reward_range=({rewards.bottom:g}, {rewards.top:g}): model "
            f"{structure.model_names[model]!r} has a mean of {table[model, arm]:g}, which such rewards "
            "cannot have; give a range that holds all means, or reward_range=None and a sigma"
        )
    shares: Floats = (table - rewards.bottom) / (rewards.top - rewards.bottom)
    return shares


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
