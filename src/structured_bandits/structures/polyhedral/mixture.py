"""Mixtures of the rows of a table: their convex hull, by weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.arrays import Floats
from structured_bandits.base.text_tables import number
from structured_bandits.errors import StructureError
from structured_bandits.structures.base import index_of
from structured_bandits.structures.polyhedral.polytope import Polytope
from structured_bandits.structures.polyhedral.structure import Place, PolyhedralStructure
from structured_bandits.structures.reward_ranges import Range

SMALLEST_SHARE = 5e-4  # of a row that is named: one of 0.05 % or more


class MixtureStructure(PolyhedralStructure):
    """All weighted averages of the rows of a table; the parameters are the weights of the rows.

    `sb.mixtures` makes it. Rows that are averages of others are kept, since users know them by name. The
    same means can then have several weightings; one of them is reported.
    """

    def __init__(
        self,
        table: Floats,
        arms: Sequence[str],
        models: Sequence[str],
        reward_range: Range | None = None,
    ) -> None:
        self.rows = table
        self.model_names = models
        super().__init__([hull(table)], arms, reward_range)

    @cached_property
    def mean_ranges(self) -> Floats:
        """The least and the largest mean of each arm (arms × 2)."""
        return np.stack([self.rows.min(axis=0), self.rows.max(axis=0)], axis=1)

    def at(self, parameter: Any, piece: int | str = 0) -> Place:
        """Return the mixture with these weights: one for each row, or by names of rows, or one row.

        Weights by name are shares of their sum, those of rows that are not named are 0.
        """
        if isinstance(parameter, (str, int, np.integer)):
            parameter = {parameter: 1.0}
        if isinstance(parameter, Mapping):
            parameter = self._weights(parameter)
        return super().at(parameter, piece)

    def means(self, model: Any) -> Floats:
        """Return the means of a mixture: a place, weights, or a row by index or name (see `at`)."""
        return super().means(model if isinstance(model, Place) else self.at(model))

    def model_name(self, model: Place | int | str) -> str:
        """Return the shares of the rows in percent."""
        place = model if isinstance(model, Place) else self.at(model)
        named = [
            f"{number(100.0 * share, 3)} % {name}"
            for share, name in zip(place.parameter, self.model_names, strict=True)
            if share >= SMALLEST_SHARE
        ]
        return ", ".join(named)

    def _weights(self, parts: Mapping[Any, Any]) -> Floats:
        weights = np.zeros(len(self.rows))
        for name, part in parts.items():
            number = isinstance(part, (int, float, np.number)) and not isinstance(part, bool)
            if not number or not 0.0 <= part < np.inf:
                raise StructureError(f"parameter[{name!r}]={part!r}: expected a finite number >= 0")
            weights[index_of(name, self.model_names, "model")] += part
        if not weights.any():
            raise StructureError(f"parameter={parts!r}: expected a positive weight of some row")
        return weights / weights.sum()

    def __repr__(self) -> str:
        return (
            f"MixtureStructure({len(self.rows)} models × {self.n_arms} arms, "
            f"{len(self.best_arms)} arms best in some mixture)"
        )

    def _table(self, limit: int) -> tuple[list[str], list[list[tuple[str, bool]]], int]:
        rows = [
            [(name, False), *((number(mean), mean == row.max()) for mean in row)]
            for name, row in zip(self.model_names[:limit], self.rows, strict=False)
        ]
        return ["part of the mix", *self.arm_names], rows, max(0, len(self.rows) - limit)


def hull(table: Floats) -> Polytope:
    """Return the convex hull of the rows of a table: weights that are not negative and sum to 1."""
    count = len(table)
    return Polytope(
        table.T,
        rows=np.vstack([np.eye(count), np.ones(count)]),
        lower=[0.0] * count + [1.0],
        upper=[np.inf] * count + [1.0],
        name="mixtures",
    )
