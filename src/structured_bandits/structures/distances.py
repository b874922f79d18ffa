"""How far the models of a structure are from a true one: the questions that theory asks.

Each kind of structure answers them for its own cells (`Structure.distances`). The truth is a vector
of means and a `tolerance` says which means count as equal: whether two models agree on an arm cannot
be decided exactly for means that were computed.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints

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
