"""Oracles for the theory quantities of structured bandits, from their definitions.

All numbers are fractions: every float is the rational number it stands for. Logarithms are floats;
they enter only k_beta, bounds and Bernoulli divergences. Gaps are not squared (Psi is a gap's
square). The definitions are in docs/notes/mathematics.md 3, 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count, pairwise
from typing import Any, NamedTuple

import numpy as np
from oracles.structures import exact
from scipy.optimize import linprog

Gap = Fraction | float  # a fraction, or math.inf
Arms = Collection[int]
Found = tuple[Gap, Any, bool]  # a gap, where, and whether it is attained


class Cell(NamedTuple):
    """Parameters of a piece at which ``arm`` is best; owned ends are in the piece and not tied."""

    piece: int
    left: Fraction
    right: Fraction
    owns_left: bool
    owns_right: bool
    arm: int

    def has(self, x: Fraction) -> bool:
        end = (x == self.left and self.owns_left) or (x == self.right and self.owns_right)
        return self.left < x < self.right or end


class Line:
    """Pieces of affine means; of several pieces that own a parameter the first is meant."""

    def __init__(self, pieces: Sequence[tuple[Any, Any, Any, Any, str]], parameter: float) -> None:
        self.pieces = [
            (exact(start), exact(end), tuple(map(exact, first)), tuple(map(exact, last)), closed)
            for start, end, first, last, closed in pieces
        ]
        home, x = self.piece_of(parameter), exact(parameter)
        self.truth = self.means(home, x)
        self.arms = range(len(self.truth))
        self.cells = [cell for p in range(len(pieces)) for cell in self.cut(p)]
        # a tied truth: the lowest of the arms that are best beside it
        self.best = min(c.arm for c in self.cells if c.piece == home and c.left <= x <= c.right)
        self.others = [cell for cell in self.cells if cell.arm != self.best]

    def owns(self, piece: int, x: Fraction) -> bool:
        start, end, _, _, closed = self.pieces[piece]
        if x in (start, end) and start < end:
            return closed in ("both", "left" if x == start else "right")
        return start <= x <= end

    def piece_of(self, x: float | Fraction) -> int:
        return next(p for p in range(len(self.pieces)) if self.owns(p, exact(x)))

    def means(self, piece: int, x: Fraction) -> tuple[Fraction, ...]:
        start, end, first, last, _ = self.pieces[piece]
        part = (x - start) / (end - start) if end > start else 0
        return tuple(a + part * (b - a) for a, b in zip(first, last, strict=True))

    def best_at(self, piece: int, x: Fraction) -> int | None:
        """The best arm at one parameter, None if there is a tie."""
        start, end, first, last, _ = self.pieces[piece]
        means = self.means(piece, x)
        top = [i for i in self.arms if means[i] == max(means)]
        one = start == end or len({(first[i], last[i]) for i in top}) == 1
        return top[0] if one else None

    def cut(self, piece: int) -> list[Cell]:
        """The cells of a piece, cut wherever two arms cross."""
        start, end, first, last, _ = self.pieces[piece]
        out, lines = [], list(zip(first, last, strict=True))
        for x, y in pairwise(crossings(lines, start, end) if start < end else [start, start]):
            arm = self.best_at(piece, (x + y) / 2)
            left, right = (self.owns(piece, z) and self.best_at(piece, z) == arm for z in (x, y))
            out.append(Cell(piece, x, y, left, right, arm))
        return out


class Finite(Line):
    """One row of means per model: pieces of a single model each, at 0, 1, ..."""

    def __init__(self, table: Sequence[Sequence[float]], star: int) -> None:
        super().__init__([(m, m, row, row, "both") for m, row in enumerate(table)], star)


def crossings(lines: list[Any], left: Fraction, right: Fraction) -> list[Fraction]:
    """Both ends, and all crossings between them of lines given by their values at the ends."""
    cuts = {left, right}
    for (a, b), (c, d) in combinations(lines, 2):
        if (a - c) * (b - d) < 0:
            cuts.add(left + (right - left) * (a - c) / (a - c - b + d))
    return sorted(cuts)


def above(s: Line, cell: Cell, arm: int, level: Fraction) -> Cell | None:
    """The part of a cell where the mean of the arm is strictly above the level."""
    a, b = (s.means(cell.piece, x)[arm] - level for x in (cell.left, cell.right))
    if max(a, b) <= 0:
        return None
    root = cell.left if a == b else cell.left + (cell.right - cell.left) * a / (a - b)
    if a <= 0:
        cell = cell._replace(left=root, owns_left=False)
    return cell if b > 0 else cell._replace(right=root, owns_right=False)


def equal(s: Line, cell: Cell, arm: int) -> Cell | None:
    """The part of a cell where the mean of the arm is the truth's: nothing, a point or all."""
    a, b = (s.means(cell.piece, x)[arm] - s.truth[arm] for x in (cell.left, cell.right))
    if a == b:
        return cell if a == 0 else None
    x = cell.left + (cell.right - cell.left) * a / (a - b)
    return Cell(cell.piece, x, x, True, True, cell.arm) if cell.has(x) else None


