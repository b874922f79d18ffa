"""Structures from a table that is not to be taken at its word: its rows are estimated, or mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structured_bandits.structures.boxes.structure import BoxStructure
from structured_bandits.structures.builders.memory_limits import check_pieces
from structured_bandits.structures.finite.structure import table_of
from structured_bandits.structures.polyhedral.mixture import MixtureStructure
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
