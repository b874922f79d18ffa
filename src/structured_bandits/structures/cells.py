"""The questions that policies ask of a structure's cells.

A new kind of structure is a new kind of cell: a named tuple that answers these, written so that Numba
can compile it. `low` and `high` are the open box of means that fit the data (see `confidence`).
"""

from __future__ import annotations

from typing import Protocol

from structured_bandits.arrays import Flags, Floats, Ints


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
        """Return the memory that `choose` and `sure_pulls` need, also from one plan to the next."""

    def choose(
        self, pulls: Ints, sums: Floats, budget: float, low: Floats, high: Floats, work: Floats
    ) -> int:
        """Return the optimistic arm in the box of these data, -1 if it is empty.

        What was noted the last time may help. `low` and `high` are memory for the box.
        """

    def sure_pulls(
        self,
        arm: int,
        t: int,
        limit: int,
        pulls: Ints,
        sums: Floats,
        factor: float,
        bottom: float,
        top: float,
        work: Floats,
        lengths: Ints,
    ) -> int:
        """Return a number of pulls, from 1 to `limit`, in which `arm` is certain to stay the choice.

        `choose` has just returned it, after `t` pulls of all arms. The budget is factor * log(time),
        rewards lie in [bottom, top]; `lengths` has the length found last for each arm.
        """

    def fitting_arm(self, pulls: Ints, sums: Floats) -> int:
        """Return the best arm of the best-fitting model, by least squares."""


class LineCells(Protocol):
    """Cells on a line, whose models are numbers, as WAGP needs them."""

    def closest_parameter(self, arm: int, mean: float) -> float:
        """Return the parameter whose mean of `arm` is nearest to `mean`."""

    def arm_at(self, parameter: float) -> int:
        """Return the best arm at a parameter."""
