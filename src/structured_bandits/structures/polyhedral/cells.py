"""Cells of a polyhedral structure: linear programs answer what a policy asks, as few as possible.

A program is solved only if nothing known settles the question. A model found earlier that is still
inside the box shows that a cell meets it; multipliers found earlier bound a cell's value and its slack
in every other box (see `certificates`). Both are checked anew for each box, so nothing is approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.planning.confidence import Reach, centres_and_radii
from structured_bandits.programs.linear import TOLERANCE
from structured_bandits.structures.polyhedral.cell import PolytopeCell, cells_of
from structured_bandits.structures.polyhedral.certificates import Certificates
from structured_bandits.structures.polyhedral.least_squares import fitting_cell
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.spans import SpanCells, protected_value


class PolytopeCells(SpanCells):
    """The cells of pieces that are polytopes. It runs on the Python engine: solvers do not compile."""

    tie = TOLERANCE

    def __init__(self, pieces: Sequence[Polytope]) -> None:
        self.pieces = tuple(pieces)
        self.cells: list[PolytopeCell] = [
            cell for number, piece in enumerate(pieces) for cell in cells_of(piece, number)
        ]
        self.best: Ints = np.array([cell.arm for cell in self.cells], dtype=np.int64)
        self.solved = 0  # linear programs so far
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {"pieces": self.pieces, "cells": self.cells, "best": self.best, "solved": 0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.pieces[0].n_arms

    def workspace(self) -> Floats:
        """Return the memory for `screen` and `stays`; what earlier runs found is forgotten.

        So a run does not depend, not even in its number of plans, on those before it.
        """
        self._forget()
        return np.zeros((2, len(self.best)))

    def _forget(self) -> None:
        arms = self.arm_count()
        for cell in self.cells:
            cell.forget()
        self._inside: list[Floats | None] = [None] * len(self.cells)  # means of a model found
        self._slacks = Certificates(len(self.cells), arms)
        self._values = Certificates(len(self.cells), arms)
        self._chosen: tuple[int, Floats | None] = 0, None  # the last choice and its best model

    def fits(self, cell: int, low: Floats, high: Floats, before: bool) -> bool:
        """Does the cell meet the open box, by more than the tolerance?"""
        means = self._inside[cell]
        if means is not None and min((means - low).min(), (high - means).min()) > TOLERANCE:
            return True
        if self._slacks.bound(cell, low, high) <= TOLERANCE:
            return False
        self.solved += 1
        solution = self.cells[cell].slack(low, high)
        polytope, count, arms = self.cells[cell].polytope, len(self.cells[cell].lower), len(low)
        self._inside[cell] = polytope.means(solution.x[:-1])
        of_low = np.minimum(solution.multipliers[count : count + arms], 0.0)
        of_high = np.maximum(solution.multipliers[count + arms : -1], 0.0)
        fixed = self.cells[cell].fixed_part(solution.multipliers) + solution.multipliers[-1]
        shift = float(polytope.intercepts @ (of_low + of_high))
        self._slacks.renew(cell, fixed - shift, of_high, of_low)
        return solution.value > TOLERANCE

    def span(self, cell: int, low: Floats, high: Floats) -> tuple[float, float]:
        """Return the least and the highest mean of the best arm; the cell meets the box."""
        lowest, _ = self._extreme(cell, low, high, -1.0)
        highest, _ = self._extreme(cell, low, high, 1.0)
        return -lowest, highest

    def _extreme(
        self, cell: int, low: Floats, high: Floats, sign: float
    ) -> tuple[float, Floats | None]:
        """Return the maximum of sign times the best arm's mean, and the means it is taken at.

        If there is no end to it, there are no such means.
        """
        self.solved += 1
        solution = self.cells[cell].extreme(low, high, sign)
        polytope, arm = self.cells[cell].polytope, self.cells[cell].arm
        if solution.status != "optimal":
            return solution.value, None
        if sign > 0.0:
            of_box = solution.multipliers[len(self.cells[cell].lower) :]
            of_high, of_low = np.maximum(of_box, 0.0), np.minimum(of_box, 0.0)
            fixed = self.cells[cell].fixed_part(solution.multipliers) + polytope.intercepts[arm]
            shift = float(polytope.intercepts @ of_box)
            self._values.renew(cell, fixed - shift, of_high, of_low)
        value = float(solution.value + sign * polytope.intercepts[arm])
        return value, polytope.means(solution.x)

    def best_arms_in(self, low: Floats, high: Floats, found: Flags) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        found[:] = False
        for cell, arm in enumerate(self.best):
            found[arm] = found[arm] or self.fits(cell, low, high, True)
        return bool(found.any())

    def optimistic_arm(self, low: Floats, high: Floats) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        The cell with the highest bound is solved until its bound is its value: no other cell can be
        higher then. The lowest arm wins a tie.
        """
        values = np.minimum(self._values.bounds(low, high), high[self.best])
        known = np.zeros(len(values), np.bool_)
        tops: dict[int, Floats | None] = {}
        while True:
            top = values.max(initial=-math.inf)
            if top == -math.inf:
                return -1
            near = values >= top - self.tie
            if known[near].all():
                winners = np.flatnonzero(near)
                self._chosen = (winner := int(winners[self.best[winners].argmin()])), tops[winner]
                return int(self.best[winner])
            cell = int(np.flatnonzero(near & ~known)[0])
            known[cell] = True
            values[cell] = -math.inf
            if self.fits(cell, low, high, True):
                values[cell], tops[cell] = self._extreme(cell, low, high, 1.0)

    def screen(
        self, arm: int, pulls: Ints, sums: Floats, budget: float, margin: float, work: Floats
    ) -> None:
        """Note means of `arm` that fit the data of all other arms, from the models at hand.

        The choice of `arm` left two models of its cell: one well inside the box and the most
        optimistic one, which may touch it. Between the first and a point shortly before the second all
        models protect the choice. More could be found at the price of more programs.
        """
        work[0], work[1] = math.inf, -math.inf
        cell, top = self._chosen
        inner = self._inside[cell]
        if self.best[cell] != arm or inner is None or top is None:
            return
        centre, radius = centres_and_radii(pulls, sums, budget)
        room = radius - np.abs(inner - centre)
        room[arm] = math.inf
        needed = margin + 2.0 * TOLERANCE  # so that `fits` would say yes
        part = needed / float(room.min())
        if 0.0 <= part < 1.0:
            work[0, cell] = inner[arm]
            work[1, cell] = top[arm] + part * (inner[arm] - top[arm])

    def stays(self, arm: int, pulls: Ints, sums: Floats, work: Floats, reach: Reach) -> bool:
        """Is the optimistic choice `arm` at every moment of the reach? No program is solved.

        As for curves, with bounds on the values of threats in place of values: a plan may be shorter
        than it could be, never longer.
        """
        reach = reach._replace(margin=reach.margin + 2.0 * TOLERANCE)
        safe = protected_value(work[0], work[1], reach)
        if safe == -math.inf:
            return False
        centre, radius = centres_and_radii(pulls, sums, reach.budget)
        radius += reach.margin
        low, high = centre - radius, centre + radius
        low[arm], high[arm] = reach.band_low, reach.band_high
        values = np.minimum(self._values.bounds(low, high), high[self.best])
        dangerous = (self.best != arm) & (values >= safe - reach.margin - 2.0 * self.tie)
        return not any(
            self._slacks.bound(int(cell), low, high) > 0.0 for cell in np.flatnonzero(dangerous)
        )

    def fitting_arm(self, pulls: Ints, sums: Floats) -> int:
        """Return the best arm of the cell with the least sum of pulls * (mean - model)^2."""
        return self.cells[fitting_cell(self.pieces, self.cells, pulls, sums)].arm

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolytopeCells) and _numbers(self) == _numbers(other)

    def __hash__(self) -> int:
        return hash(_numbers(self))


def _numbers(cells: PolytopeCells) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for piece in cells.pieces for array in piece.arrays())