def best_arm(s: Line) -> int:
    return s.best


def gaps(s: Line) -> list[Fraction]:
    return [max(s.truth) - mean for mean in s.truth]


def best_arms(s: Line) -> list[int]:
    return sorted({cell.arm for cell in s.cells})


def model_gaps(s: Line, model: Any) -> list[Fraction]:
    """Gamma of all arms at one model: an index, or the parameter of a curve."""
    return list(map(abs, offsets(s, s.piece_of(model), exact(model), s.arms)))


def region(s: Line, arm: int, optimistic: bool = False) -> list[Cell]:
    """The cells of Theta*_arm, or of Theta+_arm."""
    cells = [cell for cell in s.cells if cell.arm == arm]
    parts = [above(s, cell, arm, max(s.truth)) if optimistic else cell for cell in cells]
    return [part for part in parts if part is not None]


def offsets(s: Line, piece: int, x: Fraction, using: Arms, w: Any = None) -> list[Fraction]:
    """``w_j (mu_j - truth_j)`` at one parameter for the arms in use."""
    means = s.means(piece, x)
    return [exact(1 if w is None else w[j]) * (means[j] - s.truth[j]) for j in using]


def infimum(s: Line, cells: Sequence[Cell], using: Arms, weights: Any = None) -> Found:
    """Inf over cells of the largest weighted gap; see :func:`hardest`."""
    seen: list[tuple[Fraction, bool, Fraction]] = []  # value, does x belong to its cell, x
    for cell in cells:
        ends = [offsets(s, cell.piece, x, using, weights) for x in (cell.left, cell.right)]
        lines = [(sign * a, sign * b) for a, b in zip(*ends, strict=True) for sign in (1, -1)]
        cuts = crossings(lines, cell.left, cell.right)
        # the largest gap is linear between cuts: it is least at a cut, or on a whole stretch
        for x in cuts + [(x + y) / 2 for x, y in pairwise(cuts)]:
            far = map(abs, offsets(s, cell.piece, x, using, weights))
            seen.append((max(far, default=Fraction(0)), cell.has(x), x))
    low = min((value for value, _, _ in seen), default=math.inf)
    near = [x for value, _, x in seen if value == low]
    there = [x for value, belongs, x in seen if value == low and belongs]
    if isinstance(s, Finite):
        return low, {int(x) for x in there}, bool(there)
    return low, next(iter(there or near), None), bool(there)


def hardest(s: Line, arm: int, using: Arms, optimistic: bool = False, weights: Any = None) -> Found:
    """Inf over Theta*_arm (Theta+_arm) of ``max weights[j] Gamma_j``, where, and if it is attained.

    Where: the set of all such models, or one parameter (a limit if not attained; None if empty).
    """
    return infimum(s, region(s, arm, optimistic), using, weights)


def grid_hardest(
    s: Line, arm: int, using: Arms, points: int, optimistic: bool = False, weights: Any = None
) -> tuple[Gap, Fraction]:
    """The same by trial, and how much too high it may be if no cell of region is narrower than step."""
    values, rise = [math.inf], Fraction(0)
    steps = [Fraction(2 * k + 1, 2 * points) for k in range(points)]
    steps += [Fraction(1, 10**9), 1 - Fraction(1, 10**9)]
    for p, (start, end, *_) in enumerate(s.pieces):
        for x in {start + step * (end - start) for step in steps}:
            if s.best_at(p, x) == arm and (not optimistic or s.means(p, x)[arm] > max(s.truth)):
                far = map(abs, offsets(s, p, x, using, weights))
                values.append(max(far, default=Fraction(0)))
        first, last = (offsets(s, p, x, using, weights) for x in (start, end))
        rise = max([rise, *(abs(b - a) for a, b in zip(first, last, strict=True))])
    return min(values), rise / points


