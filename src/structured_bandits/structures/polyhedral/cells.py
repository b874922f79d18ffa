"""Cells of a polyhedral structure: linear programs answer what a policy asks, as few as possible.

A program is solved only if nothing known settles the question. A model found earlier that is still
inside the box shows that a cell meets it; multipliers found earlier bound a cell's value and its slack
in every other box (see `certificates`). Both are checked anew for each box, so nothing is approximate.
What a run has found is in its own `ProgramNotes`; what is known of the cells never depends on a run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.confidence import Box, Data
from structured_bandits.solvers.linear import CERTIFIED, TOLERANCE, WarmStart
from structured_bandits.structures.polyhedral.cell import PolytopeCell, cells_of
from structured_bandits.structures.polyhedral.difference_cells import common_mean
from structured_bandits.structures.polyhedral.least_squares import fitting_cell, fitting_piece
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.polyhedral.solved_programs import (
    HUGE,
    Certificates,
    Vertex,
    Witnesses,
    ends_of,
)
from structured_bandits.structures.spans import SpanCells


class Known(NamedTuple):
    """Models and bounds, of all cells."""

    witnesses: Witnesses
    slacks: Certificates
    values: Certificates


def nothing_known(cells: int, arms: int) -> Known:
    """Return what is known before the first program."""
    return Known(Witnesses(cells, arms), Certificates(cells, arms), Certificates(cells, arms))


class ProgramNotes:
    """What the programs of one run have found so far, beginning with what holds for all runs."""

    def __init__(self, start: Known) -> None:
        self.solved = 0  # linear programs so far
        self._start = start
        self.clear()

    def clear(self) -> None:
        """Forget what the run has found, warm starts too: where optima tie, they decide between them."""
        self.witnesses = self._start.witnesses.copy()
        self.slacks = self._start.slacks.copy()
        self.values = self._start.values.copy()
        self.chosen = 0  # the cell of the last choice, made for the box with these ends and bounds
        self.ends = self.bounds = np.zeros(0)
        self.vertices: dict[int, Vertex] = {}
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
        fixed = [fixed_means(piece) for piece in self.pieces]
        self.best_mean = common_mean([fixed[cell.piece][cell.arm] for cell in self.cells])
        self._rising = np.argsort(self.best, kind="stable")  # the cells by their arms
        self.of_arm = [np.flatnonzero(self.best == arm) for arm in range(self.arm_count())]

    def arm_count(self) -> int:
        """Return the number of arms."""
        return self.pieces[0].n_arms

    @cached_property
    def everywhere(self) -> Known:
        """What holds before there are data: a model of each cell, and its highest mean."""
        arms = self.arm_count()
        notes = ProgramNotes(nothing_known(len(self.cells), arms))
        free = Box(np.full(arms, -np.inf), np.full(arms, np.inf))
        for cell in range(len(self.cells)):
            self._slack(cell, free, notes)
            self._highest(cell, free, notes)
        return Known(notes.witnesses, notes.slacks, notes.values)

    def fresh_notes(self) -> ProgramNotes:
        """Return the memory of a run that has found nothing yet."""
        return ProgramNotes(self.everywhere)

    def forget(self, notes: ProgramNotes) -> None:
        """Forget what was found, so that the next plan follows from the data alone."""
        notes.clear()

    def fits(self, cell: int, box: Box, before: bool, notes: ProgramNotes) -> bool:
        """Does the cell meet the open box, by more than the tolerance?"""
        return self._meets(cell, box, ends_of(box), notes)

    def _meets(self, cell: int, box: Box, ends: Floats, notes: ProgramNotes) -> bool:
        if notes.witnesses.meets(cell, ends):
            return True
        return notes.slacks.bound(cell, ends) > TOLERANCE and self._slack(cell, box, notes)

    def _slack(self, cell: int, box: Box, notes: ProgramNotes) -> bool:
        """Solve whether the cell meets the box; note what this shows."""
        notes.solved += 1
        solution = self.cells[cell].slack(box, notes.warm_start(cell, "slack"))
        if solution.status != "optimal":  # it may meet the box, and nothing is learned
            return solution.value > TOLERANCE
        polytope, count = self.cells[cell].polytope, len(self.cells[cell].lower)
        notes.witnesses.note_inner(cell, polytope.slopes @ solution.x[:-1] + polytope.intercepts)
        of_low, of_high = solution.multipliers[count:-1].reshape(2, -1)
        weights = np.concatenate([np.maximum(of_high, 0.0), np.maximum(-of_low, 0.0)])
        fixed = self.cells[cell].fixed_part(solution.multipliers) + solution.multipliers[-1]
        notes.slacks.renew(cell, fixed - shifted(weights, polytope.intercepts), weights)
        return solution.value > TOLERANCE

    def span(self, cell: int, box: Box, notes: ProgramNotes) -> tuple[float, float]:
        """Return the least and the highest mean of the best arm; the cell meets the box."""
        notes.solved += 1
        lowest = self.cells[cell].extreme(box, -1.0, notes.warm_start(cell, "lowest")).value
        arm = self.cells[cell].arm
        return self.cells[cell].polytope.intercepts[arm] - lowest, self._highest(cell, box, notes)

    def _highest(self, cell: int, box: Box, notes: ProgramNotes) -> float:
        """Return the highest mean of the best arm; the cell meets the box.

        The program may exceed the arm's own end by the width of its interval. That end is a bound by
        itself, and models beyond it stay of use when it moves, which it does with every pull.
        """
        notes.solved += 1
        own, arm = self.cells[cell], self.cells[cell].arm
        wide = Box(box.low, box.high.copy())
        wide.high[arm] += box.high[arm] - box.low[arm]
        solution = own.extreme(wide, 1.0, notes.warm_start(cell, "highest"))
        if solution.status != "optimal":
            return min(solution.value, float(box.high[arm]))
        intercepts = own.polytope.intercepts
        notes.witnesses.note_far(cell, own.polytope.slopes @ solution.x + intercepts)
        of_box = solution.multipliers[len(own.lower) :]
        weights = np.concatenate([np.maximum(of_box, 0.0), np.maximum(-of_box, 0.0)])
        fixed = own.fixed_part(solution.multipliers) + intercepts[arm]
        fixed -= shifted(weights, intercepts)
        beyond = weights[arm]
        if beyond == 0.0:
            notes.vertices[cell] = Vertex(own, solution, ends_of(box))
        weights[[arm, len(intercepts) + arm]] += beyond  # of high + (high - low)
        notes.values.renew(cell, fixed, weights)
        return min(float(solution.value + intercepts[arm]), float(box.high[arm]))

    def best_arms_in(self, box: Box, found: Flags, notes: ProgramNotes) -> bool:
        """Mark the arms whose cells meet the open box; is anything inside at all?"""
        ends = ends_of(box)
        found[:] = False
        found[self.best[notes.witnesses.meet(ends)]] = True
        open_cells = ~found[self.best] & (notes.slacks.bounds(ends) > TOLERANCE)
        for cell in np.flatnonzero(open_cells):
            arm = self.best[cell]
            found[arm] = found[arm] or self._slack(int(cell), box, notes)
        return bool(found.any())

    def optimistic_arm(self, box: Box, notes: ProgramNotes) -> int:
        """Return the arm with the highest mean where it is best inside the box, -1 if empty.

        Values that are not known are bounds. Those that could decide become known one by one, until
        one is within the tie of all bounds and no lower arm is within the tie of it.
        """
        ends = ends_of(box)
        values = self.value_bounds(ends, notes)
        values[values > HUGE] = math.inf
        notes.ends, notes.bounds = ends, values
        known: set[int] = set()
        while (top := values.max(initial=-math.inf)) > -math.inf:
            cell = self._lowest(values >= top - self.tie)
            highest = int(values.argmax())
            if cell not in known:
                known.add(cell)
                values[cell] = value = self._value(cell, float(values[cell]), box, notes)
                if value >= top:  # no bound is above it, and those of lower arms are below the tie
                    return self._chosen(cell, notes)
            elif highest in known or self._lowest(values >= values[cell] - self.tie) == cell:
                return self._chosen(cell, notes)
            else:
                known.add(highest)
                values[highest] = self._value(highest, float(values[highest]), box, notes)
        return -1

    def value_bounds(self, ends: Floats, notes: ProgramNotes) -> Floats:
        """Return bounds on the values of all cells: by certificates, and the ends of their arms."""
        bounds = notes.values.bounds(ends)
        return np.minimum(bounds, ends[self.best], out=bounds)

    def _lowest(self, cells: Flags) -> int:
        """Return the first of the marked cells with the lowest arm."""
        return int(self._rising[cells[self._rising].argmax()])

    def _chosen(self, cell: int, notes: ProgramNotes) -> int:
        notes.chosen = cell
        return int(self.best[cell])

    def _value(self, cell: int, bound: float, box: Box, notes: ProgramNotes) -> float:
        """Return the highest mean of the best arm inside the box, -inf if the cell does not meet it."""
        if not self._meets(cell, box, notes.ends, notes):
            return -math.inf
        enough, arm = bound - CERTIFIED, self.cells[cell].arm
        if notes.witnesses.span(cell, arm, notes.ends)[1] >= enough:
            return bound
        vertex = notes.vertices.get(cell)
        moved = None if vertex is None else vertex.means(notes.ends)
        if moved is not None and moved[arm] >= enough:
            notes.witnesses.note_far(cell, moved)
            return bound
        return self._highest(cell, box, notes)

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


def fixed_means(piece: Polytope) -> Floats:
    """Return the means that the equations of a piece fix, -inf for others; a single model fixes none.

    A mean is fixed if its slopes are a combination of the equations.
    """
    equal = piece.lower == piece.upper
    rows, slopes = piece.rows[equal], piece.slopes
    if not piece.dimension:
        return np.full(piece.n_arms, -np.inf)
    weights = np.linalg.lstsq(rows.T, slopes.T)[0].T
    free = np.abs(weights @ rows - slopes).max(axis=1) > TOLERANCE
    fixed = weights @ piece.lower[equal] + piece.intercepts
    return np.where(free | ~free.any(), -np.inf, fixed)


def shifted(weights: Floats, intercepts: Floats) -> float:
    """Return what the weights of a box's ends add to a bound on means without their intercepts."""
    of_high, of_low = weights.reshape(2, -1)
    return float(intercepts @ (of_high - of_low))


def _numbers(cells: PolytopeCells) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for piece in cells.pieces for array in piece.arrays())
