"""Lookahead on the cells of structures: one file for each kind of cells (`base` has the contract)."""

from __future__ import annotations

from structured_bandits.lookahead.cells import base, boxes, curves, finite, polytopes, ranked, spans
from structured_bandits.lookahead.cells.base import (
    CellsLookahead,
    one_competitive_pull,
    register_cells,
)
from structured_bandits.structures.boxes.cells import BoxCells
from structured_bandits.structures.curves.cells import IntervalCells
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.polyhedral.cells import PolytopeCells
from structured_bandits.structures.polyhedral.product import ProductCells
from structured_bandits.structures.spans import SpanCells

__all__ = ["CellsLookahead", "register_cells"]


def functions_of(module: object, otherwise: CellsLookahead = base.NONE) -> CellsLookahead:
    """Return the functions that a module holds by their names, and others where it has none."""
    return CellsLookahead(
        *(getattr(module, name, getattr(otherwise, name)) for name in CellsLookahead._fields)
    )


OF_SPANS = functions_of(spans)
register_cells(SpanCells, OF_SPANS)
register_cells(FiniteCells, functions_of(finite))
register_cells(ranked.RankedCells, functions_of(ranked))
register_cells(IntervalCells, functions_of(curves, OF_SPANS))
register_cells(BoxCells, functions_of(boxes, OF_SPANS))
register_cells(PolytopeCells, functions_of(polytopes, OF_SPANS))
# Where groups tie exactly, an arm can be best in a box and not in a larger one: nothing is certain.
register_cells(ProductCells, OF_SPANS._replace(competitive_length=one_competitive_pull))
