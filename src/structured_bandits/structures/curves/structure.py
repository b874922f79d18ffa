"""Structures whose models are the points of a line, with means that are linear in pieces.

A piece is cut where its best arm changes: at the vertices of the upper envelope of the arms' lines.
Floats are exact fractions, so the walk along the envelope is done in fractions: no vertex is missed,
invented or given to the wrong arm. Only the results are rounded, each once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.checks import checked_weights
from structured_bandits.base.confidence import Box
from structured_bandits.base.text_tables import number
from structured_bandits.errors import StructureError
from structured_bandits.structures.base import Structure, bytes_of, checked_means, warn_if_outside
from structured_bandits.structures.curves.cells import (
    TIE,
    IntervalCells,
    between,
    surviving_part,
)
from structured_bandits.structures.curves.distances import CurveDistances
from structured_bandits.structures.polyhedral.polytope import Polytope, point, segment
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Range

Closed = Literal["left", "right", "both", "neither"]


@dataclass(frozen=True)
class Piece:
    """Parameters from `start` to `end` on which every mean is a straight line.

    The means go from `at_start` to `at_end`; `closed` says which ends belong to the piece. A piece
    with start == end is a single model.
    """

    start: float
    end: float
    at_start: Sequence[float]
    at_end: Sequence[float]
    closed: Closed = "left"

    @property
    def is_point(self) -> bool:
        """Is this piece a single model?"""
        return self.start == self.end

    @property
    def owns_start(self) -> bool:
        """Does the parameter `start` belong to the piece?"""
        return self.is_point or self.closed in ("left", "both")

    @property
    def owns_end(self) -> bool:
        """Does the parameter `end` belong to the piece?"""
        return self.is_point or self.closed in ("right", "both")

    def holds(self, parameter: float) -> bool:
        """Is `parameter` in the piece?"""
        return (
            self.start < parameter < self.end
            or (parameter == self.start and self.owns_start)
            or (parameter == self.end and self.owns_end)
        )


class CurveStructure(Structure):
    """Models indexed by a number, with means that are linear on each piece; exact, without a grid.

    There may be gaps between pieces, but pieces must not overlap. An arm counts as best only where it is
    strictly best, so at a border, where two arms tie, none of them is. `prior` are positive weights, one
    for each piece in the order given, and `reward_range` is the range in which rewards lie, (0, 1)
    unless given; policies and theory use both unless they are told otherwise. The structure keeps pieces
    and weights in the order of the parameter.

    >>> demand = CurveStructure([Piece(0, 1, [0.9, 0.5], [0.1, 0.5], closed="both")])
    >>> demand.means(0.25)
    array([0.7, 0.5])
    >>> demand
    CurveStructure(1 piece, 2 cells, 2 arms, 2 arms best in some model)
    """

    kind = "curves"
    cells: IntervalCells

    def __init__(
        self,
        pieces: Sequence[Piece],
        arms: Sequence[str] | None = None,
        prior: Any = None,
        reward_range: Range | None = None,
    ) -> None:
        self.pieces, order = _checked(pieces)
        cells, self._owns_start, self._piece_of = _cells(self.pieces)
        weights = None if prior is None else checked_weights(prior, len(order), "piece")[order]
        super().__init__(cells, arms, None if weights is None else weights.tolist(), reward_range)
        ends = np.array([[p.at_start, p.at_end] for p in self.pieces])
        warn_if_outside(ends, self.reward_range)

    def _facts(self) -> Iterable[Any]:
        return (
            part
            for piece in self.pieces
            for part in (
                [piece.start, piece.end, piece.owns_start, piece.owns_end],
                piece.at_start,
                piece.at_end,
            )
        )

    def _first_facts(self) -> Iterable[bytes]:
        cells = self.cells
        ends = cells.start, cells.end, cells.owns_end, cells.at_start, cells.at_end
        return bytes_of([*ends, cells.best, cells.tie, cells.least, cells.most])

    def means(self, model: float) -> Floats:
        """Return the means at a value of the parameter."""
        piece = self._piece(model)
        start, end = Fraction(piece.start), Fraction(piece.end)
        x = Fraction(0) if piece.is_point else (Fraction(float(model)) - start) / (end - start)
        return np.array([float(mean) for mean in _means_at(piece, x)])

    def distances(self, means: Floats, tolerance: float) -> CurveDistances:
        """Return how far the models are from the true `means`, for theory."""
        return CurveDistances(self.cells, self._owns_start, means, tolerance)

    @property
    def mean_ranges(self) -> Floats:
        """The least and the largest mean of each arm (arms × 2)."""
        return np.stack([self.cells.least.min(axis=0), self.cells.most.max(axis=0)], axis=1)

    @property
    def polytopes(self) -> tuple[Polytope, ...]:
        """Each piece as a polytope with one parameter from 0 to 1, its ends included."""
        return tuple(
            point(piece.at_start, _interval(piece))
            if piece.is_point
            else segment(piece.at_start, piece.at_end, _interval(piece))
            for piece in self.pieces
        )

    @property
    def model_lines(self) -> tuple[ModelLines]:
        """Each cell as a line; lengths are those of the parameter."""
        cells = self.cells
        length = cells.end - cells.start
        return (ModelLines(cells.at_start, cells.at_end, cells.best, self._piece_of, length),)

    def models_in(self, box: Box) -> tuple[tuple[float, float], ...]:
        """Return the intervals of the parameter that are inside an open box of means.

        The answer does not say whether an end belongs to its interval. Intervals that touch are joined.
        """
        cells = self.cells
        found: list[tuple[float, float]] = []
        for cell in range(len(cells.best)):
            left, right = surviving_part(cells.at_start[cell], cells.at_end[cell], box)
            if left > right:
                continue
            ends = cells.start[cell], cells.end[cell]
            start, end = (float(between(*ends, position)) for position in (left, right))
            if found and found[-1][1] == start:
                start, _ = found.pop()
            found.append((start, end))
        return tuple(found)

    def model_name(self, model: float) -> str:
        """Return the parameter as text."""
        return number(model, 6)

    def listed_models(self) -> tuple[Sequence[Any], str]:
        """Return the middle of each cell: an interval of the parameter on which one arm is best."""
        middles = 0.5 * (self.cells.start + self.cells.end)
        choice = (
            "the middle of each interval of the parameter on which one arm is best; near the ends of an "
            "interval it can be harder"
        )
        return middles.tolist(), choice

    def _piece(self, parameter: float) -> Piece:
        number = isinstance(parameter, (int, float, np.number)) and not isinstance(parameter, bool)
        if not number or not math.isfinite(parameter):
            raise StructureError(f"model={parameter!r}: give a number, the value of the parameter")
        for piece in self.pieces:
            if piece.holds(parameter):
                return piece
        ranges = ", ".join(_interval(piece) for piece in self.pieces)
        raise StructureError(f"model={parameter!r} is in no piece; the pieces are {ranges}")

    def __repr__(self) -> str:
        pieces = len(self.pieces)
        return (
            f"CurveStructure({pieces} piece{'s' if pieces > 1 else ''}, "
            f"{len(self.cells.best)} cells, {self.n_arms} arms, "
            f"{len(self.best_arms)} arms best in some model{self._rewards_in_words()})"
        )

    def _table(self, limit: int) -> tuple[list[str], list[list[tuple[str, bool]]], int]:
        cells = self.cells
        rows = [
            [(f"{number(cells.start[cell])} to {number(cells.end[cell])}", False)]
            + [
                (f"{number(first)} → {number(last)}", arm == cells.best[cell])
                for arm, (first, last) in enumerate(
                    zip(cells.at_start[cell], cells.at_end[cell], strict=True)
                )
            ]
            for cell in range(min(limit, len(cells.best)))
        ]
        return ["parameter", *self.arm_names], rows, max(0, len(cells.best) - limit)


def _interval(piece: Piece) -> str:
    return (
        f"{'[' if piece.owns_start else '('}{piece.start:g}, {piece.end:g}"
        f"{']' if piece.owns_end else ')'}"
    )


def _checked(pieces: Sequence[Piece]) -> tuple[tuple[Piece, ...], list[int]]:
    """Return the pieces in order of their parameter, with plain tuples of floats as means.

    Also where in the list that was given each of them was.
    """
    if isinstance(pieces, Piece):
        raise StructureError("pieces: expected a list of pieces, got a single Piece")
    if not pieces:
        raise StructureError("pieces: none given; a structure needs at least one")
    checked = [_checked_piece(piece, number) for number, piece in enumerate(pieces)]
    order = sorted(range(len(checked)), key=lambda at: (checked[at].start, checked[at].end))
    clean = [checked[place] for place in order]
    for left, right in pairwise(clean):
        touching = left.end == right.start and left.owns_end and right.owns_start
        if left.end > right.start or touching:
            raise StructureError(
                f"pieces: {_interval(left)} and {_interval(right)} overlap; "
                "each parameter may belong to one piece only"
            )
    widths = {len(piece.at_start) for piece in clean}
    if len(widths) > 1:
        raise StructureError(f"pieces: they have {sorted(widths)} arms; all need the same number")
    return tuple(clean), order


def _checked_piece(piece: Any, number: int) -> Piece:
    name = f"pieces[{number}]"
    if not isinstance(piece, Piece):
        raise StructureError(f"{name}: expected a Piece, got {type(piece).__name__}")
    ends = checked_means([piece.start, piece.end], f"{name}.start and .end")
    first = checked_means(piece.at_start, f"{name}.at_start")
    last = checked_means(piece.at_end, f"{name}.at_end")
    if ends[0] > ends[1]:
        raise StructureError(f"{name}: start={piece.start} is above end={piece.end}")
    if first.ndim != 1 or first.shape != last.shape or not len(first):
        raise StructureError(
            f"{name}: at_start and at_end have shapes {first.shape} and {last.shape}; "
            "expected one mean per arm in both"
        )
    if ends[0] == ends[1] and not np.array_equal(first, last):
        raise StructureError(f"{name}: a single point has one vector of means, at_start != at_end")
    if piece.closed not in ("left", "right", "both", "neither"):
        raise StructureError(
            f"{name}: closed={piece.closed!r}; accepted are 'left', 'right', 'both', 'neither'"
        )
    return Piece(
        float(ends[0]), float(ends[1]), tuple(first.tolist()), tuple(last.tolist()), piece.closed
    )


def _means_at(piece: Piece, x: Fraction) -> list[Fraction]:
    first = [Fraction(mean) for mean in piece.at_start]
    last = [Fraction(mean) for mean in piece.at_end]
    return [a + x * (b - a) for a, b in zip(first, last, strict=True)]


def _cells(pieces: tuple[Piece, ...]) -> tuple[IntervalCells, Flags, Ints]:
    """Cut every piece where its best arm changes; a border is computed once for both sides.

    Returns the cells, which of them own their start (the first cell of a piece that does), and the
    number of each one's piece.
    """
    piece_of: list[int] = []
    start, end, owns_start, owns_end, at_start, at_end, best = [], [], [], [], [], [], []
    for place, piece in enumerate(pieces):
        parts = envelope(_means_at(piece, Fraction(0)), _means_at(piece, Fraction(1)))
        cuts = [position for position, _ in parts] + [Fraction(1)]
        width = Fraction(piece.end) - Fraction(piece.start)
        places = [float(Fraction(piece.start) + cut * width) for cut in cuts]
        means = [[float(mean) for mean in _means_at(piece, cut)] for cut in cuts]
        kept = [part for part in range(len(parts)) if places[part] < places[part + 1]] or [0]
        piece_of += [place] * len(kept)
        for part in kept:  # not those that are so short that floats see no length
            arm = parts[part][1]
            start.append(places[part])
            end.append(places[part + 1])
            owns_start.append(part == kept[0] and piece.owns_start)
            owns_end.append(part == kept[-1] and piece.owns_end)
            at_start.append(means[part])
            at_end.append(means[part + 1])
            best.append(arm)
    cells = IntervalCells(
        np.array(start),
        np.array(end),
        np.array(owns_end, dtype=np.bool_),
        np.array(at_start),
        np.array(at_end),
        np.array(best, dtype=np.int64),
        TIE * float(np.abs([at_start, at_end]).max()),
        np.minimum(at_start, at_end),
        np.maximum(at_start, at_end),
    )
    return cells, np.array(owns_start, dtype=np.bool_), np.array(piece_of)


def envelope(first: Sequence[Fraction], last: Sequence[Fraction]) -> list[tuple[Fraction, int]]:
    """Return (position where it begins to be best, arm) along the lines from `first` to `last`.

    Positions run from 0 to 1 and each arm returned is strictly best right after its position, the
    lowest index standing for lines that coincide. Isolated ties never make an arm best.
    """
    rises = [end - start for start, end in zip(first, last, strict=True)]
    position = Fraction(0)
    arm = max(range(len(first)), key=lambda i: (first[i], rises[i], -i))
    parts = [(position, arm)]
    while True:
        crossings = [
            ((first[arm] - first[i]) / (rises[i] - rises[arm]), -rises[i], i)
            for i in range(len(first))
            if rises[i] > rises[arm]
        ]
        if not crossings or min(crossings)[0] >= 1:
            return parts
        position, _, arm = min(crossings)
        parts.append((position, arm))
