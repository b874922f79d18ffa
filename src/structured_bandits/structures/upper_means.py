"""The highest mean of each arm over the models inside a box, whichever arm is best in them.

Suprema: they may lie on the border of the box or at an open end of a piece. What is asked here does not
concern a policy's plan but what to do if arms are missing, so it is plain Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Flags, Floats
from structured_bandits.base.confidence import Box
from structured_bandits.errors import StructureError
from structured_bandits.solvers.linear import TOLERANCE, maximise
from structured_bandits.structures.boxes.cells import BoxCells
from structured_bandits.structures.polyhedral.cell import widest
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.questions import ModelLines


def highest_means(structure: Any, box: Box, wanted: Flags) -> Floats | None:
    """Return the highest mean of each wanted arm inside the open box (infinite for the others).

    None if no model is inside.
    """
    groups = getattr(structure, "groups", (structure,))  # of a product
    found, start = [], 0
    for group in groups:
        part = slice(start, start + group.n_arms)
        start += group.n_arms
        highest = _of_group(group, Box(box.low[part], box.high[part]), wanted[part])
        if highest is None:
            return None
        found.append(highest)
    return np.concatenate(found)


def _of_group(structure: Any, box: Box, wanted: Flags) -> Floats | None:
    if hasattr(structure, "groups"):
        return highest_means(structure, box, wanted)
    if hasattr(structure, "model_lines"):
        (lines,) = structure.model_lines
        return highest_on_lines(lines, box)
    if isinstance(structure.cells, DifferenceCells):
        return highest_by_differences(structure.cells, box)
    if isinstance(structure.cells, BoxCells):
        return highest_in_boxes(structure.cells, box)
    try:
        pieces = structure.polytopes
    except StructureError:
        return np.full(len(wanted), math.inf)  # a kind of structure that cannot tell
    return highest_in_polytopes(pieces, box, wanted)


def highest_on_lines(lines: ModelLines, box: Box) -> Floats | None:
    """Return the highest means over the parts of straight lines of models that are inside."""
    first, last = lines.first, lines.last
    inside = (box.low < first) & (first < box.high)
    if first is last:  # single models
        models = first[inside.all(axis=1)]
        return models.max(axis=0) if len(models) else None
    rise = last - first
    flat = rise == 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        at_ends = (box.low - first) / rise, (box.high - first) / rise
    left = np.where(flat, 0.0, np.minimum(*at_ends)).max(axis=1).clip(min=0.0)
    right = np.where(flat, 1.0, np.maximum(*at_ends)).min(axis=1).clip(max=1.0)
    alive = (inside | ~flat).all(axis=1) & (left < right)
    if not alive.any():
        return None
    one = first[alive] + left[alive, None] * rise[alive]
    two = np.where(
        right[alive, None] == 1.0, last[alive], first[alive] + right[alive, None] * rise[alive]
    )
    highest: Floats = np.maximum(one, two).max(axis=0)
    return highest


def highest_by_differences(cells: DifferenceCells, box: Box) -> Floats | None:
    """Return the highest means where only means and their differences are bounded.

    In a piece the limits of all arms are attained together (docs/notes/lookahead.md 11.4).
    """
    reached = (box.high + cells.reach).min(axis=2)  # pieces x arms: by way of any arm
    fits = (reached > box.low) & (box.low < cells.highest) & (box.high > cells.lowest)
    highest = np.minimum(reached, cells.highest)[fits.all(axis=1)]
    return highest.max(axis=0) if len(highest) else None


def highest_in_boxes(cells: BoxCells, box: Box) -> Floats | None:
    """Return the highest means over boxes of models, in which every mean is free between its ends."""
    meets = (cells.most > box.low) & (cells.least < box.high) & (box.low < box.high)
    highest = np.minimum(cells.most, box.high)[meets.all(axis=1)]
    return highest.max(axis=0) if len(highest) else None


def highest_in_polytopes(pieces: Sequence[Polytope], box: Box, wanted: Flags) -> Floats | None:
    """Return the highest means of the wanted arms over polytopes: a linear program for each."""
    met = [piece for piece in pieces if _meets(piece, box)]
    highest = np.where(wanted, -math.inf, math.inf)
    for piece in met:
        rows = np.vstack([piece.rows, piece.slopes])
        lower = np.concatenate([piece.lower, box.low - piece.intercepts])
        upper = np.concatenate([piece.upper, box.high - piece.intercepts])
        for arm in np.flatnonzero(wanted):
            above = maximise(piece.slopes[arm], rows, lower, upper).value if piece.dimension else 0
            highest[arm] = max(highest[arm], piece.intercepts[arm] + above)
    return highest if met else None


def _meets(piece: Polytope, box: Box) -> bool:
    """Does a polytope meet the open box, by more than the tolerance?"""
    low, high = np.isfinite(box.low), np.isfinite(box.high)
    rows = np.vstack([piece.rows, piece.slopes[low], -piece.slopes[high]])
    ends = (box.low - piece.intercepts)[low], (piece.intercepts - box.high)[high]
    lower = np.concatenate([piece.lower, *ends])
    upper = np.concatenate([piece.upper, np.full(len(rows) - len(piece.upper), np.inf)])
    strict = np.arange(len(rows)) >= len(piece.rows)
    return bool(not strict.any() or widest(rows, lower, upper, strict).value > TOLERANCE)
