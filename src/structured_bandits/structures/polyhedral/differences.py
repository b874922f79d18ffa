"""Structures that only bound means and differences of means: no linear program is needed.

Unstructured, monotone, Lipschitz and unimodal arms are of this kind. What such constraints imply for
any two arms is a shortest path: if mean a exceeds mean b by no more than 1, and mean b exceeds mean c by
no more than 2, then mean a exceeds mean c by no more than 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.arrays import Flags, Floats
from structured_bandits.programs.linear import TOLERANCE
from structured_bandits.structures.polyhedral.polytope import Polytope


class Differences(NamedTuple):
    """What holds in a piece: `reach[j, k]` is the most by which the mean of j can exceed that of k.

    `low` and `high` are the least and the largest mean of each arm. All of them are attained.
    """

    reach: Floats
    low: Floats
    high: Floats


def differences(piece: Polytope) -> Differences | None:
    """Return the differences that a piece allows; None if its constraints are of another kind.

    The parameters have to be the means themselves, or none (a single model). An empty piece is of
    no kind.
    """
    if "differences" not in piece.known:
        piece.known["differences"] = _differences(piece)
    found: Differences | None = piece.known["differences"]
    return found


def rivals_of(known: Differences, arm: int) -> Flags | None:
    """Return the arms that are not always equal to `arm`; None if it leads them nowhere.

    Of arms that are always equal the first counts.
    """
    equal = np.maximum(known.reach[arm], known.reach[:, arm]) <= TOLERANCE
    leads = bool((equal | (known.reach[arm] > TOLERANCE)).all())
    return ~equal if leads and not equal[:arm].any() else None


def _differences(piece: Polytope) -> Differences | None:
    arms = piece.n_arms
    if piece.dimension == 0:
        means = piece.intercepts
        return Differences(means[:, None] - means[None, :], means, means)
    if not piece.is_of_means:
        return None
    most = np.full((arms + 1, arms + 1), np.inf)  # the last node is the constant 0
    np.fill_diagonal(most, 0.0)
    for row, lower, upper in zip(piece.rows, piece.lower, piece.upper, strict=True):
        used = np.flatnonzero(row)
        if len(used) == 1:
            first, second, scale = int(used[0]), arms, row[used[0]]
        elif len(used) == 2 and row[used[0]] == -row[used[1]]:
            first, second, scale = int(used[0]), int(used[1]), row[used[0]]
        else:
            return None
        below, above = sorted((lower / scale, upper / scale))
        most[first, second] = min(most[first, second], above)
        most[second, first] = min(most[second, first], -below)
    for via in range(arms + 1):  # Floyd and Warshall
        np.minimum(most, most[:, via, None] + most[None, via, :], out=most)
    if (np.diag(most) < -TOLERANCE).any():
        return None
    np.fill_diagonal(most, 0.0)
    return Differences(most[:arms, :arms].copy(), -most[arms, :arms], most[:arms, arms].copy())
