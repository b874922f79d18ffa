"""The questions that policies ask of a structure's cells.

A new kind of structure is a new kind of cell: a named tuple that answers these, written so that Numba
can compile it. `low` and `high` are the open box of means that fit the data (see `confidence`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.planning.confidence import Prospect


class Cells(Protocol):
    """Parts of a structure in each of which one arm, `best`, is best."""

    @property
    def best(self) -> Ints:
        """The best arm of each cell."""

    def arm_count(self) -> int:
        """Return the number of arms."""

    def best_arms_in(self, low: Floats, high: Floats, found: Flags) -> bool:
        """Mark the best arms of the cells that meet the box; is there such a cell?"""

    def optimistic_arm(self, low: Floats, high: Floats) -> int:
        """Return the best arm with the highest mean inside the box, -1 if it is empty."""

    def workspace(self) -> Any:
        """Return the memory that `choose` and `sure_pulls` need, also from one plan to the next."""

    def choose(
        self,
        news: int,
        pulls: Ints,
        sums: Floats,
        budget: float,
        low: Floats,
        high: Floats,
        work: Any,
    ) -> int:
        """Return the optimistic arm in the box of these data, -1 if it is empty.

        What was noted the last time may help: only the data of `news` have changed since, or those of
        SEVERAL arms, or of NO_ARM. `low` and `high` are memory for the box.
        """

    def sure_pulls(
        self, arm: int, prospect: Prospect, pulls: Ints, sums: Floats, work: Any, lengths: Ints
    ) -> int:
        """Return a number of pulls, from 1 to its limit, in which `arm` is certain to stay the choice.

        `choose` has just returned it; `lengths` has the length found last for each arm.
        """

    def stays_empty(
        self, arm: int, prospect: Prospect, pulls: Ints, sums: Floats, work: Any
    ) -> float:
        """Return for how many pulls of `arm` the box, which `choose` found empty, surely stays so."""

    def fitting_arm(self, pulls: Ints, sums: Floats) -> int:
        """Return the best arm of the best-fitting model, by least squares."""


class LineCells(Protocol):
    """Cells on a line, whose models are numbers, as WAGP needs them."""

    def closest_parameter(self, arm: int, mean: float) -> float:
        """Return the parameter whose mean of `arm` is nearest to `mean`."""

    def arm_at(self, parameter: float) -> int:
        """Return the best arm at a parameter."""


@compilable
def candidate_arms(cells: Any) -> Flags:
    """Mark the arms that are best in some model, A*(Theta)."""
    candidates = np.zeros(cells.arm_count(), np.bool_)
    for arm in cells.best:
        candidates[arm] = True
    return candidates


Model = (
    Any  # of a finite structure an index, of a curve structure the parameter, of polytopes a Place
)


class Nearest(NamedTuple):
    """The model of a set that is nearest to the truth, the paper's psi (eq. 2).

    `gap` is its distance, the square root of the paper's Psi (eq. 1), infinite if the set is empty;
    `told_by` is the arm on which the two differ most. If the infimum is not `attained`, models close
    to `model` come as near as one likes.
    """

    gap: float
    model: Model | None
    attained: bool
    told_by: int | None


NOWHERE = Nearest(math.inf, None, False, None)  # the infimum over no models (errata, I-20)


class Confusing(NamedTuple):
    """Models that cannot be told from the truth by one arm: segments, each from `first` to `last`.

    `first` and `last` are means (segments x arms), `start` and `end` the models they belong to. A
    single model is a segment whose ends are equal. Polytopes have `regions` instead.
    """

    first: Floats
    last: Floats
    start: Floats | Ints
    end: Floats | Ints
    regions: tuple[Any, ...] = ()
    name: Any = None  # of a region and parameters in it

    def models(self) -> set[Model]:
        """Return the ends of the segments, or a model of each region."""
        inner = (self.name(region, region.inner) for region in self.regions)
        return {*np.concatenate([self.start, self.end]).tolist(), *inner}


class Distances(Protocol):
    """Distances of the models of a structure from the truth, by their best arm."""

    def nearest(
        self, arm: int, weights: Floats, optimistic: bool = False, equal: Flags | None = None
    ) -> Nearest:
        """Return the nearest model in which `arm` is best.

        The distance is the largest weights[j] * |mean of j - true mean of j|. `optimistic` admits
        only models with a mean above the truth's best one (strictly), `equal` only those that agree
        with the truth on the arms flagged.
        """

    def farthest(self, arm: int, weights: Floats) -> float:
        """Return the supremum of the same distance, 0 if `arm` is nowhere best."""

    def smallest_lead(self, arm: int, other: int) -> float:
        """Return the infimum of the lead of `arm` over `other`, where `arm` is best."""

    def ties_with_truth(self, arm: int) -> bool:
        """Is the truth's best mean the highest mean of a cell (or model) of `arm`?"""

    def optimistic(self, arm: int) -> tuple[Any, ...]:
        """Return the models of `arm` with a mean above the truth's best: indices, or intervals."""

    def confusing(self, arm: int, other: int) -> Confusing:
        """Return the models in which `arm` is best and `other` has its true mean."""