def hardest_only(s: Line, arm: int) -> Gap:
    """Inf of Gamma_arm over the models of Theta+_arm that agree with the truth elsewhere."""
    cells = region(s, arm, optimistic=True)
    for j in set(s.arms) - {arm}:
        cells = [part for cell in cells if (part := equal(s, cell, j)) is not None]
    return infimum(s, cells, {arm})[0]


def gamma_star(s: Line) -> tuple[Gap, bool]:
    return infimum(s, s.others, {s.best})[::2]


def confusing_cells(s: Line) -> list[Cell]:
    """The confusing models of docs/notes/mathematics.md 5.1."""
    return [part for cell in s.others if (part := equal(s, cell, s.best)) is not None]


def confusing(s: Line) -> bool:
    return bool(confusing_cells(s))


def decoys(s: Line) -> list[int]:
    return sorted({cell.arm for cell in s.others if equal(s, cell, cell.arm) is not None})


@dataclass
class Elimination:
    """A_h, bar A_h, und A_h; last phases of all arms of A*, A*_i of those that are removed."""

    active: list[tuple[int, ...]]
    removed: list[tuple[int, ...]]
    guaranteed: list[tuple[int, ...]]
    last_phase: dict[int, float]
    helpers: dict[int, tuple[int, ...]]
    closest: float


def elimination(s: Line, n: float, beta: float) -> Elimination:
    """The sequences of docs/notes/mathematics.md 4.1. For beta = 1, ``closest`` counts infima compared with 0 as they are."""
    root = math.sqrt((beta + 1) ** 2 + 1 / math.log(n))
    k = exact(root / (beta - 1)) if beta > 1 else None  # None: infinite, times 0 is 0
    everyone, delta, distances = best_arms(s), gaps(s), [math.inf]
    out = Elimination([tuple(everyone)], [], [], dict.fromkeys(everyone, math.inf), {}, math.inf)
    for h in count():
        scale, active = Fraction(1, 2**h), out.active[h]
        weights = {j: Fraction(1, 2 ** int(max(h - p - 1, 0))) for j, p in out.last_phase.items()}
        guaranteed, removed = [*(active if h == 0 else ())], []
        for i in active if h > 0 else ():
            gap = hardest(s, i, everyone, weights=weights)[0]
            far = k * gap if k else (gap and math.inf)
            distances.append(abs(2 * scale - far) / max(2 * scale, far) if k else gap)
            if 2 * scale > far:
                guaranteed.append(i)
        for i in active:
            gap = hardest(s, i, {*guaranteed, i})[0]
            distances.append(abs(scale - gap) / max(scale, gap))
            if scale <= gap:
                removed.append(i)
                out.last_phase[i] = h
                out.helpers[i] = tuple(sorted({*guaranteed, i}))
        out.guaranteed.append(tuple(guaranteed))
        out.removed.append(tuple(removed))
        left = tuple(i for i in active if i not in removed)
        if all(delta[i] == 0 for i in left):
            break
        out.active.append(left)
    out.closest = float(min(x for x in distances if x > 0))
    return out


def constant_regret(s: Line) -> bool:
    """Omega^cr: gaps are absolute values of lines, constant iff equal at both ends and between."""
    wanted = [gamma_star(s)[0] if j == s.best else 0 for j in s.arms]
    for cell in s.others:
        for x in (cell.left, (cell.left + cell.right) / 2, cell.right):
            far = list(map(abs, offsets(s, cell.piece, x, s.arms)))
            if any(far[j] != wanted[j] for j in s.arms if j != cell.arm):
                return False
    return True


def classes(s: Line, n: float, beta: float, factor: Any = 1, pair: bool = False) -> dict[str, bool]:
    """Memberships of docs/notes/mathematics.md 4.3, exactly. Arms without A*_i (never removed) pass Omega^opt."""
    rest = set(s.arms) - {s.best}
    helpers = {i: (i, s.best) for i in rest} if pair else elimination(s, n, beta).helpers
    ratios = []
    for i in rest & set(best_arms(s)) & set(helpers):
        plus, star = (hardest(s, i, helpers[i], optimistic)[0] for optimistic in (True, False))
        ratios.append(plus**2 <= exact(factor) * star**2)
    return {
        "worst_case": all(hardest(s, i, {i}, True)[0] == hardest_only(s, i) for i in rest),
        "optimistic": all(ratios),
        "constant_regret": constant_regret(s),
        "assumption1": gamma_star(s)[0] > 0,
        "unconfused": not confusing(s),
    }


