"""Polytopes of models: linear constraints on parameters, and means that are affine in them.

Their matrices have to fit the memory, so there are limits on their size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import first_without_number
from structured_bandits.errors import StructureError


class Polytope:
    """The models x with lower <= rows x <= upper, whose means are slopes x + intercepts.

    `slopes` is arms × parameters and `rows` constraints × parameters; either end of a constraint may be
    infinite, equal ends make an equation. A single model is a polytope without parameters.

    >>> square = Polytope([[1, 0], [0, 1]], rows=[[1, 0], [0, 1]], lower=0.0, upper=1.0)
    >>> square.means([0.5, 0.25])
    array([0.5 , 0.25])

    `known` keeps facts that follow from the numbers and take long to compute (`differences`). An entry
    is set in one step when it is complete, and would be the same if computed again, so threads may share
    it.
    """

    def __init__(
        self,
        slopes: Any,
        intercepts: Any = 0.0,
        rows: Any = None,
        lower: Any = -np.inf,
        upper: Any = np.inf,
        name: str | None = None,
    ) -> None:
        self.name = name
        self.known: dict[str, Any] = {}  # facts that others found out about it, see below
        self.slopes = self._finite("slopes", slopes)
        if self.slopes.ndim != 2 or not len(self.slopes):
            raise StructureError(
                f"{self.title}: slopes have shape {self.slopes.shape}; expected arms × parameters"
            )
        self.intercepts = self._vector("intercepts", intercepts, self.n_arms)
        self.rows = self._finite("rows", np.zeros((0, self.dimension)) if rows is None else rows)
        if self.rows.ndim != 2 or self.rows.shape[1] != self.dimension:
            raise StructureError(
                f"{self.title}: rows have shape {self.rows.shape}; expected constraints × "
                f"{self.dimension} parameters"
            )
        self.lower = self._vector("lower", lower, len(self.rows))
        self.upper = self._vector("upper", upper, len(self.rows))
        wrong = np.flatnonzero(~(self.lower <= self.upper))
        if not np.isfinite(self.intercepts).all():
            raise StructureError(f"{self.title}: intercepts must be finite")
        if len(wrong):
            row = int(wrong[0])
            raise StructureError(
                f"{self.title}, rows[{row}]: lower {self.lower[row]:g} is not at most upper "
                f"{self.upper[row]:g}"
            )

    @property
    def title(self) -> str:
        """What messages call the piece."""
        return "piece" if self.name is None else f"piece {self.name!r}"

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.slopes)

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return int(self.slopes.shape[1])

    @property
    def is_of_means(self) -> bool:
        """Are the parameters the means themselves?"""
        identity = np.array_equal(self.slopes, np.eye(self.n_arms))
        return identity and not self.intercepts.any()

    def means(self, parameter: Any) -> Floats:
        """Return the means of the model with these parameters."""
        values = self._vector("parameter", parameter, self.dimension)
        return self.slopes @ values + self.intercepts

    def excess(self, parameter: Floats) -> float:
        """Return by how much the parameters violate the constraints, 0 if they do not."""
        reached = self.rows @ parameter
        outside = np.maximum(self.lower - reached, reached - self.upper)
        return float(outside.max(initial=0.0))

    def renamed(self, name: str) -> Polytope:
        """Return the same polytope under another name; what is known of it stays known."""
        same = copy(self)
        same.name = name
        return same

    def constrained(self, weights: Floats, lower: Floats, upper: Floats) -> Polytope:
        """Return the models with lower <= weights means <= upper (constraints × arms)."""
        shift = weights @ self.intercepts
        return Polytope(
            self.slopes,
            self.intercepts,
            np.vstack([self.rows, weights @ self.slopes]),
            np.concatenate([self.lower, lower - shift]),
            np.concatenate([self.upper, upper - shift]),
            name=self.name,
        )

    def arrays(self) -> tuple[Floats, ...]:
        """Return the numbers that make the polytope."""
        return self.slopes, self.intercepts, self.rows, self.lower, self.upper

    def __repr__(self) -> str:
        return (
            f"Polytope({self.n_arms} arms, {self.dimension} parameters, "
            f"{len(self.rows)} constraints)"
        )

    def _finite(self, what: str, values: Any) -> Floats:
        try:
            array = np.array(values, dtype=np.float64, order="C")
        except (TypeError, ValueError, OverflowError):
            array = None
        if array is None or first_without_number(values) is not None:
            raise StructureError(
                f"{self.title}: {what}={values!r}; expected rows of numbers of equal length"
            )
        if not np.isfinite(array).all():
            raise StructureError(f"{self.title}: {what} must be finite")
        array += 0.0  # so that -0.0 is 0.0
        return array

    def _vector(self, what: str, values: Any, count: int) -> Floats:
        try:
            array = np.array(np.broadcast_to(np.asarray(values, np.float64), (count,))) + 0.0
        except (TypeError, ValueError, OverflowError):
            array = None
        if array is None or first_without_number(values) is not None:
            raise StructureError(
                f"{self.title}: {what}={values!r}; expected {count} numbers, or one for all"
            )
        return array


def point(means: Any, name: str | None = None) -> Polytope:
    """Return a single model."""
    means = np.asarray(means, dtype=np.float64)
    return Polytope(np.zeros((len(means), 0)), means, name=name)


def segment(first: Any, last: Any, name: str | None = None) -> Polytope:
    """Return the models between two vectors of means; its parameter goes from 0 to 1."""
    first, last = np.asarray(first, dtype=np.float64), np.asarray(last, dtype=np.float64)
    return Polytope((last - first)[:, None], first, [[1.0]], 0.0, 1.0, name=name)


def means_with(
    low: Any,
    high: Any,
    weights: Any = None,
    lower: Any = -np.inf,
    upper: Any = np.inf,
    name: str | None = None,
) -> Polytope:
    """Return the vectors of means from low to high with lower <= weights means <= upper."""
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    own = np.eye(len(low))
    if weights is None:
        return Polytope(own, rows=own, lower=low, upper=high, name=name)
    weights = np.asarray(weights, dtype=np.float64).reshape(-1, len(low))
    ends = (np.broadcast_to(np.asarray(end, np.float64), (len(weights),)) for end in (lower, upper))
    lower, upper = (np.concatenate([box, end]) for box, end in zip((low, high), ends, strict=True))
    return Polytope(own, rows=np.vstack([own, weights]), lower=lower, upper=upper, name=name)


def joined(parts: Sequence[Polytope], name: str | None = None) -> Polytope:
    """Return the polytope of independent parts: their parameters and arms side by side."""

    def diagonal(blocks: list[Floats]) -> Floats:
        heights, widths = zip(*(block.shape for block in blocks), strict=True)
        whole = np.zeros((sum(heights), sum(widths)))
        top = left = 0
        for block in blocks:
            height, width = block.shape
            whole[top : top + height, left : left + width] = block
            top, left = top + height, left + width
        return whole

    return Polytope(
        diagonal([part.slopes for part in parts]),
        np.concatenate([part.intercepts for part in parts]),
        diagonal([part.rows for part in parts]),
        np.concatenate([part.lower for part in parts]),
        np.concatenate([part.upper for part in parts]),
        name=name,
    )


MOST_NUMBERS = 150_000_000  # in all matrices of a structure together, 8 bytes each: 1.2 GB


def check_arms(what: str, arms: int, size: Callable[[int], tuple[int, int]]) -> None:
    """Raise if the pieces of a structure of means take too much memory; say how many arms do not.

    `size(arms)` returns the number of pieces, and of constraints in each.
    """
    fits = [n for n in range(1, arms + 1) if _numbers(*size(n), n, n) <= MOST_NUMBERS]
    if not fits or fits[-1] < arms:
        most = fits[-1] if fits else 0
        raise _too_large(what, *size(arms), arms, arms, f"expected at most {most} arms")


def check_pieces(what: str, pieces: int, rows: int, parameters: int, arms: int) -> None:
    """Raise if so many pieces, each with so many constraints, take too much memory."""
    if _numbers(pieces, rows, parameters, arms) > MOST_NUMBERS:
        raise _too_large(what, pieces, rows, parameters, arms, "expected fewer pieces or arms")


def _numbers(pieces: int, rows: int, parameters: int, arms: int) -> int:
    """Count the numbers: the matrices of each piece, and those of arms × arms for its closed form.

    There are two of the latter, what is known of the piece and the part of the cells.
    """
    return pieces * ((rows + arms) * parameters + 2 * arms * arms)


def _too_large(
    what: str, pieces: int, rows: int, parameters: int, arms: int, expected: str
) -> StructureError:
    gigabytes = 8e-9 * _numbers(pieces, rows, parameters, arms)
    return StructureError(
        f"{what}: {pieces:,} piece{'s' if pieces > 1 else ''} with {rows:,} constraints on {arms:,} "
        f"arms would take {gigabytes:,.1f} GB of memory, more than {8e-9 * MOST_NUMBERS:g} GB; "
        f"{expected}"
    )
