"""Exact numbers, structures and confidence sets for the oracles of policies.

Every float is the rational number it stands for, every logarithm has 60 digits. Floats are used
to skip what is clearly decided, with margins a hundred times their rounding errors and more. All
else is settled in exact numbers, which raise rather than guess. The definitions are in
docs/notes/mathematics.md 2.

Why ties can be recognised: the level ``c log(clock)`` is transcendental for every rational clock
above one, so two numbers ``p + q sqrt(level)`` with rational ``p`` and ``q**2`` are equal only if
they are the same number term by term (:class:`Surd`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from typing import Any, NamedTuple, Protocol

import mpmath
import numpy as np

Real = Any  # a number of the 60-digit context below; mpmath has no type stubs
Rewards = Sequence[Sequence[Any]]  # rewards[i][k] is the reward of the (k+1)-th pull of arm i

MP = mpmath.MPContext()
MP.dps = 60
ZERO, ONE = Fraction(0), Fraction(1)
UNDECIDED = MP.mpf(10) ** -40  # nearer than this, 60 digits prove nothing: raise


@dataclass
class Trace:
    """What a policy did, and how close its decisions were.

    ``empty`` counts empty confidence sets, ``ties`` the decisions in which different arms were
    exactly equal at the top, ``reentries`` the cells outside the set at one evaluation and inside
    at the next one. ``closest`` is the smallest relative distance of two numbers whose order
    mattered; for a cell it is what is left of it, or what is missing, as a part of the cell.
    ``updates`` has (t, pulls, active arms before, active arms after) at the end of every phase.

    ``coincidences`` are decisions, counted from 0, at which numbers that stem from different data
    came out equal, such as 2 kl(0, 1/2) = log 4. No rounding can be asked to see that: what can be
    compared is ``arms[:sure]``.
    """

    arms: list[int] = field(default_factory=list)
    empty: int = 0
    ties: int = 0
    reentries: int = 0
    closest: float = math.inf
    updates: list[tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=list
    )
    coincidences: list[int] = field(default_factory=list)

    @property
    def sure(self) -> int:
        """The number of decisions before the first coincidence."""
        return min(self.coincidences, default=len(self.arms))

    def note(self, lhs: Any, rhs: Any) -> None:
        """Record the relative distance of two numbers of the same type, unless they are equal."""
        x, y = float(lhs), float(rhs)
        gap = abs(x - y)
        if gap > 1e-9 * (size := max(abs(x), abs(y))):  # floats tell the distance well enough
            self.closest = min(self.closest, gap / size)
        elif lhs != rhs:
            self.closest = min(self.closest, float(abs(lhs - rhs) / max(abs(lhs), abs(rhs))))


# ------------------------------------------------------------------------------ exact numbers


def exact(x: Any) -> Fraction:
    """The rational number a Python or numpy number stands for."""
    return Fraction(x.item() if isinstance(x, np.generic) else x)


def real(x: Fraction) -> Real:
    return MP.mpf(x.numerator) / x.denominator


@cache
def log(x: Fraction | int) -> Real:
    return MP.log(real(Fraction(x)))


class Surd(NamedTuple):
    """The number ``base + sign(square) sqrt(|square| level)``."""

    base: Fraction
    square: Fraction = ZERO

    def terms(self, level: float) -> tuple[float, float]:
        square = float(self.square)
        return float(self.base), math.copysign(math.sqrt(abs(square) * level), square)

    def at(self, level: Real) -> Real:
        root = MP.sqrt(real(abs(self.square)) * level)
        return real(self.base) + (root if self.square > 0 else -root)


def decided(gap: Real) -> Real:
    if abs(gap) < UNDECIDED:
        raise ArithmeticError("60 digits do not decide this comparison")
    return gap


def compare(x: Surd, y: Surd, level: Real) -> Real:
    """A number of the sign of ``x - y``, zero if they are equal."""
    if x == y or (level == 0 and x.base == y.base):
        return 0
    a, b, c, d = x.terms(float(level)) + y.terms(float(level))
    if abs(gap := a + b - c - d) > 1e-12 * (abs(a) + abs(b) + abs(c) + abs(d)):
        return gap
    return decided(x.at(level) - y.at(level))


def ceiling(x: Real, trace: Trace, limit: int) -> int:
    """Ceil of a number that is irrational or an exact integer (0, or ``2**k``)."""
    nearest = MP.nint(x)
    if x != nearest:
        decided(x - nearest)
        if nearest <= limit:  # beyond the horizon the rounding cannot matter
            trace.note(x, nearest)
    return int(MP.ceil(x))


def width_constant(alpha: float, sigma: float) -> Real:
    """``c = 4 sigma**2 alpha`` (docs/notes/mathematics.md 2.1); the radius of arm i is ``sqrt(c L / T_i)``."""
    return real(4 * exact(sigma) ** 2 * exact(alpha))


# --------------------------------------------------------------------------------- structures


@dataclass(frozen=True)
class Cell:
    """Parameters from start to end on which the means are affine and one arm is best (docs/notes/mathematics.md 2.10)."""

    start: Fraction
    end: Fraction
    low: tuple[Fraction, ...]  # means at start
    high: tuple[Fraction, ...]  # means at end
    best: int

    def nearest(self, theta: Fraction) -> Fraction:
        return min(max(theta, self.start), self.end)


class Structure:
    """The cells of a structure in order; a single model is a cell of one point.

    ``slopes[c][i]`` is the rise of the mean of arm i from the start to the end of cell c.
    """

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells
        self.n_arms = len(cells[0].low)
        self.best = np.array([cell.best for cell in cells])
        self.optimal = sorted({cell.best for cell in cells})  # A*(Theta)
        self.slopes = [tuple(y - x for x, y in zip(c.low, c.high, strict=True)) for c in cells]

    def integers(self, unit: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means and slopes as integers ``[arm, cell]`` over a denominator per cell, given first.

        The denominators are multiples of unit, so that rewards are integers over them too.
        """
        rows = [c.low + slope for c, slope in zip(self.cells, self.slopes, strict=True)]
        dens = [math.lcm(unit, *(x.denominator for x in row)) for row in rows]
        ints = np.array([[int(x * d) for x in row] for row, d in zip(rows, dens, strict=True)], "O")
        return np.array(dens, "O"), ints.T[: self.n_arms].copy(), ints.T[self.n_arms :].copy()


