"""Oracle of likelihoods on curves and products: sets, ISAE, certificates; slow on purpose.

It follows docs/notes/mathematics.md 2.22, 4.6, 4.7 and 8.1 and shares nothing with the library.

Curves and tables are lists of cells on which means are straight lines, a model of a table
being a cell of one point. Everything has 40 digits. Likelihoods are products of powers of means, so for
coins they are polynomials, and Gauss and Legendre's rule with enough nodes has their exact integral; for
Gaussian rewards, and for ISAE's divergences, there are many more nodes than needed. Suprema of the concave
log-likelihood are found by regula falsi. A comparison on a knife edge raises :class:`TooClose`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import mpmath
import numpy as np

MP = mpmath.MPContext()
MP.dps = 40
Real = Any
CLOSE = 1e-8  # nearer than this, relative to the larger one: raise
SAME = 1e-20  # nearer than this: equal
TINY = MP.mpf(10) ** -34  # of places in a cell


class TooClose(Exception):  # noqa: N818
    """Two numbers are so close that rounding decides."""


def less(x: Real, y: Real) -> bool:
    """Whether x < y, if that is clear."""
    if MP.isinf(x) or MP.isinf(y):
        return bool(x < y)
    if abs(x - y) < CLOSE * max(abs(x), abs(y), 1):
        raise TooClose(f"{MP.nstr(x, 12)} against {MP.nstr(y, 12)}")
    return bool(x < y)


def first_highest(values: Sequence[Real], is_less: Callable[[Real, Real], bool] = less) -> int:
    """The place of the largest value, the first of those that are equal."""
    best = 0
    for i, value in enumerate(values[1:], start=1):
        top = values[best]
        equal = value == top or abs(value - top) <= SAME * max(abs(value), abs(top), 1)
        if not equal and is_less(top, value):
            best = i
    return best


# ------------------------------------------------------------------------ cells of curves and tables


class Cell(NamedTuple):
    """Means go in straight lines from `start` (at 0) to `end` (at 1); `arm` is best in between."""

    start: tuple[Real, ...]
    end: tuple[Real, ...]
    arm: int
    prior: Real

    def means(self, x: Real) -> list[Real]:
        return [a + x * (b - a) for a, b in zip(self.start, self.end, strict=True)]

    def best(self, x: Real) -> Real:
        return self.start[self.arm] + x * (self.end[self.arm] - self.start[self.arm])


def curve_cells(pieces: Sequence[Any], prior: Sequence[float] | None = None) -> list[Cell]:
    """Pieces with start, end, at_start and at_end, cut where the best arm changes."""
    widths = [MP.mpf(p.end) - MP.mpf(p.start) for p in pieces]
    weights = widths if prior is None else [MP.mpf(p) for p in prior]
    cells = []
    for piece, weight in zip(pieces, weights, strict=True):
        start, end = (tuple(map(MP.mpf, ends)) for ends in (piece.at_start, piece.at_end))
        whole, cuts = Cell(start, end, 0, weight / MP.fsum(weights)), {MP.mpf(0), MP.mpf(1)}
        for i, j in itertools.combinations(range(len(start)), 2):
            left, right = start[i] - start[j], end[i] - end[j]
            if left * right < 0:
                cuts.add(left / (left - right))
        for a, b in itertools.pairwise(sorted(cuts)):
            arm = first_highest(whole.means((a + b) / 2), lambda x, y: x < y)
            share = whole.prior * (b - a)
            cells.append(Cell(tuple(whole.means(a)), tuple(whole.means(b)), arm, share))
    return cells


def table_cells(
    table: Sequence[Sequence[float]], prior: Sequence[float] | None = None
) -> list[Cell]:
    """One cell for each model."""
    weights = [MP.mpf(p) for p in (prior or [1] * len(table))]
    rows = [tuple(map(MP.mpf, row)) for row in table]
    total = MP.fsum(weights)
    return [Cell(r, r, r.index(max(r)), p / total) for r, p in zip(rows, weights, strict=True)]


@cache
def nodes(n: int) -> list[tuple[Real, Real]]:
    """Gauss and Legendre's nodes and weights on [0, 1]."""
    found = []
    for guess in np.polynomial.legendre.leggauss(n)[0]:
        x = MP.mpf(float(guess))
        for _ in range(4):
            low, high = MP.mpf(1), x
            for k in range(2, n + 1):
                low, high = high, ((2 * k - 1) * x * high - (k - 1) * low) / k
            slope = n * (x * high - low) / (x * x - 1) if n > 1 else MP.mpf(1)
            x -= high / slope
        found.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return found


