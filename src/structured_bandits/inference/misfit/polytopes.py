"""The likeliest model of a union of polytopes, from above.

The log-likelihood is concave in the means, hence in the parameters of a piece: Newton's method by
quadratic programs finds its maximum, and a linear program says how much a better model could add
(the tangent plane lies above a concave function). That is added, so the number is never too low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.inference.misfit.max_likelihood import NOBODY, Likeliest, average
from structured_bandits.inference.misfit.reward_likelihood import (
    Counts,
    RewardScale,
    log_likelihood,
)
from structured_bandits.solvers.convex import least_quadratic
from structured_bandits.solvers.linear import Solution, dual_bound, maximise
from structured_bandits.structures.base import hash_of
from structured_bandits.structures.polyhedral.polytope import Polytope

STEPS = 50  # of Newton's method; it is quadratic near the end
CLOSE = 1e-6  # what a better model may add before we stop
LEAST_ROOM = 1e-9  # a mean that cannot be farther from 0 or 1 excludes what was seen
VERTICES = 8  # of each piece, between which models of the grid lie


class PieceModels:
    """The models of some polytopes. Plain Python only, since programs are solved.

    `witness` are the means of the likeliest model found last, as the structure has them: a mean that no
    reward can have excludes whatever its arm pays. It saves looks that change nothing (`seen_before`)
    and has no influence on any number, so threads may share it.
    """

    compiles: ClassVar[bool] = False

    def __init__(self, pieces: Sequence[Polytope]) -> None:
        self.pieces = tuple(pieces)
        self.witness: Floats | None = None

    def likeliest(self, scale: RewardScale, counts: Counts, totals: Floats) -> Likeliest:
        """Return the likeliest model of all pieces, or a little more than its likelihood."""
        found = [highest_likelihood(piece, scale, counts) for piece in self.pieces]
        best = int(np.argmax([each.bound for each in found]))
        if found[best].bound == -math.inf:
            return Likeliest(-math.inf, NOBODY, 0.0)
        self.witness = found[best].means
        return Likeliest(found[best].bound, best, 0.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PieceModels) and self._facts() == other._facts()

    def __hash__(self) -> int:
        return hash(self._facts())

    def _facts(self) -> str:
        return hash_of((), (part for piece in self.pieces for part in piece.arrays()))


def seen_before(models: PieceModels, scale: RewardScale, counts: Counts, totals: Floats) -> float:
    """Return the log-likelihood of the witness, or that of a model of the grid."""
    grid = float(totals.max())
    if models.witness is None:
        return grid
    return max(grid, _value(scale, models.witness, counts))


class Highest(NamedTuple):
    """An upper bound on the log-likelihoods in a piece, and the means where it is nearly reached."""

    bound: float
    means: Floats | None


def highest_likelihood(piece: Polytope, scale: RewardScale, counts: Counts) -> Highest:
    """Return an upper bound on the log-likelihood in a piece, at most CLOSE too high in the end."""
    pulled = np.flatnonzero((counts.first != 0.0) | (counts.second != 0.0))
    if not len(pulled):
        return Highest(0.0, None)
    if piece.dimension == 0:
        return Highest(_value(scale, piece.intercepts, counts), piece.intercepts)
    inside = _within_range(piece, pulled, scale)
    room = _roomiest(inside, pulled, scale, counts)
    bound = math.inf
    if room.status == "unsolved":  # then nothing speaks against the piece
        return Highest(bound, None)
    if room.status != "optimal" or not (scale.gaussian or room.value > LEAST_ROOM * scale.width):
        return Highest(-math.inf, None)
    x = _start(inside, pulled, scale, counts, room.x[: piece.dimension])
    for _ in range(STEPS):
        means = _possible_means(inside, x, scale)
        value = _value(scale, means, counts)
        rise, bend = _derivatives(scale, means, counts)
        slope = rise @ inside.slopes
        far = maximise(slope, inside.rows, inside.lower, inside.upper)
        more = _surely_highest(far, slope, inside) - float(rise @ (means - inside.intercepts))
        bound = min(bound, value + max(more, 0.0))
        if more <= CLOSE:
            break
        curvature = inside.slopes.T @ (bend[:, None] * inside.slopes)
        step = least_quadratic(
            curvature, -slope - curvature @ x, inside.rows, inside.lower, inside.upper
        )
        better = _along(inside, scale, counts, x, value, step)
        if better is None:  # as good as numbers allow
            break
        x = better
    means = piece.means(x)  # of arms that nobody has pulled, the model may have impossible ones
    means[pulled] = _possible_means(inside, x, scale)[pulled]
    return Highest(bound, means)


def _surely_highest(far: Solution, slope: Floats, piece: Polytope) -> float:
    """Return a bound on slope·x over a piece, what a solver leaves between value and proof included.

    Slopes grow with the pulls, and so does what is small beside them.
    """
    if far.status != "optimal":
        return math.inf
    ends = np.where(far.multipliers > 0.0, piece.upper, piece.lower)
    multipliers = np.where(np.isfinite(ends), far.multipliers, 0.0)
    left = np.abs(slope - multipliers @ piece.rows).sum() * (1.0 + 2.0 * np.abs(far.x).max())
    return max(far.value, dual_bound(multipliers, piece.lower, piece.upper) + float(left))


def _possible_means(piece: Polytope, x: Floats, scale: RewardScale) -> Floats:
    """Return the means of a model, without what rounding adds beyond the range of the rewards."""
    means = piece.means(x)
    if scale.gaussian:
        return means
    return np.clip(means, scale.bottom, scale.bottom + scale.width)


def _value(scale: RewardScale, means: Floats, counts: Counts) -> float:
    return sum(
        log_likelihood(scale, float(mean), float(first), float(second))
        for mean, first, second in zip(means, counts.first, counts.second, strict=True)
    )


def _derivatives(scale: RewardScale, means: Floats, counts: Counts) -> tuple[Floats, Floats]:
    """Return the first derivatives of the log-likelihood by the means, and minus the second ones."""
    if scale.gaussian:
        variance = scale.sigma**2
        return (counts.first - counts.second * means) / variance, counts.second / variance
    shares = (means - scale.bottom) / scale.width
    ones, zeros = (
        np.where(shares > 0.0, shares, 1.0),
        np.where(shares < 1.0, 1.0 - shares, 1.0),
    )  # where nothing was seen, nothing is divided
    rise = counts.first / ones - counts.second / zeros
    bend = counts.first / ones**2 + counts.second / zeros**2
    return rise / scale.width, bend / scale.width**2


def _within_range(piece: Polytope, pulled: Ints, scale: RewardScale) -> Polytope:
    """Return the models whose means of pulled arms lie in the range: no others are possible."""
    if scale.gaussian:
        return piece
    weights = np.eye(piece.n_arms)[pulled]
    ends = np.full(len(pulled), scale.bottom), np.full(len(pulled), scale.bottom + scale.width)
    return piece.constrained(weights, *ends)


def _start(
    piece: Polytope, pulled: Ints, scale: RewardScale, counts: Counts, inner: Floats
) -> Floats:
    """Return a model near the averages that explains what was seen, as `inner` does."""
    averages = np.array(
        [
            average(scale, float(first), float(second), 0.0)
            for first, second in zip(counts.first, counts.second, strict=True)
        ]
    )
    slopes = piece.slopes[pulled]
    fit = least_quadratic(
        slopes.T @ slopes,
        -slopes.T @ (averages - piece.intercepts)[pulled],
        piece.rows,
        piece.lower,
        piece.upper,
    )
    share = 0.0 if scale.gaussian else 0.1  # away from means that exclude what was seen
    return np.asarray((1.0 - share) * fit + share * inner)


def _roomiest(piece: Polytope, pulled: Ints, scale: RewardScale, counts: Counts) -> Solution:
    """Find a model whose means are as far as can be from those that exclude what was seen.

    One more variable, the last, is the room: mean >= bottom + room of arms with hits, mean <= top - room
    of arms with misses.
    """
    dimension = piece.dimension
    if scale.gaussian:
        return maximise(np.zeros(dimension), piece.rows, piece.lower, piece.upper)
    hit = [arm for arm in pulled if counts.first[arm] > 0.0]
    missed = [arm for arm in pulled if counts.second[arm] > 0.0]
    rows = np.vstack(
        [
            np.hstack([piece.rows, np.zeros((len(piece.rows), 1))]),
            np.hstack([piece.slopes[hit], np.full((len(hit), 1), -1.0)]),
            np.hstack([piece.slopes[missed], np.full((len(missed), 1), 1.0)]),
            np.eye(dimension + 1)[-1:],
        ]
    )
    top = scale.bottom + scale.width
    lower = np.concatenate(
        [piece.lower, scale.bottom - piece.intercepts[hit], np.full(len(missed), -np.inf), [0.0]]
    )
    upper = np.concatenate(
        [piece.upper, np.full(len(hit), np.inf), top - piece.intercepts[missed], [scale.width]]
    )
    return maximise(np.eye(dimension + 1)[-1], rows, lower, upper)


def _along(
    piece: Polytope, scale: RewardScale, counts: Counts, x: Floats, value: float, goal: Floats
) -> Floats | None:
    """Return a better model between x and the goal, None if there is none that numbers can tell."""
    share = 1.0
    for _ in range(60):
        there = x + share * (goal - x)
        if _value(scale, _possible_means(piece, there, scale), counts) > value:
            return np.asarray(there)
        share *= 0.5
    return None


def some_models(pieces: Sequence[Polytope], scale: RewardScale, count: int) -> Floats:
    """Return about `count` models of the pieces: means of vertices, weighted at random, always alike."""
    rng = np.random.default_rng(0)
    chosen = [
        pieces[place]
        for place in np.unique(np.linspace(0, len(pieces) - 1, count).round().astype(int))
    ]
    each = max(1, count // len(chosen))
    models = []
    for piece in chosen:
        corners = _corners(piece, scale, rng)
        weights = rng.dirichlet(np.full(len(corners), 0.5), each)
        models.append(weights @ corners)
    return np.concatenate(models)


def _corners(piece: Polytope, scale: RewardScale, rng: np.random.Generator) -> Floats:
    """Return the means of some vertices of a piece, as far as they lie in the range of the rewards."""
    if piece.dimension == 0:
        return piece.intercepts[None, :]
    every = np.arange(piece.n_arms)
    inside = _within_range(piece, every, scale)
    found = [
        maximise(direction, inside.rows, inside.lower, inside.upper)
        for direction in rng.standard_normal((VERTICES, piece.dimension))
    ]
    corners = [inside.means(each.x) for each in found if each.status == "optimal"]
    if not corners:
        feasible = maximise(np.zeros(piece.dimension), piece.rows, piece.lower, piece.upper)
        corners = [piece.means(feasible.x)]
    return np.unique(np.round(corners, 12), axis=0)