def costly(s: Line) -> list[int]:
    """The arms of A* with a positive gap."""
    return [i for i in best_arms(s) if gaps(s)[i] > 0]


def over_psi(s: Line, using: dict[int, Any], optimistic: bool = False) -> float:
    """Sum of ``Delta_i / Psi`` over the costly arms."""
    roots = {i: hardest(s, i, using[i], optimistic)[0] for i in costly(s)}
    return sum(float(gaps(s)[i] / root**2) for i, root in roots.items())


def bound_sucb(s: Line, n: float, alpha: float, sigma: float) -> float:
    """For alpha > 1. Delta_max is over A*(Theta), as in the paper's proof."""
    level, total = exact(16 * sigma**2 * alpha * math.log(n)), Fraction(0)
    for i in costly(s):
        if (gap := hardest(s, i, {i}, optimistic=True)[0]) != math.inf:
            total += gaps(s)[i] * math.ceil(level / gap**2)
    tail = len(best_arms(s)) * (2 * alpha - 1) / (alpha - 1)
    return float(total) + tail * float(max(gaps(s)[i] for i in best_arms(s)))


def sae_tail(s: Line, n: float, alpha: float, beta: float) -> float:
    return len(best_arms(s)) * (1 + n ** (1 - 2 * alpha / beta**2) * (math.log2(n) + 2) ** 2)


def bound_sae(s: Line, n: float, alpha: float, beta: float) -> float:
    total = over_psi(s, elimination(s, n, beta).helpers)
    return 4 * alpha * (1 + 1 / beta) ** 2 * math.log(n) * total + sae_tail(s, n, alpha, beta)


def bound_sae_gap_form(s: Line, n: float, alpha: float, beta: float) -> float:
    total = sum(1 / float(gaps(s)[i]) for i in costly(s))
    return 16 * alpha * (1 + 1 / beta) ** 2 * math.log(n) * total + sae_tail(s, n, alpha, beta)


def bound_asae_log(s: Line, n: float) -> float:
    total = over_psi(s, {i: {i, s.best} for i in s.arms})
    return 192 * math.log(n) * total + 6 * len(best_arms(s))


def bound_asae_const(s: Line) -> float:
    closest, arms = gamma_star(s)[0], len(best_arms(s))
    if closest == 0:
        return math.inf
    total = over_psi(s, {i: {i, s.best} for i in s.arms})
    return 480 * math.log(20 * arms * math.log(2) / closest**2 + 2 * arms) * total + 9 * arms


def lower_bk(s: Line, sigma: float) -> float:
    return 2 * sigma**2 * over_psi(s, {i: {i} for i in s.arms}, optimistic=True)


def holds_from(y: int, x: float) -> bool:
    """Is ``z >= x log z`` for all real z >= y >= 1?"""
    # z - x log z falls up to z = x, where it is x (1 - log x) < 0 iff x > e, and rises from there:
    # for x > e no y below x will do, and if it is not negative at y >= x it never is again
    return x <= math.e or (y >= x and y >= x * math.log(y))


def omega(x: float) -> int:
    return next(y for y in count(1) if holds_from(y, x))


def lower_const(s: Line, n: float, c: float, sigma: float) -> tuple[float | None, bool]:
    """The value where its formula has one (else None), and whether all conditions hold."""
    closest, delta = gamma_star(s)[0], [x for i, x in enumerate(gaps(s)) if i != s.best]
    if closest in (0, math.inf) or any(hardest(s, i, {i})[0] == 0 for i in costly(s)):
        return None, False
    start = math.floor(2 * exact(sigma) ** 2 / closest**2)  # whole pulls (I-21)
    ends = [s.means(cell.piece, x) for cell in s.others for x in (cell.left, cell.right)]
    margin = min(max(means) - means[s.best] for means in ends)
    if start <= 1 or margin == 0:
        return None, False
    argument = float(margin**2 * start) / (4 * math.e**2 * c * math.log(start))
    value = sigma**2 * over_psi(s, {i: {i} for i in s.arms}) * math.log(argument)
    if min(delta) <= closest or not constant_regret(s):  # Gamma_* < Delta_min, no other gap is 0
        return value, False
    d = float(sum(1 / x**2 for x in delta))
    return value, bool(holds_from(start, 2 * c * d) and n >= start and argument > 1)


