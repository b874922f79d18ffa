"""The questions that may be asked of a structure: by policies of its cells, by theory of its distances.

A new kind of structure is a new kind of cell: a named tuple that answers the questions of `Cells`,
written so that Numba can compile it, or any object if it says `compiles = False`. Cells are the same
for everyone who asks: whatever a run finds out is kept in memory of its own, which `workspace` or
`fresh_notes` hands out. So one structure serves any number of threads.

Theory asks how far the models are from a true one (`Structure.distances`). The truth is a vector of
means and a `tolerance` says which means count as equal: whether two models agree on an arm cannot be
decided exactly for means that were computed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import chosen, compilable, do_nothing
from structured_bandits.base.confidence import Box, Data


class Cells(Protocol):
    """Parts of a structure in each of which one arm, `best`, is best."""

    @property
    def best(self) -> Ints:
        """The best arm of each cell."""

    def arm_count(self) -> int:
        """Return the number of arms."""

    def fresh_notes(self) -> Any:
        """Return the memory that `best_arms_in` and `optimistic_arm` need."""

    def best_arms_in(self, box: Box, found: Flags, notes: Any) -> bool:
        """Mark the best arms of the cells that meet the box; is there such a cell?"""

    def optimistic_arm(self, box: Box, notes: Any) -> int:
        """Return the best arm with the highest mean inside the box, -1 if it is empty."""


class FittingCells(Protocol):
    """Cells that can find the best-fitting model, as GreedyMLE needs them."""

    def arm_count(self) -> int:
        """Return the number of arms."""

    def fitting_arm(self, data: Data) -> int:
        """Return the best arm of the best-fitting model, by least squares."""


class LineCells(Cells, Protocol):
    """Cells on a line, whose models are numbers, as WAGP needs them."""

    def closest_parameter(self, arm: int, mean: float) -> float:
        """Return the parameter whose mean of `arm` is nearest to `mean`."""

    def arm_at(self, parameter: float) -> int:
        """Return the best arm at a parameter."""


class Spans(Protocol):
    """What `spans.SpanCells` needs of cells; those of one piece stand together."""

    def fits(self, cell: int, box: Box, before: bool, notes: Any) -> bool:
        """Does the cell's piece meet the open box? `before` is the answer for the cell before it."""

    def span(self, cell: int, box: Box, notes: Any) -> tuple[float, float]:
        """Return infimum and supremum of the best arm's mean inside the box, (inf, -inf) if empty.

        The cell's piece meets the box: `fits` was just asked, with the same notes.
        """


class ModelLines(NamedTuple):
    """The cells of a structure as straight lines of models; a single model is a line of no length.

    A structure whose cells are such lines has them as `model_lines`, a tuple: one for each of the groups
    of a product, one for others.
    """

    first: Floats  # cells x arms: the means at one end
    last: Floats  # and at the other, linear in between
    best: Ints
    piece: Ints  # the piece of the structure, or the model of a table, that the cell is part of
    length: Floats  # of the parameter


class ModelBoxes(NamedTuple):
    """Models whose means are known up to margins (models x arms)."""

    least: Floats
    most: Floats


@compilable
def candidate_arms(cells: Cells) -> Flags:
    """Mark the arms that are best in some model, A*(Theta)."""
    candidates = np.zeros(cells.arm_count(), np.bool_)
    for arm in cells.best:
        candidates[arm] = True
    return candidates


def compiles(cells: Any) -> bool:
    """Can compiled code ask these cells? Cells that call solvers say that it cannot."""
    return bool(getattr(cells, "compiles", hasattr(cells, "_fields")))


#: `forget_history(cells, notes)`: forget what earlier plans found, if it may decide the next one. Cells
#: that call no solver find nothing that could.
forget_history = chosen(lambda kind: getattr(kind, "forget", do_nothing))


Model = (
    Any  # of a finite structure an index, of a curve structure the parameter, of polytopes a Place
)


class Nearest(NamedTuple):
    """The model of a set that is nearest to the truth, the paper's psi (eq. 2).

    `gap` is its distance, the square root of the paper's Psi (eq. 1), infinite if the set is empty;
    `told_by` is the arm on which the two differ most. If it is not `attained`, `model` is only a limit:
    models close to it have distances as close to `gap` as you like.
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
