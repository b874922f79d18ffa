"""One cell of a polyhedral structure, the part of a polytope in which one arm is best."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.confidence import Box
from structured_bandits.errors import StructureError
from structured_bandits.solvers.linear import (
    TOLERANCE,
    LinearProgram,
    Solution,
    WarmStart,
    dual_bound,
    maximise,
)
from structured_bandits.structures.polyhedral.differences import differences, rivals_of
from structured_bandits.structures.polyhedral.polytope import Polytope


class PolytopeCell:
    """The models of a polytope in which `arm` leads all arms but those that always equal it.

    `rows`, `lower` and `upper` describe its closure. Leads are strict, so the cell is open where another
    arm ties, but since it is convex and not empty its suprema are those of the closure.
    """

    def __init__(self, polytope: Polytope, piece: int, arm: int, rivals: Flags) -> None:
        self.polytope, self.piece, self.arm, self.rivals = polytope, piece, arm, rivals
        _, least = lead_rows(polytope, arm, rivals)
        self.lower = np.concatenate([polytope.lower, least])
        self.upper = np.concatenate([polytope.upper, np.full(len(least), np.inf)])
        self._programs: dict[str, LinearProgram] = {}  # made when first asked for, then the same

    @property
    def rows(self) -> Floats:
        """The rows of the polytope, then the leads; not kept, there may be many cells."""
        leads, _ = lead_rows(self.polytope, self.arm, self.rivals)
        return np.vstack([self.polytope.rows, leads])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_programs": {}}  # they follow from the rest

    def slack(self, box: Box, warm: WarmStart | None = None) -> Solution:
        """Maximise s over (x, s): every mean is inside the box by s or more, s at most 1.

        The box is met if the maximum is positive. The multipliers are those of the cell's rows, then
        of the lower ends, then of the upper ends, then of s <= 1.
        """
        slopes, shift = self.polytope.slopes, self.polytope.intercepts
        count, arms = len(self.lower), len(slopes)
        program = self._programs.get("slack")
        if program is None:
            rows = np.zeros((count + 2 * arms + 1, slopes.shape[1] + 1))
            rows[:count, :-1] = self.rows
            rows[count : count + arms, :-1] = rows[count + arms : -1, :-1] = slopes
            rows[count : count + arms, -1] = -1.0
            rows[count + arms :, -1] = 1.0
            objective = np.zeros(rows.shape[1])
            objective[-1] = 1.0
            program = self._programs["slack"] = LinearProgram(objective, rows)
        nothing = np.full(arms, np.inf)
        return program.solve(
            np.concatenate([self.lower, box.low - shift, -nothing, [-np.inf]]),
            np.concatenate([self.upper, nothing, box.high - shift, [1.0]]),
            warm,
        )

    def extreme(self, box: Box, sign: float = 1.0, warm: WarmStart | None = None) -> Solution:
        """Maximise sign times the mean of the arm (without its intercept) over the closed box.

        The multipliers are those of the cell's rows, then of the box.
        """
        shift = self.polytope.intercepts
        return self._extreme_program(sign).solve(
            np.concatenate([self.lower, box.low - shift]),
            np.concatenate([self.upper, box.high - shift]),
            warm,
        )

    def _extreme_program(self, sign: float) -> LinearProgram:
        name = "highest" if sign > 0.0 else "lowest"
        program = self._programs.get(name)
        if program is None:
            rows = np.vstack([self.rows, self.polytope.slopes])
            program = LinearProgram(sign * self.polytope.slopes[self.arm], rows)
            self._programs[name] = program
        return program

    @property
    def value_rows(self) -> Floats:
        """The rows of the program for the highest mean: the cell's, then the slopes of the means."""
        return self._extreme_program(1.0).rows

    def fixed_part(self, multipliers: Floats) -> float:
        """Return what the multipliers of the cell's own rows add to a bound."""
        return dual_bound(multipliers[: len(self.lower)], self.lower, self.upper)


