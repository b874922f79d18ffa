"""Ties of SUCB that the structure makes itself: of the arms that tie, the least pulled is played.

Where a structure says what the best mean is but not whose it is, all arms are equally optimistic until
their own rewards refute it. Played in their order, arms would be favoured by their numbers. So polytopes
know the cells in which the best mean is `fixed` (docs/mathematics.md 2.4). Tables and curves keep the
rule of the paper's errata, the lowest arm (docs/errata.md, I-29).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.compilable import chosen_by_class
from structured_bandits.planning.confidence import Box
from structured_bandits.structures.polyhedral.cells import PolytopeCells
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells
from structured_bandits.structures.polyhedral.product import ProductCells


def of_spans(cells: Any, arm: int, pulls: Ints, box: Box, work: Any) -> int:
    """By the spans of the cells, in two rounds: the value of `arm`, then those that have it too."""
    known = False
    for mean in cells.fixed:
        known = known or mean > -math.inf
    if not known:
        return arm
    top = -math.inf
    fits = False
    for cell in range(len(cells.best)):
        fits = cells.fits(cell, box, fits, work.notes)
        if fits and cells.best[cell] == arm:
            lowest, highest = cells.span(cell, box, work.notes)
            if lowest <= highest:
                top = max(top, highest)
    choice = -1
    own = False
    fits = False
    for cell in range(len(cells.best)):
        fits = cells.fits(cell, box, fits, work.notes)
        if fits and abs(cells.fixed[cell] - top) <= cells.tie:
            lowest, highest = cells.span(cell, box, work.notes)
            if lowest <= highest:
                other = int(cells.best[cell])
                own = own or other == arm
                if choice < 0 or (pulls[other], other) < (pulls[choice], choice):
                    choice = other
    return choice if own else arm


def of_polytopes(cells: PolytopeCells, arm: int, pulls: Ints, box: Box, work: Any) -> int:
    """By the cell of the choice; the others are asked, the least pulled first, whether they fit."""
    mean = cells.fixed[work.notes.chosen]
    if mean == -math.inf:
        return arm
    tied = np.flatnonzero(np.abs(cells.fixed - mean) <= cells.tie)
    for cell in sorted(tied, key=lambda each: (pulls[cells.best[each]], cells.best[each])):
        if cells.fits(int(cell), box, False, work.notes):
            return int(cells.best[cell])
    return arm


def fixes_mean(cells: Any, mean: float) -> bool:
    """Is there a cell in which the best mean is fixed at this value?"""
    fixed = getattr(cells, "fixed", None)
    return fixed is not None and bool((np.abs(fixed - mean) <= cells.tie).any())


def as_chosen(cells: Any, arm: int, pulls: Ints, box: Box, work: Any) -> int:
    """By the order of the arms, as `choose` has it."""
    return arm


#: `least_pulled_tie(cells, arm, pulls, box, work)`: the arm to play if `choose` has just returned `arm`.
least_pulled_tie = chosen_by_class(
    {DifferenceCells: of_spans, ProductCells: of_spans, PolytopeCells: of_polytopes}, as_chosen
)
