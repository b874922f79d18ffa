"""Structures given by a table of models."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import checked_weights
from structured_bandits.base.confidence import Box
from structured_bandits.base.text_tables import number
from structured_bandits.errors import StructureError
from structured_bandits.structures.base import (
    Numbered,
    Structure,
    bytes_of,
    checked_means,
    checked_names,
    index_of,
    warn_if_outside,
)
from structured_bandits.structures.files.csv import read_table
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.finite.distances import FiniteDistances
from structured_bandits.structures.model_fit import ModelFit, squares_of
from structured_bandits.structures.polyhedral.polytope import Polytope, point
from structured_bandits.structures.questions import ModelLines
from structured_bandits.structures.reward_ranges import Range

if TYPE_CHECKING:
    import pandas


class FiniteStructure(Structure):
    """A table of models: each row has the mean reward of every arm, and one row is taken to be true.

    `means` has a row for each model and a column for each arm. The best arm of a model is the one with
    the largest mean, the lowest index if several have it. Models and arms are counted from 0, and
    called "0", "1", … unless names are given. In a data frame the columns name the arms and the
    index names the models, unless these are the numbers 0, 1, …. `prior` are positive weights, one
    for each model, and `reward_range` is the range in which rewards lie, (0, 1) unless given;
    policies and theory use both unless they are told otherwise.

    >>> types = FiniteStructure([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"], models=["A", "B"])
    >>> types.best_arms
    (0, 1)
    >>> types.means("B")
    array([0.2, 0.7])
    >>> types
    FiniteStructure(2 models × 2 arms, 2 arms best in some model)
    """

    kind = "finite"
    cells: FiniteCells

    def __init__(
        self,
        means: Any,
        arms: Sequence[str] | None = None,
        models: Sequence[str] | None = None,
        prior: Any = None,
        reward_range: Range | None = None,
    ) -> None:
        if hasattr(means, "columns") and hasattr(means, "to_numpy"):  # a data frame, of any make
            arms = _labels(means.columns) if arms is None else arms
            models = _labels(getattr(means, "index", None)) if models is None else models
            means = means.to_numpy()
        table = checked_means(means, "means")
        if table.ndim != 2 or 0 in table.shape:
            raise StructureError(
                f"means: shape {table.shape}; expected models × arms with at least one of each"
            )
        weights = None if prior is None else checked_weights(prior, len(table), "model").tolist()
        super().__init__(FiniteCells(table), arms, weights, reward_range)
        self.model_names: Sequence[str] = (
            Numbered(len(table)) if models is None else checked_names(models, len(table), "model")
        )
        warn_if_outside(table, self.reward_range)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        header: bool = False,
        prior: Any = None,
        reward_range: Range | None = None,
    ) -> FiniteStructure:
        """Read a CSV file: a header with arm names, a row per model.

        The first column holds model names if its header is empty or "model", or if no cell of it is
        a number. If the first line looks like means, the file is refused, because it may lack a header;
        `header=True` says that these numbers are names, such as prices.
        """
        means, arms, models = read_table(path, header, reward_range)
        return cls(means, arms, models, prior, reward_range)

    @classmethod
    def from_frame(
        cls, frame: pandas.DataFrame, prior: Any = None, reward_range: Range | None = None
    ) -> FiniteStructure:
        """Return the structure of a data frame: columns name arms, the index names models."""
        return cls(frame, prior=prior, reward_range=reward_range)

    def _facts(self) -> Iterable[Any]:
        return (self.cells.table,)

    def _first_facts(self) -> Iterable[bytes]:
        return bytes_of([self.cells.table, self.cells.best, self.cells.ranking])

    @property
    def n_models(self) -> int:
        """The number of models."""
        return len(self.cells.best)

    def means(self, model: int | str) -> Floats:
        """Return the means of a model, given by index (int) or by name (str)."""
        return self.cells.table[index_of(model, self.model_names, "model")].copy()

    def best_arm(self, model: int | str) -> int:
        """Return the best arm of a model, the lowest index among equals."""
        return int(self.cells.best[index_of(model, self.model_names, "model")])

    def distances(self, means: Floats, tolerance: float) -> FiniteDistances:
        """Return how far the models are from the true `means`, for theory."""
        return FiniteDistances(self.cells, means, tolerance)

    @cached_property
    def fitting_cells(self) -> ModelFit:
        """The models with their sums of squares."""
        return squares_of(self.cells.table, self.cells.best)

    @property
    def mean_ranges(self) -> Floats:
        """The least and the largest mean of each arm (arms × 2)."""
        return np.stack([self.cells.table.min(axis=0), self.cells.table.max(axis=0)], axis=1)

    @property
    def polytopes(self) -> tuple[Polytope, ...]:
        """Each model as a polytope without parameters."""
        rows = zip(self.cells.table, self.model_names, strict=True)
        return tuple(point(means, name) for means, name in rows)

    @property
    def model_lines(self) -> tuple[ModelLines]:
        """Each model as a line of no length."""
        table, best = self.cells.table, self.cells.best
        return (ModelLines(table, table, best, np.arange(len(best)), np.zeros(len(best))),)

    def models_in(self, box: Box) -> tuple[str, ...]:
        """Return the names of the models inside an open box of means."""
        table = self.cells.table
        inside = np.all((box.low < table) & (table < box.high), axis=1)
        return tuple(self.model_names[model] for model in np.flatnonzero(inside).tolist())

    def model_name(self, model: int) -> str:
        """Return the name of the model with this index."""
        return self.model_names[model]

    def listed_models(self) -> tuple[Sequence[Any], str]:
        """Return all models."""
        return range(self.n_models), ""

    def __repr__(self) -> str:
        return (
            f"FiniteStructure({self.n_models} models × {self.n_arms} arms, "
            f"{len(self.best_arms)} arms best in some model{self._rewards_in_words()})"
        )

    def _table(self, limit: int) -> tuple[list[str], list[list[tuple[str, bool]]], int]:
        rows = [
            [(self.model_names[model], False)]
            + [
                (number(mean), arm == self.cells.best[model])
                for arm, mean in enumerate(self.cells.table[model])
            ]
            for model in range(min(limit, self.n_models))
        ]
        return ["model", *self.arm_names], rows, max(0, self.n_models - limit)


def table_of(
    table: Any,
    arms: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> FiniteStructure:
    """Return a table as a `FiniteStructure`, of which builders take the numbers and the names.

    `table` is one already, or whatever `FiniteStructure` takes; names and a range that are given replace
    its own.
    """
    if not isinstance(table, Structure):
        return FiniteStructure(table, arms, models, reward_range=reward_range)
    if not isinstance(table, FiniteStructure):
        raise StructureError(f"table={table!r}: expected a table of models × arms")
    if arms is None and models is None and reward_range is None:
        return table
    return FiniteStructure(
        table.cells.table,
        table.arm_names if arms is None else arms,
        table.model_names if models is None else models,
        table.prior,
        table.reward_range if reward_range is None else reward_range,
    )


def _labels(labels: Any) -> list[str] | None:
    """Return the labels of a data frame as names; None if they only count rows or columns."""
    counted = labels is None or type(labels).__name__ == "RangeIndex"
    return None if counted else [str(label) for label in labels]
