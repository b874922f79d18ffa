"""Structures that only bound means and differences of means: no linear program is needed.

Unstructured, monotone, Lipschitz and unimodal arms are of this kind. What such constraints imply for
any two arms is a shortest path: if mean a exceeds mean b by no more than 1, and mean b exceeds mean c
by no more than 2, then mean a exceeds mean c by no more than 3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.solvers.linear import TOLERANCE
from structured_bandits.structures.polyhedral.polytope import Polytope


class Differences(NamedTuple):
    """What holds in a piece: `most_lead[j, k]` is the most by which mean j can exceed mean k.

    `low` and `high` are the least and the largest mean of each arm. All of them are attained.
    """

    most_lead: Floats
    low: Floats
    high: Floats


def differences(piece: Polytope) -> Differences | None:
    """Return the differences that a piece allows; None if its constraints are of another kind.

    The parameters have to be the means themselves, or none (a single model). An empty piece is of
    no kind. The answer is kept with the piece (see `Polytope.known`).
    """
    if "differences" not in piece.known:
        piece.known["differences"] = _differences(piece)
    found: Differences | None = piece.known["differences"]
    return found


def rivals_of(known: Differences, arm: int) -> Flags | None:
    """Return the arms that are not always equal to `arm`; None if it leads them nowhere.

    Of arms that are always equal the first counts.
    """
    lead = known.most_lead
    equal = np.maximum(lead[arm], lead[:, arm]) <= TOLERANCE
    leads = bool((equal | (lead[arm] > TOLERANCE)).all())
    return ~equal if leads and not equal[:arm].any() else None


def leading_arms(known: Differences) -> Flags:
    """Return which arms have rivals and lead them somewhere: `rivals_of`, for all arms at once."""
    above = known.most_lead > TOLERANCE
    equal = ~(above | above.T)
    first: Flags = equal.argmax(axis=1) == np.arange(len(equal))
    leads: Flags = (above | equal).all(axis=1) & first
    return leads


def _differences(piece: Polytope) -> Differences | None:
    if piece.dimension == 0:
        means = piece.intercepts
        return Differences(means[:, None] - means[None, :], means, means)
    bounds = _bounds(piece) if piece.is_of_means else None
    if bounds is None:
        return None
    lead, low, high = bounds
    _follow_paths(lead)
    high = (lead + high).min(axis=1)  # by way of any other arm
    low = (low[:, None] - lead).max(axis=0)
    if (np.diag(lead) < -TOLERANCE).any() or (low > high + TOLERANCE).any():
        return None
    np.minimum(lead, high[:, None] - low, out=lead)
    np.fill_diagonal(lead, 0.0)
    return Differences(lead, low, high)


def _bounds(piece: Polytope) -> tuple[Floats, Floats, Floats] | None:
    """Return what the rows say of any two arms, and of each; None if one says something else."""
    arms = piece.n_arms
    row, arm = np.nonzero(piece.rows)
    count = np.bincount(row, minlength=len(piece.rows))
    first = np.searchsorted(row, np.arange(len(piece.rows)))  # of the entries of each row
    of_one, of_two = np.flatnonzero(count == 1), np.flatnonzero(count == 2)
    if len(of_one) + len(of_two) < len(piece.rows):
        return None
    left, right = arm[first[of_two]], arm[first[of_two] + 1]
    if (piece.rows[of_two, left] != -piece.rows[of_two, right]).any():
        return None
    lead = np.full((arms, arms), np.inf)
    np.fill_diagonal(lead, 0.0)
    below, above = _ends(piece, of_two, left)
    np.minimum.at(lead, (left, right), above)
    np.minimum.at(lead, (right, left), -below)
    low, high = np.full(arms, -np.inf), np.full(arms, np.inf)
    single = arm[first[of_one]]
    below, above = _ends(piece, of_one, single)
    np.minimum.at(high, single, above)
    np.maximum.at(low, single, below)
    return lead, low, high


def _ends(piece: Polytope, rows: Ints, arm: Ints) -> tuple[Floats, Floats]:
    """Return lower and upper ends of rows, for a weight of 1 of the given arm."""
    scale = piece.rows[rows, arm]
    ends = piece.lower[rows] / scale, piece.upper[rows] / scale
    return np.minimum(*ends), np.maximum(*ends)


def _follow_paths(lead: Floats) -> None:
    """Turn bounds on differences into all that follow from them: shortest paths, in place.

    An arm with one neighbour only is bounded by way of this neighbour: such arms are taken off, one
    after the other, and put back in the end. Of trees (chains of arms, pieces of unimodal structures)
    nothing else is left; the rest takes the arms^3 steps of Floyd and Warshall.
    """
    core, leaves = _without_leaves(lead)
    if len(core):
        block = np.ix_(core, core)
        paths = lead[block]
        for via in range(len(core)):
            np.minimum(paths, paths[:, via, None] + paths[via], out=paths)
        lead[block] = paths
    for leaf, neighbour, there, back in reversed(leaves):
        lead[leaf] = there + lead[neighbour]  # arms that are not back yet are overwritten later
        lead[:, leaf] = lead[:, neighbour] + back
        lead[leaf, leaf] = min(0.0, there + back)


def _without_leaves(lead: Floats) -> tuple[Ints, list[tuple[int, int, float, float]]]:
    """Take off arms with one neighbour while there are any.

    Returns the arms left that have neighbours, and of each arm taken off: itself, its neighbour, and the
    bounds on its lead over the neighbour and on the neighbour's over it.
    """
    linked = np.isfinite(lead)
    linked |= linked.T
    np.fill_diagonal(linked, False)
    arms, others = np.nonzero(linked)
    neighbours = np.bincount(arms, minlength=len(lead)).tolist()
    total = np.bincount(arms, others, len(lead)).astype(np.int64).tolist()
    ready = [arm for arm, count in enumerate(neighbours) if count == 1]
    taken = []
    while ready:
        leaf = ready.pop()
        if neighbours[leaf] == 0:  # its only neighbour was taken off before it
            continue
        other = total[leaf]  # the sum of the neighbours' numbers, of which one is left
        taken.append((leaf, other, float(lead[leaf, other]), float(lead[other, leaf])))
        neighbours[leaf] = 0
        neighbours[other] -= 1
        total[other] -= leaf
        if neighbours[other] == 1:
            ready.append(other)
    core = np.array([arm for arm, count in enumerate(neighbours) if count], dtype=np.int64)
    return core, taken
