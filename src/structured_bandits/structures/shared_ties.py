"""Ties of SUCB that the structure makes itself: of the arms that tie, the least pulled is played.

Where a structure says what the best mean is but not whose it is, all arms are equally optimistic until
their own rewards refute it. Played in their order, arms would be favoured by their numbers. So
polytopes know their best mean if it is the same in all their models (docs/notes/mathematics.md 2.4).
Tables and curves keep the rule of the paper's errata, the lowest arm (docs/notes/errata.md, I-29).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.base.confidence import Box
from structured_bandits.structures.polyhedral.cells import PolytopeCells
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells
from structured_bandits.structures.polyhedral.product import ProductCells


def of_spans(cells: Any, arm: int, pulls: Ints, box: Box, notes: Any) -> int:
    """By the spans of the cells: all that fit have the known best mean."""
    if cells.best_mean == -math.inf:
        return arm
    choice = arm
    fits = False
    for cell in range(len(cells.best)):
        fits = cells.fits(cell, box, fits, notes)
        if fits:
            lowest, highest = cells.span(cell, box, notes)
            other = int(cells.best[cell])
            if lowest <= highest and (pulls[other], other) < (pulls[choice], choice):
                choice = other
    return choice


def of_polytopes(cells: PolytopeCells, arm: int, pulls: Ints, box: Box, notes: Any) -> int:
    """By linear programs: the cells are asked, the least pulled first, whether they fit."""
    if cells.best_mean == -math.inf:
        return arm
    for cell in np.lexsort((cells.best, pulls[cells.best])):
        if cells.fits(int(cell), box, False, notes):
            return int(cells.best[cell])
    return arm


def knows_best_mean(cells: Any, mean: float) -> bool:
    """Is this the best mean of all models?"""
    return abs(getattr(cells, "best_mean", -math.inf) - mean) <= getattr(cells, "tie", 0.0)


def as_chosen(cells: Any, arm: int, pulls: Ints, box: Box, notes: Any) -> int:
    """By the order of the arms, as `choose` has it."""
    return arm


#: `least_pulled_tie(cells, arm, pulls, box, notes)`: the arm to play if `arm` is the optimistic one.
least_pulled_tie = chosen_by_class(
    {DifferenceCells: of_spans, ProductCells: of_spans, PolytopeCells: of_polytopes}, as_chosen
)


def tie_by_notes(cells: Any, arm: int, pulls: Ints, box: Box, work: Any) -> int:
    """By what the cells have noted of the models."""
    return least_pulled_tie(cells, arm, pulls, box, work.notes)


#: The same after `choose`, with the memory that was asked with.
tie_in_play = chosen_by_class(
    {DifferenceCells: tie_by_notes, ProductCells: tie_by_notes, PolytopeCells: tie_by_notes},
    as_chosen,
)
