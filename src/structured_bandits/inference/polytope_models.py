"""The models of a union of polytopes, cell by cell: how likely they are at most, and estimates.

Searches begin at the same point each time, so what is found follows from the counts alone.

A cell is the part of a piece in which one arm is best. The likeliest model of a piece or a cell is found
by a barrier method (`barrier`), from above. What programs say of a cell beforehand, a point inside and
which equations hold in all of it, is found when it is first asked for.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.inference.barrier import PRESSURE, Highest, Region, centre_of, highest_in
from structured_bandits.inference.misfit.reward_likelihood import Counts
from structured_bandits.inference.shares import InShares, LikeliestModel, PieceCell
from structured_bandits.solvers.linear import maximise
from structured_bandits.structures.polyhedral.cell import lead_rows, mean_ends, widest
from structured_bandits.structures.polyhedral.differences import differences, rivals_of
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.reward_ranges import Rewards

FLAT = 1e-9  # a row with less room than this is an equation
WALL = 0.5  # of a success for each wall of a piece


class PolytopeModels(InShares):
    """The models of some polytopes and rewards of one kind. Plain Python: programs are solved."""

    compiles: ClassVar[bool] = False

    def __init__(
        self, pieces: tuple[Polytope, ...], cells: list[PieceCell], rewards: Rewards
    ) -> None:
        self.pieces, self.cells = pieces, cells
        self.arms = pieces[0].n_arms
        self.set_rewards(rewards)
        self._regions: dict[Any, Region | None] = {}

    def likeliest(self, counts: Counts) -> LikeliestModel | None:
        """Return the likeliest model of all pieces; None if none explains the data."""
        best, likeliest = -math.inf, None
        for piece in range(len(self.pieces)):
            found = self._highest(("piece", piece), counts)
            if found is not None and found[0].bound > best:
                best, likeliest = (
                    found[0].bound,
                    LikeliestModel(found[1].means(found[0].place), piece),
                )
        return likeliest

    def centre(self, counts: Counts, piece: int) -> Floats | None:
        """Return the shares of a piece's model with half a success for each of its walls."""
        region = self._region(("piece", piece), _pulled(counts))
        if region is None:
            return None
        return region.means(centre_of(region, *counts, self.variance, WALL))

    def highest(
        self,
        cell: int,
        counts: Counts,
        lead: tuple[int, float] | None = None,
        pressure: float = PRESSURE,
    ) -> tuple[float, Floats | None]:
        """Return a bound on the log-likelihoods in a cell, and the shares where it is nearly reached.

        The bound is at most the pressure too high, or a bit more. With a lead (an arm, and how much)
        only models count in which the cell's arm is so much better than this one.
        """
        found = self._highest(("cell", cell, lead), counts, pressure)
        if found is None or found[0].bound == -math.inf:
            return -math.inf, None
        return found[0].bound, found[1].means(found[0].place)

    def _highest(
        self, key: Any, counts: Counts, pressure: float = PRESSURE
    ) -> tuple[Highest, Region] | None:
        region = self._region(key, _pulled(counts))
        if region is None:
            return None
        return highest_in(region, *counts, self.variance, pressure), region

    def _region(self, key: Any, pulled: Flags) -> Region | None:
        """Return the region of a piece or cell; rewards keep the means of pulled arms in their range."""
        whole = (key, pulled.tobytes() if self._leaves_range(key) else b"")
        if whole not in self._regions:
            self._regions[whole] = self._made(key, pulled)
        return self._regions[whole]

    def _leaves_range(self, key: Any) -> bool:
        """Can a mean of the piece leave the range of rewards?"""
        piece = self._piece(key)
        if self.variance > 0.0:
            return False
        known = differences(piece)
        low, high = mean_ends(piece).T if known is None else (known.low, known.high)
        beyond = high.max() > self.bottom + self.width + FLAT
        return bool(beyond or low.min() < self.bottom - FLAT)

    def _piece(self, key: Any) -> Polytope:
        return self.pieces[key[1] if key[0] == "piece" else self.cells[key[1]].piece]

    def _made(self, key: Any, pulled: Flags) -> Region | None:
        piece = self._piece(key)
        if key[0] == "cell":
            piece = self._cell_polytope(self.cells[key[1]], key[2])
        if self._leaves_range(key):
            seen = np.flatnonzero(pulled)
            ends = np.full(len(seen), self.bottom), np.full(len(seen), self.bottom + self.width)
            piece = piece.constrained(np.eye(self.arms)[seen], *ends)
        return region_of(piece, self.bottom, self.width)

    def _cell_polytope(self, cell: PieceCell, lead: tuple[int, float] | None) -> Polytope:
        piece = self.pieces[cell.piece]
        known = differences(piece)
        others = np.arange(self.arms) != cell.arm
        rivals = rivals_of(known, cell.arm) if known is not None else others
        rivals = others if rivals is None else rivals
        rows, least = lead_rows(piece, cell.arm, rivals)
        if lead is not None:
            other, more = lead
            row = piece.slopes[cell.arm] - piece.slopes[other]
            shift = piece.intercepts[other] - piece.intercepts[cell.arm]
            rows, least = np.vstack([rows, row]), np.append(least, shift + more)
        return Polytope(
            piece.slopes,
            piece.intercepts,
            np.vstack([piece.rows, rows]),
            np.concatenate([piece.lower, least]),
            np.concatenate([piece.upper, np.full(len(least), np.inf)]),
        )

    def nearer_arm(self, arm: int, cell: int) -> int:
        """Return an arm that is at least as good as `arm` in all of a cell: the lowest of these.

        In every model of the cell its own arm is. Where the piece orders arms (unimodal ones: along the
        path to the peak), one nearer to `arm` is, too.
        """
        piece, best = self.cells[cell]
        known = differences(self.pieces[piece])
        if known is None:
            return best
        above = known.most_lead[arm] <= 0.0  # by how much `arm` can exceed each other one
        above[arm] = False
        above[best] = True
        candidates = np.flatnonzero(above)
        for each in candidates:
            if all(known.most_lead[each, other] <= 0.0 for other in candidates if other != each):
                return int(each)
        return best


