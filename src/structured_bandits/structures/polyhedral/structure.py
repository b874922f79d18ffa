"""Structures that are unions of polytopes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.confidence import Box
from structured_bandits.base.text_tables import number
from structured_bandits.errors import StructureError
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.base import Structure, index_of, warn_if_outside
from structured_bandits.structures.polyhedral.cell import mean_ends
from structured_bandits.structures.polyhedral.cells import PolytopeCells
from structured_bandits.structures.polyhedral.difference_cells import (
    DifferenceCells,
    difference_cells,
)
from structured_bandits.structures.polyhedral.distances import PolyhedralDistances
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.reward_ranges import Range


@dataclass(frozen=True, order=True)
class Place:
    """A model of a polyhedral structure: a piece, by its index, and the parameters in it."""

    piece: int
    parameter: tuple[float, ...]


FEW_PIECES = 1_000  # that can be looked at one by one, again and again


class PolyhedralStructure(Structure):
    """A union of polytopes of models, in each of which the means are affine in the parameters.

    An arm is best in a model if it is strictly better than all others. (If arms are equal in the whole
    piece, the lowest of them stands for all.) Tolerances are absolute, 1e-9, and made for means of the
    size of 1. Policies that need linear programs run on the Python engine; where constraints concern
    only means and differences of two means there is a closed form, which is compiled. `reward_range` is
    the range in which rewards lie, (0, 1) unless given; policies and theory use it unless they are told
    otherwise.

    Facts that were computed about a structure are kept with it (`polytope_cells`, `mean_ranges`). They
    concern its models and never a run, so threads may share a structure; two that ask at the same time
    may compute a fact twice, with the same result.

    >>> square = Polytope([[1, 0], [0, 1]], rows=[[1, 0], [0, 1]], lower=0.0, upper=1.0)
    >>> PolyhedralStructure([square], arms=["left", "right"])
    PolyhedralStructure(1 piece × 2 arms, 2 arms best in some model)
    """

    kind = "polyhedral"

    def __init__(
        self,
        pieces: Sequence[Polytope],
        arms: Sequence[str] | None = None,
        reward_range: Range | None = None,
    ) -> None:
        self.pieces = checked_pieces(pieces)
        cells = difference_cells(self.pieces) or self.polytope_cells
        super().__init__(cells, arms, reward_range=reward_range)
        warn_if_outside(np.round(self.mean_ranges, 9), self.reward_range)  # rounding leaves nothing

    @cached_property
    def polytope_cells(self) -> PolytopeCells:
        """The cells as polytopes: what theory and least squares work with."""
        return PolytopeCells(self.pieces)

    @cached_property
    def mean_ranges(self) -> Floats:
        """The least and the largest mean of each arm (arms × 2)."""
        if isinstance(self.cells, DifferenceCells):
            return np.stack([self.cells.lowest.min(axis=0), self.cells.highest.max(axis=0)], axis=1)
        return mean_ranges(self.pieces)

    @property
    def fitting_cells(self) -> PolytopeCells:
        """The cells that find the best-fitting model."""
        return self.polytope_cells

    @property
    def polytopes(self) -> tuple[Polytope, ...]:
        """The pieces."""
        return self.pieces

    @property
    def piece_count(self) -> int:
        """The number of pieces."""
        return len(self.pieces)

    @property
    def bounds_likelihood(self) -> bool:
        """True if its pieces are few enough to be looked at one by one; else an AttributeError."""
        if self.piece_count > FEW_PIECES and not hasattr(self, "model_groups"):
            raise AttributeError(f"{self.piece_count} pieces are too many")
        return True

    def _facts(self) -> Iterable[Floats]:
        return (part for piece in self.pieces for part in piece.arrays())

    def _first_facts(self) -> Iterator[bytes]:
        for part in self._facts():
            yield str(part.shape).encode()
            yield part.tobytes()

    def at(self, parameter: Any, piece: int | str = 0) -> Place:
        """Return the model with these parameters in a piece, given by index or by name."""
        piece = index_of(piece, tuple(str(each.name) for each in self.pieces), "piece")
        polytope = self.pieces[piece]
        try:
            values = np.array(parameter, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if len(values) != polytope.dimension or not np.isfinite(values).all():
            raise StructureError(
                f"parameter={parameter!r}: {polytope.title} has {polytope.dimension} parameters"
            )
        excess = polytope.excess(values)
        if excess > TOLERANCE:
            raise StructureError(
                f"parameter={parameter!r} violates a constraint of {polytope.title} by {excess:.3g}"
            )
        return Place(piece, tuple(values.tolist()))

    def means(self, model: Any) -> Floats:
        """Return the means of a model: a `Place`, or the parameters if there is one piece."""
        if not isinstance(model, Place):
            if len(self.pieces) > 1:
                raise StructureError(
                    f"model={model!r}: there are {len(self.pieces)} pieces; say which by "
                    "structure.at(parameter, piece)"
                )
            model = self.at(model)
        place = self.at(model.parameter, model.piece)
        return self.pieces[place.piece].means(place.parameter)

    def distances(self, means: Floats, tolerance: float) -> PolyhedralDistances:
        """Return how far the models are from the true `means`, for theory."""
        return PolyhedralDistances(self.polytope_cells, means, tolerance, Place)

    def models_in(self, box: Box) -> tuple[Any, ...]:
        """Return the names of the pieces that meet an open box of means.

        A piece meets it where one of its cells does: ties of arms fill no open part of a piece, unless
        they hold in all of it.
        """
        cells: Any = self.cells
        notes = cells.fresh_notes()
        met: dict[int, str] = {}
        fits = False
        for cell, piece in enumerate(self._piece_of_cells()):
            fits = cells.fits(cell, box, fits, notes)
            if fits:
                met[piece] = str(self.pieces[piece].name)
        return tuple(met.values())

    def _piece_of_cells(self) -> list[int]:
        """Return the index of the piece of each cell."""
        if isinstance(self.cells, DifferenceCells):
            pieces: list[int] = self.cells.piece.tolist()
            return pieces
        return [cell.piece for cell in self.polytope_cells.cells]

    def model_name(self, model: Place) -> str:
        """Return the piece, if there are several, and the parameters of a model."""
        shown = ", ".join(number(value) for value in model.parameter)
        piece = self.pieces[model.piece]
        if len(self.pieces) == 1:
            return f"({shown})"
        return f"{piece.name} ({shown})" if shown else str(piece.name)

    def __repr__(self) -> str:
        count = len(self.pieces)
        return (
            f"PolyhedralStructure({count} piece{'s' if count > 1 else ''} × {self.n_arms} arms, "
            f"{len(self.best_arms)} arms best in some model{self._rewards_in_words()})"
        )

    def _table(self, limit: int) -> tuple[list[str], list[list[tuple[str, bool]]], int]:
        shown = self.pieces[:limit]
        rows = [
            [
                (str(piece.name), False),
                (str(piece.dimension), False),
                (str(len(piece.rows)), False),
            ]
            for piece in shown
        ]
        return ["piece", "parameters", "constraints"], rows, len(self.pieces) - len(shown)


def mean_ranges(pieces: Sequence[Polytope]) -> Floats:
    """Return the least and the largest mean of each arm in all pieces (arms × 2)."""
    ends = np.array([mean_ends(piece) for piece in pieces])
    return np.stack([ends[:, :, 0].min(axis=0), ends[:, :, 1].max(axis=0)], axis=1)


def checked_pieces(pieces: Sequence[Polytope]) -> tuple[Polytope, ...]:
    """Return pieces with the same number of arms and names; those without a name are numbered."""
    if isinstance(pieces, Polytope):
        raise StructureError("pieces: expected a list of polytopes, got a single Polytope")
    pieces = tuple(pieces)
    if not pieces:
        raise StructureError("pieces: none given; a structure needs at least one")
    for place, piece in enumerate(pieces):
        if not isinstance(piece, Polytope):
            raise StructureError(f"pieces[{place}]={piece!r}: expected a Polytope")
        if piece.n_arms != pieces[0].n_arms:
            raise StructureError(
                f"pieces[{place}] has {piece.n_arms} arms, pieces[0] has {pieces[0].n_arms}"
            )
    return tuple(
        piece.renamed(str(place)) if piece.name is None else piece
        for place, piece in enumerate(pieces)
    )