def highest(means: Sequence[Fraction]) -> int:
    return means.index(max(means))  # the lowest index among maximisers


class Models(Structure):
    """Finite structure: one mean vector per row."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        cells = []
        for m, row in enumerate(rows):
            means = tuple(map(exact, row))
            cells.append(Cell(Fraction(m), Fraction(m), means, means, highest(means)))
        super().__init__(cells)


class Curves(Structure):
    """Pieces ``(start, end, at_start, at_end)``, sorted; means affine in between (docs/notes/mathematics.md 2.7, 2.10)."""

    def __init__(self, pieces: Iterable[tuple[Any, Any, Sequence[Any], Sequence[Any]]]) -> None:
        self.pieces = [
            (exact(start), exact(end), tuple(map(exact, first)), tuple(map(exact, last)))
            for start, end, first, last in pieces
        ]
        super().__init__([cell for piece in self.pieces for cell in self._cut(*piece)])
        self.borders = sorted(
            {p for x, y in pairwise(self.cells) if x.best != y.best for p in (x.end, y.start)}
        )

    @staticmethod
    def _cut(
        start: Fraction, end: Fraction, first: tuple[Fraction, ...], last: tuple[Fraction, ...]
    ) -> list[Cell]:
        """Cells of one piece: cut where two lines cross, join neighbours with one best arm."""
        if start == end:
            return [Cell(start, end, first, first, highest(first))]

        def means(x: Fraction) -> tuple[Fraction, ...]:
            return tuple(a + (b - a) * x for a, b in zip(first, last, strict=True))

        cuts = {ZERO, ONE}
        for (a, b), (c, d) in combinations(zip(first, last, strict=True), 2):
            if b - a != d - c and 0 < (x := (c - a) / (b - a - d + c)) < 1:
                cuts.add(x)
        parts: list[tuple[Fraction, Fraction, int]] = []
        for x, y in pairwise(sorted(cuts)):
            best = highest(means((x + y) / 2))
            joins = parts and parts[-1][2] == best
            parts.append((parts.pop()[0] if joins else x, y, best))
        at = {x: start + x * (end - start) for x in cuts}
        return [Cell(at[x], at[y], means(x), means(y), best) for x, y, best in parts]


# ------------------------------------------------------------------- the game and its statistics


class Game:
    """Pulls, counts and reward sums; sums are integers in units of ``1/unit``."""

    def __init__(self, n_arms: int, rewards: Rewards) -> None:
        values = {x: exact(x) for x in set().union(*rewards)}
        self.unit = math.lcm(*(x.denominator for x in values.values()))
        self.scaled = {x: int(value * self.unit) for x, value in values.items()}
        self.rewards = rewards
        self.counts = [0] * n_arms
        self.sums = [0] * n_arms
        self.trace = Trace()

    @classmethod
    def after(cls, pulls: Sequence[int], sums: Sequence[Any]) -> Game:
        """A game with these data: what a single decision is made from."""
        game = cls(len(pulls), [[x] for x in sums])
        game.counts, game.sums = list(pulls), [game.scaled[x] for x in sums]
        return game

    @property
    def t(self) -> int:
        return len(self.trace.arms)

    def pull(self, arm: int) -> int:
        reward = self.scaled[self.rewards[arm][self.counts[arm]]]
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.trace.arms.append(arm)
        return reward

    def mean(self, arm: int) -> Fraction:
        return Fraction(self.sums[arm], self.unit * self.counts[arm])


class Set(Protocol):
    """A set of models that fit the data so far, at a level that says how wide its boxes are."""

    def arms(self, level: Real) -> list[int]:
        """The arms that are best somewhere in the set."""


class Confidence:
    """The set ``{theta: |mean_i - mu_i(theta)| < sqrt(level / T_i) for all i with T_i > 0}``.

    Inside a cell the position x runs from 0 to 1. An arm whose mean is constant on the cell asks
    for ``T (mean - mu)**2 < level``; another one leaves the interval ``centre -+ radius/|slope|``.
    A cell is in the set iff all constant arms agree and what the others leave has positive length.
    """

    def __init__(self, structure: Structure, game: Game) -> None:
        self.structure, self.game = structure, game
        self.den, self.low, self.slope = structure.integers(game.unit)
        self.per_unit = self.den // game.unit
        self.sloped = self.slope != 0
        self.straight = not self.sloped.any()
        self.steep = np.where(self.sloped, np.abs(self.slope) / self.den, 1).astype(float)
        shape = self.low.shape
        self.seen = [0] * shape[0]
        self.score = np.zeros(shape)  # T (mean - mu)**2 where the mean is constant
        self.centre = np.zeros(shape)  # position at which mu = mean where it is not
        self.inside = np.ones(shape[1], bool)
        self.left = self.error = np.zeros(shape[1])  # what is left of a cell: see _shrink
        self.right = np.ones(shape[1])
        own = structure.best, np.arange(shape[1])
        self.value, self.rise = ((x[own] / self.den).astype(float) for x in (self.low, self.slope))
        same: dict[Fraction, Surd] = {}  # one object per value: ties are then seen at once
        lows = (cell.low[cell.best] for cell in structure.cells)
        self.constant = [same.setdefault(x, Surd(x)) for x in lows]

    def evaluate(self, level: Real) -> np.ndarray:
        """Which cells are in the set; counts re-entries and the closest decision."""
        trace, before, scale = self.game.trace, self.inside, float(level)
        self._refresh()
        if scale == 0:  # radius 0: nothing is strictly inside once an arm was pulled
            self.inside = np.full(len(before), not any(self.game.counts))
        else:
            self._shrink(scale)
            ratio = np.sqrt(self.score.max(axis=0) / scale)
            flat = (1 - ratio) / np.maximum(1, ratio)  # > 0 inside, relative distance of radii
            margin = np.minimum(flat, self.right - self.left)
            unsure = np.abs(margin) <= 1e-9 + 2 * self.error
            for c in unsure.nonzero()[0].tolist():
                margin[c] = self._margin(c, level)
            self.inside = margin > 0
            trace.closest = min(trace.closest, float(np.abs(margin).min()))
        trace.reentries += int(np.count_nonzero(self.inside > before))
        return self.inside

    def arms(self, level: Real) -> list[int]:
        """A*(set): the arms best in some cell of the set."""
        return sorted(set(self.structure.best[self.evaluate(level)].tolist()))

    def _refresh(self) -> None:
        """Bring the rows of the arms pulled since the last evaluation up to date."""
        for i, n in enumerate(self.game.counts):
            if n == self.seen[i]:
                continue
            self.seen[i] = n
            off = self.game.sums[i] * self.per_unit - n * self.low[i]
            self.score[i] = np.where(self.sloped[i], 0, (off / self.den).astype(float) ** 2 / n)
            if (s := self.sloped[i]).any():
                self.centre[i, s] = (off[s] / (n * self.slope[i, s])).astype(float)

    def _shrink(self, level: float) -> None:
        """Left and right end of what is left of each cell, and their errors."""
        if self.straight:
            return
        rows = np.array(self.game.counts) > 0
        centre, sloped = self.centre[rows], self.sloped[rows]
        radius = np.sqrt(level / np.array(self.game.counts)[rows])[:, None] / self.steep[rows]
        self.left = np.where(sloped, centre - radius, 0).max(axis=0, initial=0)
        self.right = np.where(sloped, centre + radius, 1).min(axis=0, initial=1)
        self.error = 1e-12 * np.where(sloped, np.abs(centre) + radius, 0).max(axis=0, initial=1)

    def _end(self, c: int, side: int, level: Real) -> Surd:
        """Exact left (side -1) or right (side 1) end of what is left of cell c."""
        cell, slopes = self.structure.cells[c], self.structure.slopes[c]
        rough, end = (self.left[c], Surd(ZERO)) if side < 0 else (self.right[c], Surd(ONE))
        for i, n in enumerate(self.game.counts):
            if n == 0 or slopes[i] == 0:
                continue
            radius = math.sqrt(float(level) / n) / self.steep[i, c]
            if side * (self.centre[i, c] - rough) + radius > 3 * self.error[c]:
                continue  # another arm, or the border of the cell, comes first
            off, slope = self.game.mean(i) - cell.low[i], slopes[i]
            limit = Surd(off / slope, side / (n * slope**2))
            if side * compare(limit, end, level) < 0:
                end = limit
        return end

    def _margin(self, c: int, level: Real) -> Real:
        """Exact signed margin of cell c: relative slack of the constant arms, or length left."""
        cell, slopes = self.structure.cells[c], self.structure.slopes[c]
        flat = [i for i, n in enumerate(self.game.counts) if n > 0 and slopes[i] == 0]
        scores = [self.game.counts[i] * (self.game.mean(i) - cell.low[i]) ** 2 for i in flat]
        ratio = MP.sqrt(real(max(scores, default=ZERO)) / level)
        length = self._end(c, 1, level).at(level) - self._end(c, -1, level).at(level)
        return decided(min((1 - ratio) / max(1, ratio), length))

    def tops(self) -> tuple[np.ndarray, np.ndarray]:
        """Sup of the best arm's mean over the part of each cell in the set, and its error."""
        end, steep = np.where(self.rise < 0, self.left, self.right), np.abs(self.rise)
        return self.value + self.rise * end, steep * self.error + 1e-12 * (steep + abs(self.value))

    def top(self, c: int, level: Real) -> Surd:
        """The exact sup of cell c."""
        best = self.structure.cells[c].best
        low, slope = self.structure.cells[c].low[best], self.structure.slopes[c][best]
        if slope == 0:
            return self.constant[c]
        end = self._end(c, 1 if slope > 0 else -1, level)
        return Surd(low + slope * end.base, slope * abs(slope) * end.square)
