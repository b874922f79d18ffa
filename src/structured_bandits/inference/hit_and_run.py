"""Random points of a polytope by hit-and-run: from where one stands, a uniform point of a chord.

The law of the point is uniform only in the limit of many steps; with 10 d^2 steps in d dimensions it is
close to that for the round bodies that structures are, and nobody proves how close.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.solvers.linear import TOLERANCE, maximise, solved
from structured_bandits.structures.polyhedral.polytope import Polytope

STEPS = 10  # times the square of the dimension
FAR = 1e6  # where a chord ends that has no end

Likelihood = Callable[[Floats], float]  # its logarithm, of means


class Walk:
    """Walks through the models of one piece whose means are possible, each from deep inside."""

    def __init__(
        self, piece: Polytope, free: Floats, start: Floats, likelihood: Likelihood | None
    ) -> None:
        self._piece = piece
        self._free = free  # parameters x free directions
        self._rows = piece.rows @ free
        self._start = start
        self._likelihood = likelihood

    def draw(self, rng: np.random.Generator) -> Floats:
        """Walk for 10 d^2 steps; return the means there."""
        place = self._start
        for _ in range(STEPS * self._free.shape[1] ** 2):
            place = self._step(place, rng)
        return self._piece.means(place)

    def _step(self, place: Floats, rng: np.random.Generator) -> Floats:
        """Return a point of a random chord: uniform, or as likely as the data make it (a slice)."""
        direction = rng.standard_normal((self._free.shape[1],))
        low, high = self._chord(place, direction)
        along = self._free @ direction
        if self._likelihood is None:
            return _moved(place, rng.uniform(low, high), along)
        least = self._likelihood(self._piece.means(place)) - rng.exponential()
        while high - low > TOLERANCE:
            shift = rng.uniform(low, high)
            other = _moved(place, shift, along)
            if self._likelihood(self._piece.means(other)) >= least:
                return other
            low, high = (shift, high) if shift < 0.0 else (low, shift)
        return place

    def _chord(self, place: Floats, direction: Floats) -> tuple[float, float]:
        """Return how far one may go backwards and forwards."""
        speed = self._rows @ direction
        reached = self._piece.rows @ place
        moving = np.abs(speed) > TOLERANCE
        room = np.stack([self._piece.lower - reached, self._piece.upper - reached])
        ends = room[:, moving] / speed[moving]
        low = float(ends.min(axis=0).max(initial=-FAR))
        high = float(ends.max(axis=0).min(initial=FAR))
        return min(low, 0.0), max(high, 0.0)


def _moved(place: Floats, shift: float, along: Floats) -> Floats:
    return np.asarray(place + shift * along)


def started_walk(
    piece: Polytope, ends: tuple[float, float], likelihood: Likelihood | None
) -> Walk | None:
    """Return a walk that starts deep inside the piece; None if no model has means between the ends."""
    arms = piece.n_arms
    possible = piece.constrained(np.eye(arms), np.full(arms, ends[0]), np.full(arms, ends[1]))
    fixed = possible.upper - possible.lower <= TOLERANCE
    free = _null_space(possible.rows[fixed], piece.dimension)
    start = _deep_inside(possible, fixed)
    return None if start is None else Walk(possible, free, start, likelihood)


def _null_space(rows: Floats, dimension: int) -> Floats:
    """Return the directions in which equations leave one free, as columns."""
    if not len(rows):
        return np.eye(dimension)
    _, sizes, directions = np.linalg.svd(rows)
    rank = int((sizes > TOLERANCE).sum())
    return np.asarray(directions[rank:].T)


def _deep_inside(piece: Polytope, fixed: Any) -> Floats | None:
    """Return the centre of the largest ball inside, up to equations; None if there is no point."""
    slack = np.where(fixed, 0.0, np.linalg.norm(piece.rows, axis=1))
    size = piece.dimension
    rows = np.vstack(
        [
            np.column_stack([piece.rows, slack]),
            np.column_stack([piece.rows, -slack]),
            np.eye(1, size + 1, size),
        ]
    )
    below = np.full(len(slack), -np.inf)
    lower = np.concatenate([np.where(fixed, piece.lower, below), piece.lower, [-1.0]])
    upper = np.concatenate([piece.upper, np.where(fixed, piece.upper, -below), [1.0]])
    solution = solved(maximise(np.eye(1, size + 1, size)[0], rows, lower, upper))
    if solution.status != "optimal" or solution.value < -TOLERANCE:
        return None
    return solution.x[:size]