class Data(NamedTuple):
    """Pulls and sums of the arms of a group, in the order of its means; sigma of Gaussian rewards."""

    pulls: tuple[int, ...]
    sums: tuple[Real, ...]
    sigma: float | None = None

    def likelihood(self, means: Sequence[Real]) -> Real:
        if self.sigma is not None:
            total = MP.fsum(s * m - t * m * m / 2 for t, s, m in self.of(means))
            return MP.exp(total / MP.mpf(self.sigma) ** 2)
        return MP.fprod(m ** int(s) * (1 - m) ** int(t - s) for t, s, m in self.of(means))

    def log(self, means: Sequence[Real]) -> Real:
        value = self.likelihood(means)
        return MP.log(value) if value > 0 else -MP.inf

    def slope(self, cell: Cell, x: Real) -> Real:
        """The derivative of the log-likelihood along a cell."""
        total = MP.mpf(0)
        rises = (b - a for a, b in zip(cell.start, cell.end, strict=True))
        for (t, s, m), rise in zip(self.of(cell.means(x)), rises, strict=True):
            if self.sigma is not None:
                total += rise * (s - t * m) / MP.mpf(self.sigma) ** 2
            elif rise != 0:
                total += rise * (s / m - (t - s) / (1 - m))
        return total

    def of(self, means: Sequence[Real]) -> Iterator[tuple[int, Real, Real]]:
        return zip(self.pulls, self.sums, means, strict=True)


def root(f: Callable[[Real], Real], low: Real, high: Real) -> Real:
    """Where f goes through 0, between places of different signs: Ridders' method, else halving."""
    a, b, last = f(low), f(high), MP.inf
    while a != 0 and b != 0 and abs(high - low) > TINY:
        points = {low: a, high: b}
        x = (low + high) / 2
        points[x] = y = f(x)
        if not any(map(MP.isinf, (a, b, y))) and y != 0:
            step = (x - low) * y / MP.sqrt(y * y - a * b)
            x = x + step if a > b else x - step
            points[x] = y = f(x)
        if y == 0 or abs(x - last) < TINY:
            return x
        last = x
        places = sorted(points)
        for left, right in itertools.pairwise(places):
            if (points[left] > 0) != (points[right] > 0):
                low, high, a, b = left, right, points[left], points[right]
    return low if a == 0 else high


def top(cell: Cell, data: Data, low: Real = 0, high: Real = 1) -> tuple[Real, Real]:
    """The highest log-likelihood on a part of a cell, and the first place where it is."""
    low, high = MP.mpf(low), MP.mpf(high)
    if cell.start == cell.end or low == high or sum(data.pulls) == 0:
        return data.log(cell.means(low)), low
    inner = (high - low) * MP.mpf(10) ** -36  # at an end a mean may be 0 or 1
    if data.slope(cell, low + inner) <= 0:
        return data.log(cell.means(low)), low
    if data.slope(cell, high - inner) >= 0:
        return data.log(cell.means(high)), high
    x = root(lambda x: data.slope(cell, x), low + inner, high - inner)
    return data.log(cell.means(x)), x


