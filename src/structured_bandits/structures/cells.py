"""The questions that policies ask of a structure's cells.

A new kind of structure is a new kind of cell: a named tuple that answers these, written so that Numba
can compile it. `low` and `high` are the open box of means that fit the data (see `confidence`).
"""

from __future__ import annotations

from typing import Protocol

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.structures.confidence import Reach


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

    def workspace(self) -> Floats:
        """Return the memory that `screen` and `stays` need."""

    def screen(
        self, arm: int, pulls: Ints, sums: Floats, budget: float, margin: float, work: Floats
    ) -> None:
        """Prepare `stays`: note how cells fit the data of all arms but `arm`."""

    def stays(self, arm: int, pulls: Ints, sums: Floats, work: Floats, reach: Reach) -> bool:
        """Is the optimistic arm `arm` at every moment of the reach? Monotone in its length."""

    def fitting_arm(self, pulls: Ints, sums: Floats) -> int:
        """Return the best arm of the best-fitting model, by least squares."""


class LineCells(Protocol):
    """Cells on a line, whose models are numbers, as WAGP needs them."""

    def closest_parameter(self, arm: int, mean: float) -> float:
        """Return the parameter whose mean of `arm` is nearest to `mean`."""

    def arm_at(self, parameter: float) -> int:
        """Return the best arm at a parameter."""
