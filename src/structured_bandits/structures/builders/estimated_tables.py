"""Structures from a table that is not to be taken at its word: its rows are estimated, or mixed.

Mixtures are the convex hull of the rows, by weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import number
from structured_bandits.errors import StructureError
from structured_bandits.structures.base import index_of
from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.finite.structure import table_of
from structured_bandits.structures.polyhedral.polytope import Polytope, check_pieces
from structured_bandits.structures.polyhedral.structure import Place, PolyhedralStructure
from structured_bandits.structures.reward_ranges import Range


def around(
    table: Any,
    margins: Any,
    low: float | None = None,
    high: float | None = None,
    arms: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> BoxStructure:
    """Return the structure of an estimated table: the means are those of a row, up to margins.

    `table` is a `FiniteStructure` or what it takes (models × arms). `margins` says by how much its means
    may be wrong, either way: a number, one for each arm, or one for each mean (models × arms), such as
    two standard errors. Intervals are cut to the range from `low` to `high`, by default the range of
    rewards; but a mean of the table that is itself outside stays possible. With margins of 0, policies
    play as on the table.

    >>> types = around([[0.8, 0.3], [0.2, 0.7]], 0.1, arms=["tea", "coffee"], models=["A", "B"])
    >>> types
    BoxStructure(2 models × 2 arms, margins up to 0.1, 2 arms best in some model)
    >>> types.at([0.75, 0.25], "A")
    Place(piece=0, parameter=(0.75, 0.25))
    """
    return BoxStructure(table, margins, low, high, arms, models, reward_range)


def mixtures(
    table: Any,
    arms: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    reward_range: Range | None = None,
) -> MixtureStructure:
    """Return the structure of all mixtures of the rows of a table, their convex hull.

    `table` is a `FiniteStructure` or what it takes (models × arms). If customers of several types come
    mixed, in unknown shares, the means are those of a mixture, and not those of one of the types.

    >>> audience = mixtures([[0.8, 0.3], [0.2, 0.7]], arms=["tea", "coffee"], models=["A", "B"])
    >>> audience.means({"A": 30, "B": 70})
    array([0.38, 0.58])
    >>> audience.model_name(audience.at([0.3, 0.7]))
    '30 % A, 70 % B'
    """
    rows = table_of(table, arms, models, reward_range)
    count, width = rows.cells.table.shape
    check_pieces("mixtures", 1, count + 1, count, width)
    return MixtureStructure(rows.cells.table, rows.arm_names, rows.model_names, rows.reward_range)


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
