"""Cells of a polyhedral structure: linear programs answer what a policy asks, as few as possible.

A program is solved only if nothing known settles the question. A model found earlier that is still
inside the box shows that a cell meets it; multipliers found earlier bound a cell's value and its slack
in every other box (see `certificates`). Both are checked anew for each box, so nothing is approximate.
What a run has found is in its own `ProgramNotes`; the cells themselves never change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from structured_bandits.arrays import Flags, Floats, Ints
from structured_bandits.planning.confidence import Ahead, Box, Data, box_of, with_more_margin
from structured_bandits.planning.intervals import Intervals
from structured_bandits.programs.linear import TOLERANCE, WarmStart
from structured_bandits.structures.polyhedral.cell import PolytopeCell, cells_of
from structured_bandits.structures.polyhedral.certificates import Certificates
from structured_bandits.structures.polyhedral.least_squares import fitting_cell, fitting_piece
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.spans import SpanCells, SpanWork, covers, protected_value


class ProgramNotes:
    """What the programs of one run have found so far."""

    def __init__(self, cells: int, arms: int) -> None:
        self.solved = 0  # linear programs so far
        self._size = cells, arms
        self.clear()

    def clear(self) -> None:
        """Forget everything, warm starts too: where optima tie, they decide which one is found."""
        cells, _ = self._size
        self.inside: list[Floats | None] = [None] * cells  # means of a model found inside
        self.slacks = Certificates(*self._size)
        self.values = Certificates(*self._size)
        self.chosen: tuple[int, Floats | None] = 0, None  # the last choice and its best model
        self.warm: dict[tuple[int, str], WarmStart] = {}

    def warm_start(self, cell: int, program: str) -> WarmStart:
        """Return where a program of a cell starts from."""
        return self.warm.setdefault((cell, program), WarmStart())


class PolytopeCells(SpanCells):
    """The cells of pieces that are polytopes. It runs on the Python engine: solvers do not compile."""

    compiles: ClassVar[bool] = False
    tie = TOLERANCE

    def __init__(self, pieces: Sequence[Polytope]) -> None:
        self.pieces = tuple(pieces)
        self.cells: list[PolytopeCell] = [
            cell for number, piece in enumerate(pieces) for cell in cells_of(piece, number)
        ]
        self.best: Ints = np.array([cell.arm for cell in self.cells], dtype=np.int64)

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.pieces[0].n_arms

    def fresh_notes(self) -> ProgramNotes:
        """Return the memory of a run that has found nothing yet."""
        return ProgramNotes(len(self.cells), self.arm_count())

    def forget(self, memory: SpanWork | ProgramNotes) -> None:
        """Forget what was found, so that the next plan follows from the data alone."""
        super().forget(memory)
        notes: ProgramNotes = memory.notes if isinstance(memory, SpanWork) else memory
        notes.clear()

    def fits(self, cell: int, box: Box, before: bool, notes: ProgramNotes) -> bool:
        """Does the cell meet the open box, by more than the tolerance?"""
        low, high = box.low, box.high
        means = notes.inside[cell]
        if means is not None and min((means - low).min(), (high - means).min()) > TOLERANCE:
            return True
        if notes.slacks.bound(cell, box) <= TOLERANCE:
            return False
        notes.solved += 1
        solution = self.cells[cell].slack(box, notes.warm_start(cell, "slack"))
        polytope, count, arms = self.cells[cell].polytope, len(self.cells[cell].lower), len(low)
        notes.inside[cell] = polytope.slopes @ solution.x[:-1] + polytope.intercepts
        of_low = np.minimum(solution.multipliers[count : count + arms], 0.0)
        of_high = np.maximum(solution.multipliers[count + arms : -1], 0.0)
        fixed = self.cells[cell].fixed_part(solution.multipliers) + solution.multipliers[-1]
        shift = float(polytope.intercepts @ (of_low + of_high))
        notes.slacks.renew(cell, fixed - shift, of_high, of_low)
        return solution.value > TOLERANCE

    def span(self, cell: int, box: Box, notes: ProgramNotes) -> tuple[float, float]:
        """Return the least and the highest mean of the best arm; the cell meets the box."""
        lowest, _ = self._extreme(cell, box, -1.0, notes)
        highest, _ = self._extreme(cell, box, 1.0, notes)
        return -lowest, highest

    def _extreme(
        self, cell: int, box: Box, sign: float, notes: ProgramNotes
    ) -> tuple[float, Floats | None]:
        """Return the maximum of sign times the best arm's mean, and the means it is taken at.

        If there is no end to it, there are no such means.
        """
        notes.solved += 1
        name = "highest" if sign > 0.0 else "lowest"
        solution = self.cells[cell].extreme(box, sign, notes.warm_start(cell, name))
        polytope, arm = self.cells[cell].polytope, self.cells[cell].arm
        if solution.status != "optimal":
            return solution.value, None
        if sign > 0.0:
            of_box = solution.multipliers[len(self.cells[cell].lower) :]
            of_high, of_low = np.maximum(of_box, 0.0), np.minimum(of_box, 0.0)
            fixed = self.cells[cell].fixed_part(solution.multipliers) + polytope.intercepts[arm]
            shift = float(polytope.intercepts @ of_box)
            notes.values.renew(cell, fixed - shift, of_high, of_low)
        value = float(solution.value + sign * polytope.intercepts[arm])
        return value, polytope.slopes @ solution.x + polytope.intercepts

    def best_arms_in(self, box: Box, found: Flags, notes: ProgramNotes) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        found[:] = False
        for cell, arm in enumerate(self.best):
            found[arm] = found[arm] or self.fits(cell, box, True, notes)
        return bool(found.any())

    def optimistic_arm(self, box: Box, notes: ProgramNotes) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        The cell with the highest bound is solved until its bound is its value: no other cell can be
        higher then. The lowest arm wins a tie.
        """
        values = np.minimum(notes.values.bounds(box), box.high[self.best])
        known = np.zeros(len(values), np.bool_)
        tops: dict[int, Floats | None] = {}
        while True:
            top = values.max(initial=-math.inf)
            if top == -math.inf:
                return -1
            near = values >= top - self.tie
            if known[near].all():
                winners = np.flatnonzero(near)
                notes.chosen = (winner := int(winners[self.best[winners].argmin()])), tops[winner]
                return int(self.best[winner])
            cell = int(np.flatnonzero(near & ~known)[0])
            known[cell] = True
            values[cell] = -math.inf
            if self.fits(cell, box, True, notes):
                values[cell], tops[cell] = self._extreme(cell, box, 1.0, notes)

    def screen(self, arm: int, data: Data, level: Intervals, margin: float, work: SpanWork) -> None:
        """Note means of `arm` that fit the data of all other arms, from the models at hand.

        The choice of `arm` left two models of its cell: one well inside the box and the most
        optimistic one, which may touch it. Between the first and a point shortly before the second all
        models protect the choice. More could be found at the price of more programs.
        """
        work.lowest[:], work.highest[:] = math.inf, -math.inf
        cell, top = work.notes.chosen
        inner = work.notes.inside[cell]
        if self.best[cell] != arm or inner is None or top is None:
            return
        box = box_of(data, level)
        room = np.minimum(inner - box.low, box.high - inner)
        room[arm] = math.inf
        needed = margin + 2.0 * TOLERANCE  # so that `fits` would say yes
        part = needed / float(room.min())
        if 0.0 <= part < 1.0:
            work.lowest[cell] = inner[arm]
            work.highest[cell] = top[arm] + part * (inner[arm] - top[arm])

    def keeps_choice(self, arm: int, data: Data, work: SpanWork, ahead: Ahead) -> bool:
        """Is the optimistic choice `arm` whatever happens ahead? No program is solved.

        Bounds on the values of threats stand for values (docs/planning.md 9.1, 10.2): a plan may be
        shorter than it could be, never longer.
        """
        notes: ProgramNotes = work.notes
        ahead = with_more_margin(ahead, 2.0 * TOLERANCE)
        safe = protected_value(work.lowest, work.highest, ahead)
        if safe == -math.inf:
            return False
        box = _box_ahead(arm, data, ahead)
        values = np.minimum(notes.values.bounds(box), box.high[self.best])
        dangerous = (self.best != arm) & (values >= safe - ahead.margin - 2.0 * self.tie)
        return not any(
            notes.slacks.bound(int(cell), box) > 0.0 for cell in np.flatnonzero(dangerous)
        )

    def stays_competitive(
        self, arm: int, found: Flags, data: Data, work: SpanWork, ahead: Ahead
    ) -> bool:
        """Are the means of `arm` covered, and does no other arm join in? No program is solved."""
        ahead = with_more_margin(ahead, 2.0 * TOLERANCE)
        if not covers(work.lowest, work.highest, ahead):
            return False
        slacks = work.notes.slacks
        box = _box_ahead(arm, data, ahead)
        others = np.flatnonzero(~found[self.best])
        return not any(slacks.bound(int(cell), box) > 0.0 for cell in others)

    def fitting_arm(self, data: Data) -> int:
        """Return the best arm of the cell with the least sum of pulls * (mean - model)^2."""
        return self.cells[fitting_cell(self.pieces, self.cells, data)].arm

    def fitting_means(self, data: Data) -> Floats:
        """Return the means of a best-fitting model; those of arms without pulls are not unique."""
        return fitting_piece(self.pieces, self.cells, data).means

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PolytopeCells) and _numbers(self) == _numbers(other)

    def __hash__(self) -> int:
        return hash(_numbers(self))


def _box_ahead(arm: int, data: Data, ahead: Ahead) -> Box:
    """Return a box that holds that of each moment ahead, whatever the rewards of `arm`."""
    low, high = box_of(data, ahead.level)
    box = Box(low - ahead.margin, high + ahead.margin)
    box.low[arm], box.high[arm] = ahead.band_low, ahead.band_high
    return box


def _numbers(cells: PolytopeCells) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for piece in cells.pieces for array in piece.arrays())
