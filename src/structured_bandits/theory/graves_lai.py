"""The lower bound of Graves and Lai: the cheapest pulls that refute every confusing model.

C = min sum_i eta_i Delta_i over eta >= 0 with sum_i eta_i KL_i(truth, model) >= 1 for every model with
another best arm that agrees with the truth on the best one. Finitely many models make a linear
program. On a segment or a polytope of models the divergence is convex, and models are added where the
present solution refutes too little (cutting planes), until none lacks more than `SLACK`: an
approximation from below, good to about eight digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_above
from structured_bandits.solvers.linear import maximise, solved
from structured_bandits.structures.polyhedral.regions import Region
from structured_bandits.structures.questions import Confusing, Model
from structured_bandits.theory.confusing_sets import (
    ConfusingSet,
    RegionSet,
    SegmentSet,
    check_range,
)
from structured_bandits.theory.divergence import Information
from structured_bandits.theory.truth import Truth

SLACK = 1e-8  # by which a constraint may be missed
SMALL = 1e-9  # cost of a pull beside its gap: among equally cheap allocations, the smallest
CLOSE = 1.5  # sets that are refuted by no more are looked at again and again
BATCH = 64  # models added to the program at a time


@dataclass(frozen=True)
class LowerBound:
    """The regret of a policy that does well in every model is at least `constant` log n, as n grows.

    `allocation` has the pulls of each arm, in units of log n, that reach this bound; `binding` has the
    models that make these pulls necessary. The constant is 0 if there are no confusing models, or if
    refuting them costs nothing. It is infinite if no allocation refutes them all, which happens if the
    truth is a tie and the limit of such models.
    """

    family: str
    constant: float
    allocation: Floats
    binding: tuple[Model, ...]


def cheapest_allocation(
    truth: Truth,
    family: str,
    sigma: float | None = None,
    reward_range: tuple[float, float] | None = None,
    slack: float = SLACK,
) -> LowerBound:
    """Return the cheapest pulls that refute every model confused with the truth, and what they cost.

    `family` is that of the rewards (`families`): the ends of the `reward_range`, by default that of the
    structure, or Gaussian ones with deviation `sigma`, by default half the width of that range. The
    truth need not be true: a policy may ask with estimated means, by `truth_of(structure, estimates)`,
    and pull in proportion to the `allocation`. Estimates outside the structure are answered as they
    are: confusing models are those that have the estimated mean of the estimated best arm.

    >>> from structured_bandits import FiniteStructure
    >>> from structured_bandits.theory.truth import truth_of
    >>> truth = truth_of(FiniteStructure([[0.75, 0.25], [0.75, 1.0]]), [0.75, 0.25])
    >>> bound = cheapest_allocation(truth, "gaussian", sigma=0.75)
    >>> [round(pulls, 6) for pulls in bound.allocation.tolist()], round(bound.constant, 6)
    ([0.0, 2.0], 1.0)
    """
    low, high = ends = reward_range or truth.structure.range_of_rewards
    sigma = 0.5 * (high - low) if sigma is None else checked_above("sigma", sigma, 0.0)
    information = Information(truth.means, truth.best_arm, family, sigma, ends)
    return cheapest_refutation(information, truth.gaps, truth.confusing_sets(), slack)


def cheapest_refutation(
    information: Information, gaps: Floats, confusing: Iterable[Confusing], slack: float = SLACK
) -> LowerBound:
    """Return the cheapest pulls, with these gaps as costs, that refute the models given.

    Of convex sets of models none is refuted by less than 1 - `slack`.
    """
    program = _Program(information, gaps, slack)
    for models in confusing:
        program.add(models)
    return program.solve()


class _Program:
    """The linear program and the models that constrain it: single ones, and convex sets of them."""

    def __init__(self, information: Information, gaps: Floats, slack: float) -> None:
        self.information, self.gaps, self.slack = information, gaps, slack
        self.tied = int((gaps == 0.0).sum()) > 1
        self.singles: list[Floats] = []  # divergences, models x arms
        self.single_models: list[Model] = []
        self.sets: list[ConfusingSet] = []
        self.rows: dict[tuple[int, bytes], Floats] = {}  # by single or by set, and place in it
        self.models: list[Model] = []

    def add(self, confusing: Confusing) -> None:
        """Add confusing models.

        A model that excludes what the truth allows has an infinite divergence: one outcome rules it
        out, and pulls that cost nothing in the limit find it. It constrains nothing. Inside a convex
        set the divergence is infinite everywhere or nowhere, so its middle tells.
        """
        for values in (confusing.first, confusing.last):
            self.information.check(values)
        middle = self.information.of(0.5 * (confusing.first + confusing.last))
        possible = np.isfinite(middle).all(axis=1)
        single = confusing.start == confusing.end
        self.singles += list(middle[possible & single])
        self.single_models += confusing.start[possible & single].tolist()
        for index in np.flatnonzero(possible & ~single):
            ends = confusing.first[index], confusing.last[index]
            models = float(confusing.start[index]), float(confusing.end[index])
            self.sets.append(SegmentSet(self.information, *ends, *models))
        for region in confusing.regions:
            self._add_region(region, confusing)

    def _add_region(self, region: Region, confusing: Confusing) -> None:
        """Add the models of a polytope: one that is the hardest to refute, if there is such a one."""
        check_range(self.information, region)
        smallest = region.smallest_change()
        if smallest is None:
            models = RegionSet(self.information, region, confusing.name)
            if not models.is_impossible:
                self.sets.append(models)
            return
        divergence = self.information.of(self.information.snapped(region.polytope.means(smallest)))
        if np.isfinite(divergence).all():
            self.singles.append(divergence)
            self.single_models.append(confusing.name(region, smallest))

    def solve(self) -> LowerBound:
        """Alternate between the linear program and the models that it refutes too little."""
        if self._hopeless():
            unknown = np.full(len(self.gaps), math.nan)
            return LowerBound(self.information.family, math.inf, unknown, ())
        for number, models in enumerate(self.sets):
            for x in models.starts():
                self._cut(number, models, x)
        looked_at: Sequence[int] = range(len(self.sets))
        while True:
            allocation = self._cheapest()
            new = self._add_singles(allocation)
            found, close = self._cut_weakest(looked_at, allocation)
            if not new and not found and len(looked_at) == len(self.sets):
                break
            # Sets that were far from constraining it are looked at again once the others are refuted.
            looked_at = close if new or found else range(len(self.sets))
        tight = {
            model
            for model, row in zip(self.models, self.rows.values(), strict=True)
            if row @ allocation <= 1.0 + 1e-6
        }
        constant = float(self.gaps @ allocation)
        return LowerBound(self.information.family, constant, allocation, tuple(sorted(tight)))

    def _hopeless(self) -> bool:
        """Return whether the truth is tied and the limit of confusing models."""
        return self.tied and (
            any(models.distance() <= SLACK for models in self.sets)
            or any(not row.any() for row in self.singles)
        )

    def _add_singles(self, allocation: Floats) -> bool:
        """Add the single models that are refuted least; return whether there is any."""
        if not self.singles:
            return False
        refuted = np.array(self.singles) @ allocation
        short = [i for i in np.argsort(refuted, kind="stable")[:BATCH] if refuted[i] < 1.0 - SLACK]
        before = len(self.rows)
        for index in short:
            key = (-1, int(index).to_bytes(8, "little"))
            if key not in self.rows:
                self.rows[key] = self.singles[index]
                self.models.append(self.single_models[index])
        return len(self.rows) > before

    def _cut_weakest(self, numbers: Iterable[int], allocation: Floats) -> tuple[bool, list[int]]:
        """Add the models of some sets that are refuted too little.

        Returns whether there were new ones, and which sets are refuted by little more than necessary.
        """
        new, close = False, []
        for number in numbers:
            models = self.sets[number]
            x = models.weakest(allocation)
            refuted = float(allocation @ self.information.of(models.means(x)))
            if refuted < 1.0 - self.slack:
                new |= self._cut(number, models, x)
            if refuted < CLOSE:
                close.append(number)
        return new, close

    def _cut(self, number: int, models: ConfusingSet, x: Floats) -> bool:
        """Add a model of a set; return whether it is new."""
        if (number, x.tobytes()) in self.rows:
            return False
        self.rows[number, x.tobytes()] = self.information.of(models.means(x))
        self.models.append(models.model(x))
        return True

    def _cheapest(self) -> Floats:
        """Return the cheapest allocation for the present rows."""
        if not self.rows:
            return np.zeros(len(self.gaps))
        rows = np.array(list(self.rows.values()))
        scale = rows.max(axis=1)
        unit = scale.min()  # pulls are counted in 1 / unit, costs in the largest gap
        cost = self.gaps / max(self.gaps.max(), 1e-300) + SMALL
        most = np.full(len(cost), np.inf)
        most[self.information.best_arm] = 0.0  # refutes nothing
        found = solved(
            maximise(
                -cost,
                np.vstack([np.eye(len(cost)), rows / scale[:, None]]),
                np.concatenate([np.zeros(len(cost)), unit / scale]),
                np.concatenate([most, np.full(len(rows), np.inf)]),
            )
        )
        return np.maximum(found.x, 0.0) / unit
