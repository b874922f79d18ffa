"""Structures from what is known, in the words of the problem.

Means lie between `low` and `high`, by default the ends of the `reward_range`, which is (0, 1) unless
given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.checks import (
    checked_at_least,
    checked_count,
    checked_number,
    checked_range,
    numbers,
)
from structured_bandits.errors import StructureError
from structured_bandits.structures.builders.trees import spanning_trees
from structured_bandits.structures.polyhedral.polytope import (
    Polytope,
    check_arms,
    check_pieces,
    means_with,
)
from structured_bandits.structures.polyhedral.structure import PolyhedralStructure
from structured_bandits.structures.reward_ranges import UNIT, Range

Arms = Sequence[str] | None
MOST_ARMS = 2000  # matrices of arms × arms have to fit the memory


def unstructured(
    n_arms: int,
    low: float | None = None,
    high: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure that says nothing: every mean may lie anywhere from `low` to `high`.

    By default these are the ends of the `reward_range`, which is (0, 1) unless given.

    >>> unstructured(3)
    PolyhedralStructure(1 piece × 3 arms, 3 arms best in some model)
    """
    piece = means_with(*_limits(n_arms, low, high, reward_range))
    return PolyhedralStructure([piece], arms, reward_range)


def linear(
    features: Any,
    bounds: Any = (-1.0, 1.0),
    low: float | None = None,
    high: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure in which means are features · theta, for an unknown vector theta.

    `features` is arms × parameters; `bounds` is a pair for all parameters, a pair for each, or None
    for no bounds. `low` and `high`, if given, bound the means of all arms.

    >>> adverts = linear([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], bounds=(0.0, 1.0))
    >>> adverts.means([0.25, 0.75])
    array([0.25, 0.5 , 0.75])
    """
    slopes = _numbers("features", features)
    if slopes.ndim != 2 or 0 in slopes.shape:
        raise StructureError(f"features: shape {slopes.shape}; expected arms × parameters")
    count = slopes.shape[1]
    if bounds is None:
        piece = Polytope(slopes)
    else:
        ends = _numbers("bounds", bounds, finite=False)
        if ends.shape not in ((2,), (count, 2)):
            raise StructureError(f"bounds={bounds!r}: expected a pair, or one for each parameter")
        below, above = np.broadcast_to(ends, (count, 2)).T
        piece = Polytope(slopes, rows=np.eye(count), lower=below, upper=above)
    if low is not None or high is not None:
        least = np.full(len(slopes), -np.inf if low is None else checked_number("low", low))
        most = np.full(len(slopes), np.inf if high is None else checked_number("high", high))
        piece = piece.constrained(np.eye(len(slopes)), least, most)
    return PolyhedralStructure([piece], arms, reward_range)


def lipschitz(
    positions: Any,
    constant: float,
    low: float | None = None,
    high: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure in which means differ by at most `constant` times the arms' distance.

    `positions` has a number for each arm, or a point (arms × coordinates, Euclidean distance).
    """
    points = _numbers("positions", positions)
    if points.ndim not in (1, 2) or not points.size:
        raise StructureError(f"positions: shape {points.shape}; expected a place for each arm")
    if points.ndim == 1:  # on a line neighbours are enough, the rest follows
        order = np.argsort(points, kind="stable")
        first, second = order[1:], order[:-1]
    else:
        check_arms("positions", _arm_count(len(points)), lambda arms: (1, arms * (arms + 1) // 2))
        first, second = np.triu_indices(len(points), k=1)
    points = points.reshape(len(points), -1)
    apart = np.sqrt(((points[first] - points[second]) ** 2).sum(axis=1))
    limit = checked_at_least("constant", constant, 0.0) * apart
    rows = _differences(len(points), first, second)
    piece = means_with(*_limits(len(points), low, high, reward_range), rows, -limit, limit)
    return PolyhedralStructure([piece], arms, reward_range)


def monotone(
    n_arms: int,
    decreasing: bool = False,
    low: float | None = None,
    high: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure in which no mean is below that of the arm before it (or above, if falling).

    By itself it is of little use, since the first or the last arm is then best. It is meant as a part of
    other structures, such as a demand that falls with the price (see `scaled`).
    """
    count = _arm_count(n_arms)
    if not isinstance(decreasing, bool):
        raise StructureError(f"decreasing={decreasing!r}: expected True or False")
    later, earlier = np.arange(1, count), np.arange(count - 1)
    rows = (
        _differences(count, earlier, later) if decreasing else _differences(count, later, earlier)
    )
    piece = means_with(*_limits(count, low, high, reward_range), rows, 0.0)
    return PolyhedralStructure([piece], arms, reward_range)


def concave(
    positions: Any,
    low: float | None = None,
    high: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure in which the mean is a concave function of the arm's position.

    `positions` are rising numbers, or the number of arms if these are evenly spaced.
    """
    even = np.ndim(positions) == 0
    places = np.arange(_arm_count(positions)) if even else _numbers("positions", positions)
    if places.ndim != 1 or not len(places) or (np.diff(places) <= 0.0).any():
        raise StructureError(f"positions={positions!r}: expected rising numbers, one for each arm")
    count = len(places)
    rows = np.zeros((max(count - 2, 0), count))
    for middle in range(1, count - 1):  # the chord of the neighbours lies below
        left, here, right = places[middle - 1 : middle + 2]
        rows[middle - 1, middle] = 1.0
        rows[middle - 1, middle - 1] = -(right - here) / (right - left)
        rows[middle - 1, middle + 1] = -(here - left) / (right - left)
    piece = means_with(*_limits(count, low, high, reward_range), rows, 0.0)
    return PolyhedralStructure([piece], arms, reward_range)


def unimodal(
    n_arms: int,
    edges: Sequence[tuple[int, int]] | None = None,
    low: float | None = None,
    high: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure in which means fall with the distance from the best arm.

    From every arm there is a path along `edges` (pairs of arms, from 0) on which means rise to the best
    arm; by default arms stand in a row. Each piece of the structure has one peak and one spanning tree.
    A graph with many cycles has too many spanning trees and is refused; so are too many arms (more than
    310 in a row), because the pieces would take too much memory.

    >>> unimodal(4)
    PolyhedralStructure(4 pieces × 4 arms, 4 arms best in some model)
    """
    count = _arm_count(n_arms)
    ends = _limits(count, low, high, reward_range)
    trees = spanning_trees(count, edges)
    if trees.number == 1:
        check_arms(f"n_arms={n_arms!r}", count, lambda arms: (arms, 2 * arms - 1))
    else:
        what = f"edges: the graph has {trees.number} spanning trees"
        check_pieces(what, trees.number * count, 2 * count - 1, count, count)
    pieces = [
        means_with(
            *ends,
            _differences(count, child[parent >= 0], parent[parent >= 0]),
            upper=0.0,
            name=name,
        )
        for name, child, parent in trees.rooted()
    ]
    return PolyhedralStructure(pieces, arms, reward_range)


def known_best_mean(
    n_arms: int,
    value: float,
    low: float | None = None,
    arms: Arms = None,
    reward_range: Range | None = None,
) -> PolyhedralStructure:
    """Return the structure in which the best mean is known to be `value`, but not which arm has it."""
    bottom, _ = _ends(low, None, reward_range)
    if not bottom < checked_number("value", value):
        raise StructureError(f"value={value!r}: expected more than low={bottom!r}")
    least, most = _limits(n_arms, bottom, value, reward_range)
    check_arms(f"n_arms={n_arms!r}", len(least), lambda arms: (arms, arms))
    pieces = []
    for best in range(len(least)):
        lower = least.copy()
        lower[best] = most[best]
        pieces.append(means_with(lower, most, name=f"best {best}"))
    return PolyhedralStructure(pieces, arms, reward_range)


def _limits(
    n_arms: int, low: float | None, high: float | None, reward_range: Range | None
) -> tuple[Floats, Floats]:
    """Return the least and the largest mean of each arm."""
    count = _arm_count(n_arms)
    least, most = _ends(low, high, reward_range)
    if not least < most:
        raise StructureError(f"low={least!r}, high={most!r}: expected low < high")
    return np.full(count, least), np.full(count, most)


def _ends(low: float | None, high: float | None, reward_range: Range | None) -> Range:
    """Return where means lie: from `low` to `high`, where these are None the ends of the rewards."""
    ends = UNIT if reward_range is None else checked_range("reward_range", reward_range)
    least = ends[0] if low is None else checked_number("low", low)
    return least, ends[1] if high is None else checked_number("high", high)


def _arm_count(n_arms: Any) -> int:
    count = checked_count("n_arms", n_arms)
    if count > MOST_ARMS:
        raise StructureError(f"n_arms={n_arms!r}: expected at most {MOST_ARMS}")
    return count


def _differences(count: int, first: Any, second: Any) -> Floats:
    """Return rows that hold mean of `first` minus mean of `second`."""
    rows = np.zeros((len(first), count))
    rows[np.arange(len(first)), first] = 1.0
    rows[np.arange(len(first)), second] = -1.0
    return rows


def _numbers(what: str, values: Any, finite: bool = True) -> Floats:
    array = numbers(values)
    if array is None or np.isnan(array).any() or (finite and not np.isfinite(array).all()):
        raise StructureError(f"{what}={values!r}: expected numbers in rows of equal length")
    return array