def divergence(p: Fraction, q: Fraction, family: str, sigma: float) -> float:
    if family == "gaussian":
        return float((p - q) ** 2 / (2 * exact(sigma) ** 2))
    if p == q:
        return 0.0
    if (p > 0 and q <= 0) or (p < 1 and q >= 1):
        return math.inf
    one = float(p) * math.log1p((p - q) / q) if p > 0 else 0.0
    return one + (float(1 - p) * math.log1p((q - p) / (1 - q)) if p < 1 else 0.0)


def cheapest(cost: np.ndarray, rows: np.ndarray) -> float:
    """Least cost over the vertices of ``{eta >= 0: rows eta >= 1}``; the cost is not negative."""
    size, best = len(cost), math.inf
    sides, right = np.vstack([rows, np.eye(size)]), np.repeat([1.0, 0.0], [len(rows), size])
    for chosen in map(list, combinations(range(len(sides)), size)):
        try:
            eta = np.linalg.solve(sides[chosen], right[chosen])
        except np.linalg.LinAlgError:
            continue
        if (sides @ eta >= right - np.where(right, 1e-9, 1e-12 * abs(eta).max())).all():
            best = min(best, float(cost @ eta))
    return best


def graves_lai(s: Line, family: str, sigma: float = 0.5, samples: int = 400) -> tuple[float, bool]:
    """C (inf if no allocation will do, a bit low if cells are sampled), and whether Lambda is empty."""
    rows, free = [], [j for j in s.arms if j != s.best]  # eta of i* is 0
    for cell in confusing_cells(s):
        for k in range(samples if cell.left < cell.right else 1):
            x = cell.left + (cell.right - cell.left) * Fraction(k, samples - 1)
            row = [divergence(s.truth[j], s.means(cell.piece, x)[j], family, sigma) for j in free]
            if math.inf not in row:  # else an arbitrarily small share of pulls refutes it
                rows.append(row)
    if not rows:
        return 0.0, not confusing(s)
    cost, sides = np.array([float(gaps(s)[j]) for j in free]), np.array(rows)
    if len(rows) <= 8:
        return cheapest(cost, sides), False
    result = linprog(cost, A_ub=-sides, b_ub=-np.ones(len(rows)), method="highs")
    return (float(result.fun) if result.status == 0 else math.inf), False


def check() -> None:
    """Print the values of docs/notes/mathematics.md 6 and of I-10, and bounds that add 2#A* instead of sae_tail."""
    near, far = ([0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.84, 0.1]), ([0.8, 0.4, 0.6, 0.88], [0.8, 0.92, 0.6, 0.5])  # fmt: skip
    one = (0, 0.33, (0.85, 0.8, 0.6), (0.8, 0.8, 0.8), "left")
    two = (0.33, 0.66, (0.8, 0.2, 0.86), (0.4, 0.2, 0.86), "left")
    three = (0.66, 1, (0.4, 0.8, 0.8), (0.4, 0.8, 0.6), "both")
    cases = [
        (Finite([*near, *far], 0), 5e5, 1607.0, 6404.1, 22940.0),
        (Line([one, two, three], 0.0), 1e4, 587.4, 560.9),
        (Line([one, two, three], 0.165), 1e4, 746.0, 292.3),
    ]
    for s, n, *sheet in cases:
        print("Gamma_*", float(gamma_star(s)[0]), "BK", lower_bk(s, 0.5**0.5), "decoys", decoys(s))
        print("C", [graves_lai(s, *x) for x in (("gaussian",), ("gaussian", 1), ("bernoulli",))])
        for i, using in ((2, {2}), (2, {0, 2}), (2, {0, 1, 2}), (1, {0, 1})):
            print(i, using, hardest(s, i, using)[1:], *map(float, grid_hardest(s, i, using, 300)))
        for beta, value in zip((1, 3, 8), sheet, strict=False):
            run, bound = elimination(s, n, beta), bound_sae(s, n, beta**2, beta)
            other = bound - sae_tail(s, n, beta**2, beta) + 2 * len(best_arms(s))
            print(beta, value, other, bound, run.last_phase, run.helpers, classes(s, n, beta))
    s = Finite([[0.8, 0.5, 0.7], [0.8, 0.5, 0.85], [0.8, 0.9, 0.7], [0.64, 0.66, 0.1]], 0)
    print("I-10: .0256 .16", *(float(hardest(s, 1, *x)[0] ** 2) for x in (({0, 1},), ({1}, True))))
    print(elimination(s, 1e4, 3).helpers, classes(s, 1e4, 3), classes(s, 1e4, 3, pair=True))
    print("omega: 5, 36, 648, 116672", [omega(x) for x in (3, 10, 100, 1e4)])


if __name__ == "__main__":
    check()