def _pulled(counts: Counts) -> Flags:
    pulled: Flags = (counts.first != 0.0) | (counts.second != 0.0)
    return pulled


def region_of(polytope: Polytope, bottom: float, width: float) -> Region | None:
    """Return a polytope without equations, with a point inside; None if it is empty.

    Rows that hold with equality in the whole polytope are equations, whatever their ends say.
    """
    rows, lower, upper = polytope.rows, polytope.lower, polytope.upper
    size = polytope.dimension
    basis, origin = np.eye(size), np.zeros(size)
    lengths = np.linalg.norm(rows, axis=1)
    kept = lengths > 0.0
    rows, lower, upper = (
        rows[kept] / lengths[kept, None],
        lower[kept] / lengths[kept],
        upper[kept] / lengths[kept],
    )
    fixed = upper - lower <= FLAT
    while True:
        if fixed.any():
            ends = 0.5 * (lower[fixed] + upper[fixed])
            origin = np.linalg.lstsq(rows[fixed], ends, rcond=None)[0]
            if np.abs(rows[fixed] @ origin - ends).max() > 1e3 * FLAT:
                return None
            basis = _null_space(rows[fixed])
        free = ~fixed
        below, above = free & np.isfinite(lower), free & np.isfinite(upper)
        walls = np.vstack([-rows[below], rows[above]])
        ends = np.concatenate([-lower[below], upper[above]])
        walls, ends = walls @ basis, ends - walls @ origin
        places = np.concatenate([np.flatnonzero(below), np.flatnonzero(above)])
        long = np.linalg.norm(walls, axis=1)
        if (ends[long <= FLAT] < -FLAT).any():
            return None
        useful = long > FLAT
        walls, ends, places = (
            walls[useful] / long[useful, None],
            ends[useful] / long[useful],
            places[useful],
        )
        inner = _inner(walls, ends, basis.shape[1])
        if inner is None:
            return None
        place, room = inner
        if room > FLAT or not len(walls):
            break
        tight = _tight(walls, ends)
        if not tight.any():
            return None
        fixed = fixed.copy()
        for number in np.flatnonzero(tight):
            row = places[number]
            at_low = number < below.sum() and np.isclose(
                ends[number], walls[number] @ place, atol=1e-6
            )
            value = lower[row] if at_low and np.isfinite(lower[row]) else upper[row]
            lower, upper = lower.copy(), upper.copy()
            lower[row] = upper[row] = value if np.isfinite(value) else lower[row]
            fixed[row] = True
    slopes = polytope.slopes @ basis / width
    shift = (polytope.intercepts + polytope.slopes @ origin - bottom) / width
    walls, ends = _different(walls, ends)
    return Region(*map(np.ascontiguousarray, (slopes, shift, walls, ends, place)))