def integrals(
    cell: Cell, data: Data, of: Callable[[list[Real]], list[Real]], low: Real = 0, high: Real = 1
) -> list[Real]:
    """The integrals over a part of the cell of prior times likelihood times functions of the means."""
    if cell.start == cell.end:
        scale = cell.prior * data.likelihood(cell.start)
        return [scale * value for value in of(list(cell.start))]
    few = data.sigma is None and len(of(list(cell.start))) == 1
    rule = nodes(sum(data.pulls) // 2 + 1 if few else 20 * (sum(data.pulls) // 20) + 60)
    total = None
    for x, weight in rule:
        means = cell.means(low + x * (high - low))
        scale = cell.prior * (high - low) * weight * data.likelihood(means)
        part = [scale * value for value in of(means)]
        total = part if total is None else [a + b for a, b in zip(total, part, strict=True)]
    assert total is not None
    return total


# ------------------------------------------------------------------------ sets and certificates of them


class Evidence:
    """The models of independent groups of arms, in the light of what the arms have paid."""

    def __init__(self, groups: Sequence[Sequence[Cell]], pulls: Sequence[int], sums: Sequence[Real], sigma: float | None = None) -> None:  # fmt: skip
        """A curve or a table is a product of one group."""
        sizes = [len(cells[0].start) for cells in groups]
        self.starts = [sum(sizes[:g]) for g in range(len(sizes))]
        self.groups = groups
        parts = [slice(s, s + n) for s, n in zip(self.starts, sizes, strict=True)]
        self.data = [Data(tuple(pulls[p]), tuple(map(MP.mpf, sums[p])), sigma) for p in parts]
        self.tops = [[top(c, d) for c in cells] for cells, d in zip(groups, self.data, strict=True)]
        self.highest = [max(value for value, _ in tops) for tops in self.tops]
        masses = [
            MP.fsum(integrals(c, d, lambda _: [MP.mpf(1)])[0] for c in cells)
            for cells, d in zip(groups, self.data, strict=True)
        ]
        self.log_n = MP.fsum(MP.log(m) if m > 0 else -MP.inf for m in masses)
        self.candidates = sorted(
            {self.starts[g] + c.arm for g, cells in enumerate(groups) for c in cells}
        )

    def values(self, budget: Real) -> dict[int, Real]:
        """The supremum of each arm's mean over what its group may be while the rest is likeliest."""
        found = dict[int, Real]()
        if MP.isinf(self.log_n):
            return found
        for g, cells in enumerate(self.groups):
            level = self.log_n - budget - (MP.fsum(self.highest) - self.highest[g])
            for cell, (value, x) in zip(cells, self.tops[g], strict=True):
                if not less(level, value):
                    continue
                end = MP.mpf(1 if cell.end[cell.arm] >= cell.start[cell.arm] else 0)
                if self.data[g].log(cell.means(end)) < level:
                    above = lambda y, c=cell, d=self.data[g], b=level: d.log(c.means(y)) - b  # noqa: E731
                    end = root(above, x, end)
                arm = self.starts[g] + cell.arm
                found[arm] = max(found.get(arm, -MP.inf), cell.best(end))
        return found

    def supremum(self, arm: int, than: int | None = None) -> Real:
        """The supremum of the log-likelihood over the combinations in which an arm is best.

        With `than`, the arm must not be equal to that one of its group all along a cell.
        """
        g = max(g for g, start in enumerate(self.starts) if start <= arm)
        best = -MP.inf
        others = [range(len(cells)) for j, cells in enumerate(self.groups) if j != g]
        for i, cell in enumerate(self.groups[g]):
            if cell.arm != arm - self.starts[g] or (than is not None and self.equal(cell, g, than)):
                continue
            for chosen in itertools.product(*others):
                picks = list(chosen)
                picks.insert(g, i)
                if MP.fsum(self.tops[j][k][0] for j, k in enumerate(picks)) > best:
                    best = max(best, self.combined(g, picks))
        return best

    def equal(self, cell: Cell, g: int, arm: int) -> bool:
        k = arm - self.starts[g]
        return 0 <= k < len(cell.start) and all(e[k] == e[cell.arm] for e in (cell.start, cell.end))

    def combined(self, g: int, picks: Sequence[int]) -> Real:
        """The supremum if each group is in a given cell, and the best arm of group g is best of all."""
        own = self.groups[g][picks[g]]
        most, flat = max(own.best(0), own.best(1)), own.best(0) == own.best(1)
        for j, cell in enumerate(cells[k] for cells, k in zip(self.groups, picks, strict=True)):
            least = min(cell.best(0), cell.best(1))
            tied = flat and cell.best(0) == cell.best(1) and g < j  # the lower arm counts as best
            if j != g and (most < least or (most == least and not tied)):
                return -MP.inf

        def rest(value: Real) -> Real:
            """What the other groups reach with best means of at most a value."""
            total = MP.mpf(0)
            for j, k in enumerate(picks):
                cell = self.groups[j][k]
                if j == g:
                    continue
                start, end = cell.best(0), cell.best(1)
                if min(start, end) > value:
                    return -MP.inf
                place = self.tops[j][k][1]
                if cell.best(place) > value:
                    cut = (value - start) / (end - start)
                    low, high = (MP.mpf(0), cut) if end > start else (cut, MP.mpf(1))
                    total += top(cell, self.data[j], low, high)[0]
                else:
                    total += self.tops[j][k][0]
            return total

        value, x = self.tops[g][picks[g]]
        if flat:
            return value + rest(own.best(x))
        total = lambda y: self.data[g].log(own.means(y)) + rest(own.best(y))  # noqa: E731
        if abs(total(x) - MP.fsum(self.tops[j][k][0] for j, k in enumerate(picks))) < SAME:
            return total(x)
        low, high = MP.mpf(0), MP.mpf(1)  # total is concave where it is finite: towards high values
        up = own.best(1) > own.best(0)
        for _ in range(60):  # the first place where others have a model at all is met from above
            a, b = low + (high - low) * 0.38, low + (high - low) * 0.62
            left, right = total(a), total(b)
            go_up = up if MP.isinf(left) and MP.isinf(right) else right > left
            low, high = (a, high) if go_up else (low, b)
        return max(total(low), total(high))

    def wanted(self, budget: Real) -> list[int]:
        """The arms that are best in a model of the set."""
        if MP.isinf(self.log_n):
            return []
        return [k for k in self.candidates if less(self.log_n - budget, self.supremum(k))]

    def leader(self) -> int:
        """The best arm of the likeliest model, with the lowest parameter."""
        picks = [first_highest([value for value, _ in tops]) for tops in self.tops]
        cells = [cells[k] for cells, k in zip(self.groups, picks, strict=True)]
        values = [
            c.best(self.tops[g][k][1]) for g, (c, k) in enumerate(zip(cells, picks, strict=True))
        ]
        g = first_highest(values)
        return self.starts[g] + cells[g].arm

    def error(self) -> tuple[int, Real]:
        """The arm of the certificate and its error, by N alone."""
        arm = self.leader()
        rivals = [self.supremum(k, arm) for k in self.candidates if k != arm]
        return arm, min(MP.mpf(1), MP.exp(max(rivals, default=-MP.inf) - self.log_n))
