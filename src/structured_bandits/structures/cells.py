"""The questions that policies ask of a structure's cells.

A new kind of structure is a new kind of cell: a named tuple that answers these, written so that Numba
can compile it. `low` and `high` are the open box of means that fit the data (see `confidence`).
"""

from __future__ import annotations

from typing import Any, Protocol

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.structures.confidence import Prospect

NO_ARM, SEVERAL = -1, -2  # instead of the arm with new data


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
