"""Structures given by a table of models that is known up to margins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import numbers
from structured_bandits.base.confidence import Box
from structured_bandits.base.text_tables import number
from structured_bandits.errors import StructureError
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.base import Structure, index_of, warn_if_outside
from structured_bandits.structures.boxes.cells import BoxCells
from structured_bandits.structures.boxes.distances import BoxDistances
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.finite.distances import FiniteDistances
from structured_bandits.structures.finite.structure import table_of
from structured_bandits.structures.model_fit import ModelFit, squares_of
from structured_bandits.structures.polyhedral.polytope import Polytope, means_with, point
from structured_bandits.structures.polyhedral.structure import Place
from structured_bandits.structures.questions import Distances, ModelBoxes
from structured_bandits.structures.reward_ranges import Range


class BoxStructure(Structure):
    """Models whose means are known up to margins: each is a closed box around a row of a table.

    `sb.around` makes it and says what the arguments are. An arm is best in a vector of means if it is
    strictly better than all others. (If arms are equal in the whole box, the lowest of them stands for
    all.) So a box without margins is a model of a `FiniteStructure`, and one with margins a piece of a
    `PolyhedralStructure`. `rows` holds the table around which the boxes are.
    """

    kind = "boxes"
    cells: BoxCells

    def __init__(
        self,
        table: Any,
        margins: Any,
        low: float | None = None,
        high: float | None = None,
        arms: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        reward_range: Range | None = None,
    ) -> None:
        known = table_of(table, arms, models, reward_range)
        self.rows = known.cells.table
        self.model_names = known.model_names
        bottom, top = known.range_of_rewards
        ends = bottom if low is None else low, top if high is None else high
        cells = BoxCells(*box_ends(self.rows, margins, *ends))
        super().__init__(cells, known.arm_names, reward_range=known.reward_range)
        if self.rows.min() >= bottom and self.rows.max() <= top:  # else the table has warned
            warn_if_outside(self.mean_ranges, self.reward_range)

    @property
    def n_models(self) -> int:
        """The number of boxes."""
        return len(self.rows)

    @property
    def has_margins(self) -> bool:
        """Is there a mean that is not known exactly?"""
        return bool((self.cells.most > self.cells.least).any())

    @property
    def mean_ranges(self) -> Floats:
        """The least and the largest mean of each arm (arms × 2)."""
        return np.stack([self.cells.least.min(axis=0), self.cells.most.max(axis=0)], axis=1)

    @cached_property
    def fitting_cells(self) -> BoxCells | ModelFit:
        """The cells that find the best-fitting model: without margins those of the table."""
        return self.cells if self.has_margins else squares_of(self.rows, self.cells.best)

    @property
    def model_groups(self) -> tuple[ModelBoxes]:
        """The boxes."""
        return (ModelBoxes(self.cells.least, self.cells.most),)

    @cached_property
    def polytopes(self) -> tuple[Polytope, ...]:
        """Each box as a polytope of means, without parameters where all means are known."""
        return tuple(
            means_with(least, most, name=name) if (most > least).any() else point(least, name)
            for least, most, name in zip(*self.cells[:2], self.model_names, strict=True)
        )

    def _facts(self) -> Iterable[Any]:
        return self.cells.least, self.cells.most

    def at(self, parameter: Any, piece: int | str = 0) -> Place:
        """Return the model with these means in the box of a row, given by index or by name."""
        model = index_of(piece, self.model_names, "piece")
        try:
            means = np.array(parameter, dtype=np.float64)
        except (TypeError, ValueError):
            means = np.array([np.nan])
        if means.shape != (self.n_arms,) or not np.isfinite(means).all():
            raise StructureError(f"parameter={parameter!r}: expected {self.n_arms} finite means")
        away = np.maximum(self.cells.least[model] - means, means - self.cells.most[model])
        if away.max() > TOLERANCE:
            arm = int(away.argmax())
            raise StructureError(
                f"parameter={parameter!r}: the mean of arm {self.arm_names[arm]!r} leaves the box of "
                f"{self.model_names[model]!r}, {self.cells.least[model, arm]:g} to "
                f"{self.cells.most[model, arm]:g}"
            )
        return Place(model, tuple(means.tolist()))

    def means(self, model: int | str | Place) -> Floats:
        """Return the row of a model, given by index (int) or by name (str), or the means of a place."""
        if isinstance(model, Place):
            return np.array(self.at(model.parameter, model.piece).parameter)
        return self.rows[index_of(model, self.model_names, "model")].copy()

    def distances(self, means: Floats, tolerance: float) -> Distances:
        """Return how far the models are from the true `means`, for theory."""
        if not self.has_margins:
            return FiniteDistances(FiniteCells(self.rows), means, tolerance)
        return BoxDistances(self.cells, means, tolerance, self.polytopes, Place)

    def models_in(self, box: Box) -> tuple[str, ...]:
        """Return the names of the models with means inside an open box."""
        least, most = self.cells.least, self.cells.most
        met = np.all((box.low < most) & (least < box.high), axis=1)
        return tuple(self.model_names[model] for model in np.flatnonzero(met).tolist())

    def model_name(self, model: int | str | Place) -> str:
        """Return the name of a row, and the means if they are others than its own."""
        if not isinstance(model, Place):
            return self.model_names[index_of(model, self.model_names, "model")]
        name = self.model_names[model.piece]
        if np.array_equal(model.parameter, self.rows[model.piece]):
            return name
        return f"{name} ({', '.join(number(mean) for mean in model.parameter)})"

    def __repr__(self) -> str:
        widest = number(float((self.cells.most - self.cells.least).max()) / 2.0, digits=3)
        return (
            f"BoxStructure({self.n_models} models × {self.n_arms} arms, margins up to {widest}, "
            f"{len(self.best_arms)} arms best in some model)"
        )

    def _table(self, limit: int) -> tuple[list[str], list[list[tuple[str, bool]]], int]:
        least, most, model, best = (
            self.cells.least,
            self.cells.most,
            self.cells.model,
            self.cells.best,
        )
        shown = min(limit, self.n_models)
        bold = np.zeros(least.shape, np.bool_)
        bold[model, best] = True
        rows = [
            [(self.model_names[row], False)]
            + [
                (_interval(least[row, arm], most[row, arm]), bool(bold[row, arm]))
                for arm in range(self.n_arms)
            ]
            for row in range(shown)
        ]
        return ["model", *self.arm_names], rows, self.n_models - shown


def _interval(least: float, most: float) -> str:
    return number(least) if least == most else f"{number(least)} – {number(most)}"


DECIMALS = 12  # that ends keep, so that 0.7 - 0.2 is 0.5 and arms that can only tie do only tie


def box_ends(table: Floats, margins: Any, low: float, high: float) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of boxes of half-width `margins`, cut to [low, high].

    A box never loses its row: where a mean of the table is outside the range, the box ends at it.
    """
    half = checked_margins(margins, table.shape)
    least, most = checked_range(low, high)
    below = np.clip(np.round(table - half, DECIMALS), least, most)
    above = np.clip(np.round(table + half, DECIMALS), least, most)
    known = half == 0.0
    return (
        np.where(known, table, np.minimum(below, table)),
        np.where(known, table, np.maximum(above, table)),
    )


def checked_margins(margins: Any, shape: tuple[int, ...]) -> Floats:
    """Return a margin for each mean of a table: from a number, a row (arms) or a table."""
    models, arms = shape
    frame = hasattr(margins, "columns") and hasattr(margins, "to_numpy")
    half = numbers(margins.to_numpy() if frame else margins)
    if half is None or half.shape not in ((), (arms,), (models, arms)):
        raise StructureError(
            f"margins={margins!r}: expected a number, one for each of the {arms} arms, or a table of "
            f"{models} models × {arms} arms"
        )
    if not (np.isfinite(half) & (half >= 0.0)).all():
        wrong = half[~(np.isfinite(half) & (half >= 0.0))][0]
        raise StructureError(f"margins: {wrong:g} is among them; expected finite numbers >= 0")
    return np.broadcast_to(half, shape)


def checked_range(low: Any, high: Any) -> tuple[float, float]:
    """Return the range that means are cut to; either end may be infinite."""
    ends = numbers([low, high])
    if ends is None or ends.shape != (2,) or not ends[0] < ends[1]:
        raise StructureError(f"low={low!r}, high={high!r}: expected numbers low < high")
    return float(ends[0]), float(ends[1])
