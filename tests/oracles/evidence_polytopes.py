"""Oracle of the certificates of polytopes and boxes (docs/notes/mathematics.md 8.1); slow on purpose.

Suprema come from a primal-dual solver of exponential cones (clarabel), and each is believed only if the dual
is within 1e-7. The library has a barrier of its own; nothing is shared with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix
from scipy.special import betaln


class Body(NamedTuple):
    """One piece: the models x with lower <= rows x <= upper, whose means are slopes x + intercepts."""

    slopes: np.ndarray
    intercepts: np.ndarray
    rows: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def bodies(structure: Any) -> list[Body]:
    """The pieces of a polyhedral structure, or the boxes of one with margins, as numbers."""
    if structure.kind == "boxes":
        square = np.eye(structure.n_arms)
        ends = zip(structure.cells.least, structure.cells.most, strict=True)
        return [
            Body(square, 0 * square[0], square, np.array(low), np.array(high)) for low, high in ends
        ]
    names = ("slopes", "intercepts", "rows", "lower", "upper")
    return [
        Body(*(np.asarray(getattr(p, name), float) for name in names)) for p in structure.pieces
    ]


Logs = Sequence[
    tuple[np.ndarray, float, float]
]  # weight log(form x + constant): form, constant, weight


def walls(body: Body) -> Logs:
    """Half the logarithm of each slack; of parallel walls only the innermost."""
    found = dict[tuple[float, ...], tuple[np.ndarray, float]]()
    for row, low, high in zip(body.rows, body.lower, body.upper, strict=True):
        length = np.linalg.norm(row)
        for form, constant in ((row / length, -low / length), (-row / length, high / length)):
            key = tuple(np.round(form, 9) + 0.0)
            if (
                low < high
                and math.isfinite(constant)
                and constant <= found.get(key, (form, math.inf))[1]
            ):
                found[key] = (form, constant)
    return [(form, constant, 0.5) for form, constant in found.values()]


def maximum(body: Body, pulls: Any, sums: Any, sigma: float | None, more: Any = (), extra: Logs = ()) -> tuple[float, np.ndarray]:  # fmt: skip
    """The largest log-likelihood, plus `extra`, of the models of a piece, and the means there.

    Triples (i, j, gap) of `more` ask for mean i - mean j >= gap; -inf if there is no such model.
    """
    size = body.slopes.shape[1]
    logs, linear, square = list(extra), np.zeros(size), np.zeros((size, size))
    base = 0.0
    for a, c, t, s in zip(body.slopes, body.intercepts, pulls, sums, strict=True):
        if sigma is None:
            logs += [each for each in ((a, c, s), (-a, 1 - c, t - s)) if each[2] > 0]
        else:
            linear += a * (s - t * c) / sigma**2
            square += t * np.outer(a, a) / sigma**2
            base += (s * c - t * c * c / 2) / sigma**2
    full = np.zeros((size + len(logs), size + len(logs)))
    full[:size, :size] = square
    goal = np.concatenate([-linear, [-w for _, _, w in logs]])
    rows, sides, cones = [], [], list[Any]()
    same = body.lower == body.upper
    for row, side in zip(body.rows[same], body.upper[same], strict=True):
        rows.append((row, {}))
        sides.append(side)
    if same.any():
        cones.append(clarabel.ZeroConeT(int(same.sum())))
    before = len(rows)
    for row, low, high in zip(body.rows[~same], body.lower[~same], body.upper[~same], strict=True):
        for form, side in ((row, high), (-row, -low)):
            if math.isfinite(side):
                rows.append((form, {}))
                sides.append(side)
    for i, j, gap in more:
        rows.append((body.slopes[j] - body.slopes[i], {}))
        sides.append(body.intercepts[i] - body.intercepts[j] - gap)
    if len(rows) > before:
        cones.append(clarabel.NonnegativeConeT(len(rows) - before))
    for n, (form, constant, _) in enumerate(
        logs
    ):  # (u, 1, form x + constant) with u <= log of the last
        rows += [(0 * form, {n: -1.0}), (0 * form, {}), (-form, {})]
        sides += [0.0, 1.0, constant]
        cones.append(clarabel.ExponentialConeT())
    matrix = np.zeros((len(rows), size + len(logs)))
    for line, (form, places) in zip(matrix, rows, strict=True):
        line[:size] = form
        for n, value in places.items():
            line[size + n] = value
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-11
    found = clarabel.DefaultSolver(csc_matrix(np.triu(full)), goal, csc_matrix(matrix), np.array(sides), cones, options).solve()  # fmt: skip
    if "Infeasible" in str(found.status):
        return -math.inf, np.full(len(body.slopes), math.nan)
    assert abs(found.obj_val - found.obj_val_dual) < 1e-7 * max(1, abs(found.obj_val)), found.status
    return base - found.obj_val, body.slopes @ np.array(found.x)[:size] + body.intercepts


def lead(body: Body, arm: int, others: Sequence[int]) -> float:
    """The largest lead of an arm over all of some others in a piece, at most 1."""
    lines = [np.append(body.slopes[k] - body.slopes[arm], 1) for k in others]
    sides = [body.intercepts[arm] - body.intercepts[k] for k in others]
    for row, low, high in zip(body.rows, body.lower, body.upper, strict=True):
        lines += [np.append(row, 0), np.append(-row, 0)]
        sides += [high, -low]
    kept = [n for n, side in enumerate(sides) if math.isfinite(side)]
    goal = np.append(np.zeros(body.slopes.shape[1]), -1)
    ends = [(None, None)] * body.slopes.shape[1] + [(None, 1)]
    found = linprog(goal, np.array(lines)[kept], np.array(sides)[kept], bounds=ends)
    return -found.fun


def between(body: Body, b: int, j: int) -> int:
    """The arm nearest to b on the way to j, if the piece orders them; else j."""
    arms = set(range(len(body.slopes)))
    under = lambda i, k: i == k or lead(body, i, [k]) < 1e-7  # noqa: E731
    way = [i for i in arms - {b} if under(b, i) and under(i, j)] if under(b, j) else [j]
    return next(i for i in way if all(under(i, k) for k in way))


def log_mixture(pulls: float, total: float, sigma: float | None) -> float:
    """The logarithm of M of an arm: its likelihood, mixed over all means."""
    if sigma is None:
        return float(betaln(total + 0.5, pulls - total + 0.5) - betaln(0.5, 0.5))
    return total**2 / (2 * sigma**2 * (1 + pulls)) - math.log(1 + pulls) / 2


def log_of(mean: float, pulls: float, total: float, sigma: float | None) -> float:
    """The log-likelihood of an arm at a mean, with 0 log 0 = 0."""
    if sigma is not None:
        return (total * mean - pulls * mean**2 / 2) / sigma**2
    wins = total * math.log(mean) if total > 0 else 0.0
    return wins + ((pulls - total) * math.log(1 - mean) if pulls > total else 0.0)


def pair_evidence(b: int, i: int, pulls: Any, sums: Any, sigma: float | None) -> float:
    """log of M_b M_i / ((K - 1) sup of their likelihoods where mean i is at least mean b)."""
    mean = [sums[k] / pulls[k] if pulls[k] else None for k in (b, i)]
    if None not in mean and mean[0] > mean[1]:
        pooled = (sums[b] + sums[i]) / (pulls[b] + pulls[i])
        mean = [pooled, pooled]
    best = [
        log_of(m, pulls[k], sums[k], sigma)
        for k, m in zip((b, i), mean, strict=True)
        if m is not None
    ]
    mixed = sum(log_mixture(pulls[k], sums[k], sigma) for k in (b, i))
    return mixed - sum(best) - math.log(len(pulls) - 1)


class Monitor:
    """The certificate of 8.1 with both kinds of evidence, told reward by reward.

    It looks after t rewards, then after ceil(t / 50) more.
    """

    def __init__(
        self, pieces: list[Body], sigma: float | None = None, row: bool = False, boxes: bool = False
    ) -> None:
        """`row`: unimodal arms in a row; `boxes`: there is the first estimate alone."""
        self.pieces, self.sigma, self.row, self.boxes = pieces, sigma, row, boxes
        n_arms = len(pieces[0].slopes)
        rest = {j: [k for k in range(n_arms) if k != j] for j in range(n_arms)}
        self.owned = [
            (p, j) for p, body in enumerate(pieces) for j in rest if lead(body, j, rest[j]) > 1e-7
        ]
        self.way = {(p, b, j): between(pieces[p], b, j) for p, j in self.owned for b in rest[j]}
        self.tied = False  # have two estimates ever been equally likely?
        self.pulls, self.sums, self.logs = np.zeros(n_arms), np.zeros(n_arms), [0.0, 0.0]
        self.next = 0
        self.look()

    def look(self) -> None:
        """Make the estimates."""
        t = int(self.pulls.sum())
        self.next = t + max(1, math.ceil(t / 50))
        half = 0.0 if self.sigma is not None else 0.5
        args = (self.pulls + 2 * half, self.sums + half, self.sigma)
        found = [maximum(body, *args) for body in self.pieces]
        likeliest = max(range(len(found)), key=lambda k: found[k][0])
        value, self.estimate = found[likeliest]
        self.tied |= any(v > value - 1e-6 and abs(m - self.estimate).max() > 1e-2 for v, m in found)
        if not (self.row or self.boxes):  # of several equal pieces the rules leave open which it is
            body = self.pieces[likeliest]
            self.inner = maximum(body, self.pulls, self.sums, self.sigma, extra=walls(body))[1]

    def tell(self, arm: int, reward: float) -> None:
        """Score a reward under the estimates made at the last look before it."""
        self.logs[0] += log_of(self.estimate[arm], 1, reward, self.sigma)
        if not (self.row or self.boxes):
            self.logs[1] += log_of(self.inner[arm], 1, reward, self.sigma)
        self.pulls[arm] += 1
        self.sums[arm] += reward
        if self.pulls.sum() >= self.next:
            self.look()

    def log_n(self) -> float:
        """The logarithm of the mean of the products."""
        if self.boxes:
            return self.logs[0]
        mixed = [log_mixture(t, s, self.sigma) for t, s in zip(self.pulls, self.sums, strict=True)]
        return float(
            np.logaddexp(self.logs[0], sum(mixed) if self.row else self.logs[1])
        ) - math.log(2)

    def cells(self, b: int) -> Iterator[tuple[int, float]]:
        """i and D of the rival cells; of unimodal arms in a row the peaks on either side of b are one."""
        args, arms = (self.pulls, self.sums, self.sigma), range(len(self.pulls))
        if self.row:
            for i, peaks in ((b + 1, arms[b + 1 :]), (b - 1, arms[:b])):
                if len(peaks):
                    yield i, max(maximum(self.pieces[j], *args)[0] for j in peaks)
        else:
            for p, j in self.owned:
                if j != b:
                    yield (
                        self.way[p, b, j],
                        maximum(self.pieces[p], *args, more=[(j, k, 0.0) for k in arms if k != j])[
                            0
                        ],
                    )

    def log_evidence(self, b: int) -> float:
        """log min E for an arm b, and infinity if it has no rivals."""
        log_n, pulls, sums = self.log_n(), self.pulls, self.sums
        parts = [
            (log_n - d, pair_evidence(b, i, pulls, sums, self.sigma)) for i, d in self.cells(b)
        ]
        return min((float(np.logaddexp(*part)) for part in parts), default=math.inf) - math.log(2)