def _null_space(rows: Floats) -> Floats:
    """Return an orthonormal basis of what is at right angles to all rows."""
    _, sizes, vectors = np.linalg.svd(rows)
    rank = int((sizes > FLAT * max(1.0, sizes.max(initial=0.0))).sum())
    return vectors[rank:].T


def _inner(walls: Floats, ends: Floats, size: int) -> tuple[Floats, float] | None:
    """Return a point as far as can be from all walls, at most 1; None if there is none inside."""
    if not len(walls):
        return np.zeros(size), 1.0
    if size == 0:
        return (np.zeros(0), 1.0) if (ends >= -FLAT).all() else None
    found = widest(-walls, -ends, np.full(len(ends), np.inf), np.ones(len(ends), np.bool_))
    if found.status != "optimal" or found.value < -FLAT:
        return None
    return found.x[:-1], float(found.value)


def _tight(walls: Floats, ends: Floats) -> Flags:
    """Return the walls that all points touch."""
    nothing = np.full(len(ends), -np.inf)
    rooms = [
        ends[number] + maximise(-walls[number], walls, nothing, ends).value
        for number in range(len(ends))
    ]
    return np.array(rooms) <= 10.0 * FLAT


def _different(walls: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Return walls without those that are parallel to another one and farther away."""
    order = np.argsort(ends, kind="stable")
    _, first = np.unique(np.round(walls[order], 12), axis=0, return_index=True)
    kept = np.sort(order[first])
    return walls[kept], ends[kept]


def polytope_models(structure: Any, rewards: Rewards) -> PolytopeModels:
    """Return the models of a polyhedral structure."""
    pieces = structure.pieces
    cells = structure.cells
    if hasattr(cells, "cells"):
        found = [PieceCell(cell.piece, cell.arm) for cell in cells.cells]
    elif hasattr(cells, "piece"):
        pairs = zip(cells.piece.tolist(), cells.best.tolist(), strict=True)
        found = [PieceCell(piece, arm) for piece, arm in pairs]
    else:  # a product: every piece with every arm that can be best in it
        found = [
            PieceCell(number, arm)
            for number, piece in enumerate(pieces)
            for arm in structure.best_arms
            if region_of_cell(piece, arm)
        ]
    return PolytopeModels(tuple(pieces), found, rewards)


def region_of_cell(piece: Polytope, arm: int) -> bool:
    """Is an arm best in some model of a piece?"""
    others = np.arange(piece.n_arms) != arm
    rows, least = lead_rows(piece, arm, others)
    lower = np.concatenate([piece.lower, least])
    upper = np.concatenate([piece.upper, np.full(len(least), np.inf)])
    found = maximise(np.zeros(piece.dimension), np.vstack([piece.rows, rows]), lower, upper)
    return found.status == "optimal"
