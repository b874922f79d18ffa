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
from structured_bandits.programs.linear import CERTIFIED, TOLERANCE, WarmStart
from structured_bandits.structures.polyhedral.cell import PolytopeCell, cells_of
from structured_bandits.structures.polyhedral.certificates import (
    FAR,
    HUGE,
    Certificates,
    ends_of,
)
from structured_bandits.structures.polyhedral.least_squares import fitting_cell, fitting_piece
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.polyhedral.witnesses import Witnesses
from structured_bandits.structures.spans import SpanCells, SpanWork, covers, protected_value


class ProgramNotes:
    """What the programs of one run have found so far."""

    def __init__(self, cells: int, arms: int) -> None:
        self.solved = 0  # linear programs so far
        self._size = cells, arms
        self.clear()

    def clear(self) -> None:
        """Forget everything, warm starts too: where optima tie, they decide which one is found."""
        self.witnesses = Witnesses(*self._size)
        self.slacks = Certificates(*self._size)
        self.values = Certificates(*self._size)
        self.chosen = 0  # the cell of the last choice
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

    def choose(self, changed: int, data: Data, level: Intervals, box: Box, work: SpanWork) -> int:
        """Return the optimistic arm inside the box, -1 if it is empty."""
        box.low[:], box.high[:] = level.intervals(data.pulls, data.sums)
        return self.optimistic_arm(box, work.notes)

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
        values = np.minimum(notes.values.bounds(ends), ends[self.best])
        values[values > HUGE] = math.inf
        known: set[int] = set()
        while True:
            top = values.max(initial=-math.inf)
            if top == -math.inf:
                return -1
            cell = self._lowest(values >= top - self.tie)
            if cell in known:
                highest = int(values.argmax())
                if highest in known or self._lowest(values >= values[cell] - self.tie) == cell:
                    break
                cell = highest
            known.add(cell)
            values[cell] = self._value(cell, float(values[cell]), box, ends, notes)
        notes.chosen = cell
        return int(self.best[cell])

    def _lowest(self, cells: Flags) -> int:
        """Return the first of the marked cells with the lowest arm."""
        marked = np.flatnonzero(cells)
        return int(marked[self.best[marked].argmin()])

    def _value(self, cell: int, bound: float, box: Box, ends: Floats, notes: ProgramNotes) -> float:
        """Return the highest mean of the best arm inside the box, no more than a bound; -inf if empty."""
        if not self._meets(cell, box, ends, notes):
            return -math.inf
        _, reached = notes.witnesses.span(cell, self.cells[cell].arm, ends)
        return bound if reached >= bound - CERTIFIED else self._highest(cell, box, notes)

    def screen(self, arm: int, data: Data, level: Intervals, margin: float, work: SpanWork) -> None:
        """Note means of `arm` that fit the data of all other arms, from the models at hand.

        The choice of `arm` left two models of its cell, and those between them that fit protect the
        choice. More could be found at the price of more programs.
        """
        work.lowest[:], work.highest[:] = math.inf, -math.inf
        cell = work.notes.chosen
        if self.best[cell] != arm:
            return
        ends = ends_of(box_of(data, level))
        ends -= margin + 2.0 * TOLERANCE  # so that `fits` would say yes
        ends[[arm, arm + len(data.pulls)]] = FAR
        work.lowest[cell], work.highest[cell] = work.notes.witnesses.span(cell, arm, ends)

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
        ends = _ends_ahead(arm, data, ahead)
        values = np.minimum(notes.values.bounds(ends), ends[self.best])
        dangerous = (self.best != arm) & (values >= safe - ahead.margin - 2.0 * self.tie)
        return not any(
            notes.slacks.bound(int(cell), ends) > 0.0 for cell in np.flatnonzero(dangerous)
        )

    def stays_competitive(
        self, arm: int, found: Flags, data: Data, work: SpanWork, ahead: Ahead
    ) -> bool:
        """Are the means of `arm` covered, and does no other arm join in? No program is solved."""
        ahead = with_more_margin(ahead, 2.0 * TOLERANCE)
        if not covers(work.lowest, work.highest, ahead):
            return False
        others = ~found[self.best]
        slacks = work.notes.slacks.bounds(_ends_ahead(arm, data, ahead))
        return not (slacks[others] > 0.0).any()

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


def shifted(weights: Floats, intercepts: Floats) -> float:
    """Return what the weights of a box's ends add to a bound on means without their intercepts."""
    of_high, of_low = weights.reshape(2, -1)
    return float(intercepts @ (of_high - of_low))


def _ends_ahead(arm: int, data: Data, ahead: Ahead) -> Floats:
    """Return the ends of a box that holds that of each moment ahead, whatever the rewards of `arm`."""
    ends = ends_of(box_of(data, ahead.level))
    ends += ahead.margin
    ends[arm], ends[arm + len(data.pulls)] = ahead.band_high, -ahead.band_low
    return np.minimum(ends, FAR, out=ends)


def _numbers(cells: PolytopeCells) -> tuple[bytes, ...]:
    return tuple(array.tobytes() for piece in cells.pieces for array in piece.arrays())