def lead_rows(polytope: Polytope, arm: int, rivals: Flags) -> tuple[Floats, Floats]:
    """Return rows and lower ends of the constraints that `arm` is at least as good as its rivals."""
    leads = polytope.slopes[arm] - polytope.slopes[rivals]
    return leads, polytope.intercepts[rivals] - polytope.intercepts[arm]


def is_empty(polytope: Polytope) -> bool:
    """Does no model satisfy the constraints?"""
    nothing = np.zeros(polytope.dimension)
    found = maximise(nothing, polytope.rows, polytope.lower, polytope.upper)
    return found.status == "infeasible"


def mean_ends(polytope: Polytope) -> Floats:
    """Return the least and the largest mean of each arm (arms × 2); they are kept with the polytope."""
    if "mean ends" not in polytope.known:
        slopes = np.concatenate([-polytope.slopes, polytope.slopes])
        found = [maximise(slope, polytope.rows, polytope.lower, polytope.upper) for slope in slopes]
        lowest, highest = np.array([each.value for each in found]).reshape(2, -1)
        ends = np.stack([-lowest, highest], axis=1) + polytope.intercepts[:, None]
        polytope.known["mean ends"] = ends
    ends = polytope.known["mean ends"]
    return ends


def widest(rows: Floats, lower: Floats, upper: Floats, strict: Flags) -> Solution:
    """Maximise s <= 1 over (x, s): the strict rows exceed their lower ends by s or more."""
    wide = np.zeros((len(rows) + 1, rows.shape[1] + 1))
    wide[:-1, :-1] = rows
    wide[:-1, -1][strict] = -1.0
    wide[-1, -1] = 1.0
    objective = np.zeros(wide.shape[1])
    objective[-1] = 1.0
    return maximise(objective, wide, np.append(lower, -np.inf), np.append(upper, 1.0))


def cells_of(polytope: Polytope, piece: int) -> list[PolytopeCell]:
    """Return the cells of a polytope; raise if it is empty."""
    if is_empty(polytope):
        raise StructureError(f"{polytope.title}: no model satisfies its constraints")
    cells = [_cell_of(polytope, piece, arm) for arm in range(polytope.n_arms)]
    found = [cell for cell in cells if cell is not None]
    if not found:
        raise StructureError(
            f"{polytope.title}: no arm leads the others by more than {TOLERANCE:g} in any model"
        )
    return found


def _cell_of(polytope: Polytope, piece: int, arm: int) -> PolytopeCell | None:
    """Return the cell of an arm, None if it leads nowhere by more than the tolerance."""
    known = differences(polytope)
    if known is not None:
        others = rivals_of(known, arm)
        return None if others is None else PolytopeCell(polytope, piece, arm, others)
    rivals = np.arange(polytope.n_arms) != arm
    lead = largest_lead(polytope, arm, rivals)
    if -TOLERANCE <= lead <= TOLERANCE:  # it may always equal another arm; the first of such counts
        for other in np.flatnonzero(rivals):
            if _always_equal(polytope, arm, int(other)):
                if other < arm:
                    return None
                rivals[other] = False
        lead = largest_lead(polytope, arm, rivals)
    return PolytopeCell(polytope, piece, arm, rivals) if lead > TOLERANCE else None


def largest_lead(polytope: Polytope, arm: int, rivals: Flags) -> float:
    """Return by how much an arm can lead all rivals at once, at most 1."""
    leads, least = lead_rows(polytope, arm, rivals)
    rows = np.vstack([polytope.rows, leads])
    lower = np.concatenate([polytope.lower, least])
    upper = np.concatenate([polytope.upper, np.full(len(leads), np.inf)])
    return widest(rows, lower, upper, np.arange(len(rows)) >= len(polytope.rows)).value


def _always_equal(polytope: Polytope, arm: int, other: int) -> bool:
    """Do two arms have the same mean in every model?"""
    lead = polytope.slopes[arm] - polytope.slopes[other]
    shift = polytope.intercepts[arm] - polytope.intercepts[other]
    return all(
        maximise(sign * lead, polytope.rows, polytope.lower, polytope.upper).value + sign * shift
        <= TOLERANCE
        for sign in (1.0, -1.0)
    )
