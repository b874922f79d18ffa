"""Definition-level oracles of polyhedral structures, in exact arithmetic; slow on purpose.

A structure is a list of pieces, a piece a bounded polytope of parameters x with means affine in x.
Every finite float is the rational number it stands for. A form is an affine function of x: its
coefficients, then its constant. A region, what an arm owns in a piece, is given by weak forms that
are <= 0 and strict ones that are < 0. It is not empty iff the strict ones can all be <= -s for an
s > 0; then infima over it are minima over its closure. Linear programs and least squares answer
all questions but ``graves_lai``, and every answer of theirs is proved before it is used.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, count, product
from typing import Any, NamedTuple

import numpy as np
from oracles import policies as naive
from oracles.structures import MP, ONE, ZERO, Curves, Game, Real, Trace, exact, log, real
from scipy.optimize import linprog, nnls
from scipy.special import rel_entr

Numbers = Sequence[Any]
Tape = Sequence[Numbers]
Pieces = Sequence["Polytope"]
SAME = Fraction(1, 10**30)  # numbers made of rounded roots that are nearer than this are equal


class Polytope(NamedTuple):
    """{x: lower <= rows x <= upper} with means slopes x + intercepts; bounds may be infinite."""

    slopes: Sequence[Numbers]
    intercepts: Numbers
    rows: Sequence[Numbers]
    lower: Numbers
    upper: Numbers


class Region(NamedTuple):
    """The models of a piece owned by an arm; all forms are arrays of fractions."""

    piece: int
    arm: int
    means: np.ndarray
    weak: list[np.ndarray]
    strict: list[np.ndarray]

    def cut(self, weak: Numbers = (), strict: Numbers = ()) -> Region:
        return self._replace(weak=[*self.weak, *weak], strict=[*self.strict, *strict])


def minus(form: np.ndarray, value: Any) -> np.ndarray:
    """The form minus a number; ``minus(mu, v)`` <= 0 says mu <= v, and its negative says mu >= v."""
    return form - value * np.eye(len(form), dtype=int)[-1].astype(object)


def wide(form: Numbers, value: int) -> list[Any]:
    """The form plus value times a new variable."""
    return [*form[:-1], value, form[-1]]


def whole(form: Numbers) -> list[int]:
    """The form times the common denominator of its coefficients."""
    scale = math.lcm(*(v.denominator for v in form))
    return [v.numerator * (scale // v.denominator) for v in form]


def maximise(form: Numbers, weak: Sequence[Numbers]) -> tuple[Fraction, np.ndarray] | None:
    """The largest value of form where all weak ones are <= 0, and (x, 1) there; None if nowhere.

    With weak forms a x - b and form c x: the simplex method with Bland's rule for the dual, least
    b y over y >= 0 with y a = c, from artificial variables with costs above all others (the last
    row but one of the table has those costs, the last row the rest; all are integers over ``den``).
    The method need not be trusted: x and y, or y that shows that there is no x, are checked.
    """
    n, m = len(form) - 1, len(weak)
    table = np.array([whole(f) for f in weak], object).reshape(m, n + 1)
    a, b, c = table[:, :n], -table[:, n], np.array(whole(form)[:n], object)
    sign = np.where(c < 0, -1, 1).astype(object)
    table = np.hstack([sign[:, None] * a.T, np.eye(n, dtype=int), (sign * c)[:, None]])
    table = np.vstack([table, -table.sum(axis=0), [*b, *[0] * (n + 1)]])
    table[n, m : m + n] = 0
    basis, den = np.arange(m, m + n), 1
    while negative := [j for j, z in enumerate(zip(*table[n:, :-1], strict=True)) if z < (0, 0)]:
        enter, y = negative[0], np.zeros(m + n, object)
        column = table[:, enter].copy()
        up = [i for i in range(n) if column[i] > 0]
        if not up:
            y[enter], y[basis] = den, -column[:n]
            assert all([(y >= 0).all(), not (y[:m] @ a).any(), y[:m] @ b < 0])
            return None
        leave = min(up, key=lambda i: (Fraction(table[i, -1], column[i]), basis[i]))
        line, pivot = table[leave].copy(), column[leave]
        table = (table * pivot - column[:, None] * line) // den
        table[leave], basis[leave], den = line, enter, pivot
    x, y = -sign * table[-1, m : m + n], np.zeros(m + n, object)
    y[basis] = table[:n, -1]
    assert all([(a @ x <= b * den).all(), (y >= 0).all(), (y[:m] @ a == c * den).all()])
    assert y[:m] @ b == c @ x
    point = np.array([*(Fraction(v, den) for v in x), ONE], object)
    return np.array(form, object) @ point, point


def top(form: Numbers, region: Region) -> Fraction:
    """The supremum of a form over a region that is not empty."""
    return maximise(form, region.weak + region.strict)[0]


def room(region: Region) -> Any:
    """Largest s <= 1 such that strict forms can be <= -s (-inf if the weak ones leave no x)."""
    n = region.means.shape[1] - 1
    forms = [wide(f, 0) for f in region.weak] + [wide(f, 1) for f in region.strict]
    found = maximise([0] * n + [1, 0], [*forms, [0] * n + [1, -1]])
    return found[0] if found else -math.inf


def regions(pieces: Pieces, arm: int | None = None) -> list[Region]:
    """The regions that are not empty, of one arm or of all, by piece and arm."""
    spaces = []
    for slopes, intercepts, *rest in pieces:
        ends = [z for row, *both in zip(*rest, strict=True) for z in ((-1, row, both[0]), (1, row, both[1]))]  # fmt: skip
        ends = [(s, row, exact(end)) for s, row, end in ends if math.isfinite(end)]
        weak = [(*(s * exact(v) for v in row), -s * end) for s, row, end in ends]
        means = [(*map(exact, a), exact(c)) for a, c in zip(slopes, intercepts, strict=True)]
        spaces.append((tuple(means), tuple(weak)))
    return [r for r in owned(tuple(spaces)) if arm in (None, r.arm)]


@cache
def owned(spaces: Sequence[tuple[Numbers, Numbers]]) -> list[Region]:
    """An arm is above all arms that are not the same on the piece, and the lowest of those that are."""
    found = []
    for p, (means, weak) in enumerate(spaces):
        mu, arms = np.array(means, object), range(len(means))
        piece = Region(p, 0, mu, [np.array(f, object) for f in weak], [])
        most = {(i, j): top(mu[i] - mu[j], piece) for i, j in product(arms, arms)}
        for i in arms:
            same = [j for j in arms if most[i, j] == most[j, i] == 0]
            region = piece.cut(strict=[mu[j] - mu[i] for j in arms if j not in same])
            if i == min(same) and room(region) > 0:
                found.append(region._replace(arm=i))
    return found


def cells(pieces: Pieces) -> list[tuple[int, int]]:
    """(piece, arm) such that the arm owns a model of the piece."""
    return [(r.piece, r.arm) for r in regions(pieces)]


def inside(pieces: Pieces, low: Numbers, high: Numbers) -> list[tuple[Region, Any]]:
    """Every region cut by the open box low < mu < high, and its room."""
    found = []
    for r in regions(pieces):
        ends = [(s, *z) for s, x in ((-1, low), (1, high)) for z in zip(r.means, x, strict=True)]
        part = r.cut(strict=[s * minus(f, exact(v)) for s, f, v in ends if math.isfinite(v)])
        found.append((part, room(part)))
    return found


def best_arms_in(pieces: Pieces, low: Numbers, high: Numbers) -> set[int]:
    """The arms that own a model with low < mu < high for all arms."""
    return {part.arm for part, s in inside(pieces, low, high) if s > 0}


def highest(pieces: Pieces, low: Numbers, high: Numbers) -> dict[int, Fraction]:
    """The supremum of an arm's own mean over the models it owns with low < mu < high."""
    found = [(r.arm, top(r.means[r.arm], r)) for r, s in inside(pieces, low, high) if s > 0]
    return {arm: max(value for i, value in found if i == arm) for arm, _ in found}


def optimistic_arm(pieces: Pieces, low: Numbers, high: Numbers) -> int | None:
    """The arm with the largest value of :func:`highest`, the lowest on ties."""
    found = highest(pieces, low, high)
    return min(found, key=lambda i: (-found[i], i), default=None)


def distances(region: Region, means: Numbers, weights: Numbers) -> list[np.ndarray]:
    """``w_j (mu_j - m_j)`` and ``w_j (m_j - mu_j)`` for all arms."""
    triples = zip(region.means, means, weights, strict=True)
    return [s * exact(w) * minus(f, exact(m)) for f, m, w in triples for s in (1, -1)]


def agree(region: Region, means: Numbers, arms: Collection[int]) -> Region:
    """The models of a region with mu_j = means[j] for some arms."""
    return region.cut([s * minus(region.means[j], exact(means[j])) for j in arms for s in (1, -1)])


def nearest(
    pieces: Pieces, means: Numbers, arm: int, weights: Numbers, optimistic: bool = False, equal: Collection[int] = ()
) -> tuple[Fraction | None, bool]:  # fmt: skip
    """Infimum of max_j weights[j] |mu_j - means[j]| over the models owned by arm; is it attained?

    Optimistic: only models with mu_arm > max(means). Equal: only those with mu_j = means[j] there.
    """
    found = []
    for r in regions(pieces, arm):
        above = [minus(-r.means[arm], -max(map(exact, means)))] if optimistic else []
        part = agree(r, means, equal).cut(strict=above)
        if room(part) > 0:  # then look for the least g such that no distance is above g
            far, n = distances(r, means, weights), len(r.means[0]) - 1
            forms = [wide(f, 0) for f in part.weak + part.strict] + [wide(f, -1) for f in far]
            gap = -maximise([0] * n + [-1, 0], forms)[0]
            found.append((gap, room(part.cut([minus(f, gap) for f in far])) > 0))
    least = min((gap for gap, _ in found), default=None)
    return least, any(attained for gap, attained in found if gap == least)


def farthest(pieces: Pieces, means: Numbers, arm: int, weights: Numbers) -> Fraction:
    """Supremum of the same distance over the models owned by arm, 0 if there is none."""
    mine = regions(pieces, arm)
    return max([top(f, r) for r in mine for f in distances(r, means, weights)], default=ZERO)


def smallest_lead(pieces: Pieces, arm: int, other: int) -> Fraction | None:
    """Infimum of mu_arm - mu_other over the models owned by arm, None if there is none."""
    mine = regions(pieces, arm)
    return min([-top(r.means[other] - r.means[arm], r) for r in mine], default=None)


def confusing(pieces: Pieces, means: Numbers, arm: int, other: int) -> bool:
    """Does arm own a model with mu_other = means[other]?"""
    return any(room(agree(r, means, [other])) > 0 for r in regions(pieces, arm))


def fit(region: Region, weights: np.ndarray, targets: np.ndarray) -> Fraction:
    """Infimum over a region of sum_j weights[j] (mu_j - targets[j])**2.

    Wolfe's method: ``points`` are mean vectors of the closure, ``now`` is their best mixture. The
    loss is convex, so now is the minimiser if no mean vector of the closure lies below it along
    the slope at now. This proves the answer, however it was found.
    """
    means, closure = region.means, region.weak + region.strict
    points, shares = [means @ maximise(0 * means[0], closure)[1]], np.array([ONE])
    while True:
        now = shares @ np.array(points)
        slope = weights * (now - targets)
        far = means @ maximise(-slope @ means, closure)[1]
        if slope @ far >= slope @ now:
            return slope @ (now - targets)
        points, shares, step = [*points, far], np.append(shares, ZERO), ZERO
        while step != 1:  # towards the best shares of any sign, while all are >= 0
            zero = [[*(weights * p @ q for q in points), 1, -weights * p @ targets] for p in points]
            zero = np.array([*zero, [1] * len(points) + [0, -1]], object)  # a linear system
            move = maximise(0 * zero[0], [*zero, *-zero])[1][:-2] - shares
            step = min([ONE, *(-s / v for s, v in zip(shares, move, strict=True) if s + v < 0)])
            shares = shares + step * move
            points = [p for p, s in zip(points, shares, strict=True) if s > 0]
            shares = shares[shares > 0]


def least_squares(pieces: Pieces, pulls: Numbers, sums: Numbers) -> list[tuple[int, int, Fraction]]:
    """(piece, arm, infimum of sum_j pulls[j] (sums[j] / pulls[j] - mu_j)**2) of every cell."""
    weights = np.array(list(map(exact, pulls)))
    targets = np.array([exact(s) / (n or 1) for n, s in zip(weights, sums, strict=True)])
    return [(r.piece, r.arm, fit(r, weights, targets)) for r in regions(pieces)]


def fitting_arm(pieces: Pieces, pulls: Numbers, sums: Numbers) -> int:
    """The arm of the cell of least loss, the first one on ties."""
    return min(least_squares(pieces, pulls, sums), key=lambda cell: cell[2])[1]


def corners(weak: Sequence[np.ndarray]) -> np.ndarray:
    """The (x, 1) of a polytope at which as many forms as there are parameters are 0, in floats."""
    forms = np.array([f for f in weak if any(f[:-1])], float).reshape(-1, len(weak[0]))
    n = len(weak[0]) - 1
    forms /= np.linalg.norm(forms[:, :n], axis=1, keepdims=True)
    chosen = forms[np.array(list(combinations(range(len(forms)), n)), int)]
    chosen = chosen[abs(np.linalg.det(chosen[:, :, :n])) > 1e-9]
    x = np.linalg.solve(chosen[:, :, :n], -chosen[:, :, n:])[:, :, 0]
    x = np.hstack([x, np.ones((len(x), 1))])
    return x[(x @ forms.T <= 1e-9).all(axis=1)]


def divergence(p: np.ndarray, q: np.ndarray, family: str, sigma: float) -> tuple[np.ndarray, ...]:
    """KL(p, q) and its first two derivatives in q."""
    if family == "gaussian":
        return (q - p) ** 2 / (2 * sigma**2), (q - p) / sigma**2, np.ones(len(q)) / sigma**2
    q = np.clip(q, 1e-12, 1 - 1e-12)
    value = rel_entr(p, q) + rel_entr(1 - p, 1 - q)
    return value, (1 - p) / (1 - q) - p / q, (1 - p) / (1 - q) ** 2 + p / q**2


def worst(eta: np.ndarray, p: np.ndarray, hull: np.ndarray, *kl: Any) -> tuple[float, np.ndarray]:
    """A lower bound of the least sum_j eta_j KL(p_j, q_j) over the hull, and the best q found.

    Newton's method with least squares over the hull as steps. The sum is convex: it is at least
    its value at q minus the largest fall along the slope at q.
    """
    q = hull.mean(axis=0)
    for _ in range(50):
        value, slope, curve = divergence(p, q, *kl)
        fall = ((q - hull) @ (eta * slope)).max()
        if fall <= 1e-11 * (eta @ value):
            break
        d = (np.sqrt(eta * curve) * (hull - q + slope / curve)).T
        # min |d s| over shares s of sum 1: the last row only decides the scale of s
        s = nnls(np.vstack([d / abs(d).max(), np.ones(len(hull))]), np.eye(len(p) + 1)[-1])[0]
        steps = q + np.outer(0.5 ** np.arange(40), s @ hull / s.sum() - q)
        good = (
            x for x in steps if eta @ (divergence(p, x, *kl)[0] - value) <= 1e-15 * (eta @ value)
        )
        q = next(good, q)
    return eta @ value - fall, q


def graves_lai(
    pieces: Pieces, means: Numbers, best_arm: int, family: str, sigma: float = 0.5, samples: int = 200
) -> tuple[float, float]:  # fmt: skip
    """Bounds of C, the least sum_i eta_i (max(means) - means_i) over eta >= 0 such that
    sum_i eta_i KL(means_i, mu_i) >= 1 for the models of other arms with mu_best = means_best.

    Lower: the linear program for some of the models. Those at which its eta does worst are added
    until eta, scaled up to satisfy all models, costs the same (upper), or samples times. Models
    with infinite KL do not count: eta > 0 as small as you like satisfies them. All in floats: allow
    relative errors of 1e-6. Where an arm other than best_arm has gap 0, lower < upper may remain.
    """
    hulls, free = [], [j for j in range(len(means)) if j != best_arm]
    for r in regions(pieces):
        part = agree(r, means, [best_arm])
        for j in free if family == "bernoulli" else ():
            ends = [(-r.means[j], means[j] > 0), (minus(r.means[j], 1), means[j] < 1)]
            part = part.cut([f for f, _ in ends], [f for f, infinite in ends if infinite])
        if r.arm != best_arm and room(part) > 0:
            same = agree(part, means, free)
            if maximise(0 * r.means[0], same.weak + same.strict):
                return math.inf, math.inf  # models of another arm come as near as you like
            hulls.append(corners(part.weak + part.strict) @ r.means[free].astype(float).T)
    p = np.array([float(means[j]) for j in free])
    cost = np.array([float(max(map(exact, means)) - exact(means[j])) for j in free])
    models, lower, upper = [hull.mean(axis=0) for hull in hulls], 0.0, math.inf if hulls else 0.0
    for _ in range(samples):
        if upper <= lower * (1 + 1e-7):
            break
        rows = np.array([divergence(p, q, family, sigma)[0] for q in models])
        options = {"primal_feasibility_tolerance": 1e-10}
        # times 1e6, for linprog drops entries below 1e-9
        plan = linprog(1e6 * cost, -1e6 * rows, -np.ones(len(rows)), options=options)
        if plan.status:  # KL so small that it finds no eta
            break
        found = [worst(1e6 * plan.x, p, hull, family, sigma) for hull in hulls]
        lower, least = float(plan.fun), float(min(value for value, _ in found))
        upper = min(upper, lower / least) if least > 0 else upper
        models += [q for value, q in found if value < 1]
    return lower, upper


def note(trace: Trace, gaps: Iterable[Any]) -> None:
    """Record distances of numbers whose order mattered, unless they are equal."""
    trace.closest = min([trace.closest, *(float(abs(g)) for g in gaps if abs(g) > SAME)])


def box(game: Game, level: Real) -> tuple[list[Any], list[Any]]:
    """mean_i -+ sqrt(level / T_i), infinite for arms without a pull."""
    low, high = [-math.inf] * len(game.counts), [math.inf] * len(game.counts)
    for i, n in enumerate(game.counts):
        if n > 0:
            width = Fraction(int(MP.nint(MP.sqrt(level / n) * 2**180)), 2**180)
            low[i], high[i] = game.mean(i) - width, game.mean(i) + width
    return low, high


def sucb(pieces: Pieces, rewards: Tape, horizon: int, alpha: float) -> Trace:
    """The best arm of the most optimistic model; if there is none, the highest upper end."""
    game = Game(len(rewards), rewards)
    known = knows_its_best_mean(pieces)
    for t in range(1, horizon + 1):
        level = real(exact(alpha)) * log(t)
        low, high = box(game, level)
        note(game.trace, [s for _, s in inside(pieces, low, high)] if t > 1 else [])
        if values := highest(pieces, low, high):
            gaps = {i: max(values.values()) - value for i, value in values.items()}
            note(game.trace, gaps.values())
            tied = [i for i, gap in gaps.items() if gap <= SAME]
            game.trace.ties += len(tied) > 1
            if known:
                game.pull(min(values, key=lambda i: (game.counts[i], i)))
            else:
                game.pull(min(tied))
        else:
            game.trace.empty += 1
            game.pull(naive.highest_index(game, sorted({i for _, i in cells(pieces)}), level))
    return game.trace


def knows_its_best_mean(pieces: Pieces) -> bool:
    """Whether all cells give their arm one and the same mean, each in a piece of many models."""
    arms = len(pieces[0].slopes)
    known = set()
    for r, s in inside(pieces, [-math.inf] * arms, [math.inf] * arms):
        if s > 0:
            piece = r._replace(strict=[])
            moves = [top(mu, piece) + top(-mu, piece) for mu in r.means]
            fixed = any(moves) and moves[r.arm] == 0
            known.add(top(r.means[r.arm], piece) if fixed else None)
    return len(known) == 1 and None not in known


def sae(pieces: Pieces, rewards: Tape, horizon: int, alpha: float, beta: float) -> Trace:
    """Pull the active arms alike; after every phase keep those that own a model in the box."""
    game, level = Game(len(rewards), rewards), real(exact(alpha)) * log(horizon)
    active = sorted({i for _, i in cells(pieces)})
    for h in count():
        goal = naive.phase_target(game, level, beta, h, horizon)
        if not naive.top_up(game, active, [goal] * len(rewards), horizon):
            break
        parts = inside(pieces, *box(game, level))
        rooms = {i: max(s for part, s in parts if part.arm == i) for i in active}
        note(game.trace, rooms.values())
        active = naive.eliminate(game, active, [i for i in active if rooms[i] > 0])
    return game.trace


def greedy(pieces: Pieces, rewards: Tape, horizon: int) -> Trace:
    """The arm that fits best so far."""
    game = Game(len(rewards), rewards)
    for _ in range(horizon):
        losses = least_squares(pieces, game.counts, [Fraction(s, game.unit) for s in game.sums])
        _, arm, least = min(losses, key=lambda cell: cell[2])
        gaps = [loss - least for _, other, loss in losses if other != arm]
        note(game.trace, gaps)
        game.trace.ties += 0 in gaps
        game.pull(arm)
    return game.trace


def random_pieces(rng: random.Random, size: int, arms: int) -> list[Polytope]:
    """Two cut unit cubes whose numbers are multiples of 1/8: floats compute their means exactly."""
    pieces, cube = [], np.eye(size).tolist()
    for _ in range(2):
        draws = [[rng.randint(-8, 8) / 8 for _ in range(size)] for _ in range(arms + 3)]
        rows, start = draws[: rng.randint(0, 3)], [rng.randint(-4, 8) / 8 for _ in range(arms)]
        upper = [sum(row) / 2 + rng.randint(0, 2) / 8 for row in rows]  # the centre satisfies all
        lower = [rng.choice([-math.inf, sum(row) - v]) for row, v in zip(rows, upper, strict=True)]
        ends = [0.0] * size + lower, [1.0] * size + upper
        pieces.append(Polytope(draws[3:], start, cube + rows, *ends))
    return pieces


def check_grid(rng: random.Random, size: int, points: int) -> list[float]:
    """No model of a grid beats any infimum or supremum; how near it comes to the least squares."""
    arms, misses = rng.randint(2, 4), []
    pieces, x = random_pieces(rng, size, arms), np.array([*product(np.arange(points + 1) / points, repeat=size)])  # fmt: skip
    m, w, a = (np.array([rng.randint(1, 8) / 8 for _ in range(arms)]) for _ in range(3))
    losses = {(p, i): loss for p, i, loss in least_squares(pieces, [4] * arms, 4 * m)}
    tops = highest(pieces, m - a, m + a)
    for (p, piece), i in product(enumerate(pieces), range(arms)):
        inner, j = x @ np.array(piece.rows).T, (i + 1) % arms
        mu = x @ np.array(piece.slopes).T + piece.intercepts
        mu = mu[((piece.lower <= inner) & (inner <= piece.upper)).all(axis=1)]
        mu = mu[(mu[:, [i]] > np.delete(mu, i, axis=1)).all(axis=1)]
        if not len(mu):
            continue
        far, boxed = (w * abs(mu - m)).max(axis=1), mu[(abs(mu - m) < a).all(axis=1)]
        misses.append(float((4 * (mu - m) ** 2).sum(axis=1).min() - losses[p, i]))
        assert misses[-1] >= 0
        assert not len(boxed) or tops[i] >= boxed[:, i].max()
        assert farthest(pieces, m, i, w) >= far.max()
        assert smallest_lead(pieces, i, j) <= (mu[:, i] - mu[:, j]).min()
        assert confusing(pieces, m, i, j) or m[j] not in mu[:, j]
        for equal, optimistic in product([[], [j]], [False, True]):
            gap, attained = nearest(pieces, m, i, w, optimistic, equal)
            fits = far[
                (mu[:, equal] == m[equal]).all(axis=1)
                & (mu[:, i] > (m.max() if optimistic else -9))
            ]
            assert all(value > gap or (attained and value == gap) for value in fits)
    return misses


def check() -> None:
    """Cases with known answers; grids of models; the players of naive.py on intervals."""
    square = [Polytope([[1, 0], [0, 1]], [0, 0], [[1, 0], [0, 1]], [0, 0], [1, 1])]
    m, kl, free = [0.75, 0.5], math.log(4 / 3) / 2, [math.inf, math.inf]
    assert cells(square) == [(0, 0), (0, 1)]
    assert highest(square, [-math.inf, 0], [0.5, math.inf]) == {0: 0.5, 1: 1}
    assert best_arms_in(square, [0.5, 0], [1, 0.5]) == {0}
    assert [optimistic_arm(square, [0, 0], x) for x in (free, [1, 0])] == [0, None]
    assert nearest(square, m, 1, [1, 1]) == (0.125, False)  # half the gap of arm 1
    assert nearest(square, m, 1, [0, 1], optimistic=True) == (0.25, False)  # the gap
    assert nearest(square, m, 1, [1, 1], equal=[1]) == (0.25, False)
    assert nearest(square, [1, 0.5], 1, [1, 1], equal=[0]) == (None, False)
    assert (farthest(square, m, 1, [1, 2]), smallest_lead(square, 1, 0)) == (1, 0)
    assert [confusing(square, [v, 0], 1, 0) for v in (0.75, 1)] == [True, False]
    assert least_squares(square, [1, 2], [0.75, 1]) == [(0, 0, 0), (0, 1, Fraction(1, 24))]
    assert np.allclose(graves_lai(square, m, 0, "gaussian"), 2)
    assert np.allclose(graves_lai(square, m, 0, "bernoulli"), 0.25 / kl)
    cube = [Polytope(np.eye(3), np.zeros(3), np.eye(3), np.zeros(3), np.ones(3))]
    assert np.allclose(graves_lai(cube, [0.75, 0.5, 0.25], 0, "gaussian", 1), 2 * (4 + 2))
    assert cells([Polytope([[], []], [0.5, 0.5], [], [], [])]) == [(0, 0)]
    line = [Polytope([[1], [0], [0]], [0, 0.25, 0.25], [[1]], [0], [1])]
    assert cells(line) == [(0, 0), (0, 1)]
    assert nearest(line, [0.375, 0.25, 0], 1, [1, 0, 1]) == (0.25, True)
    assert nearest(line, [0.5, 0.25, 0.25], 1, [1, 0, 1]) == (0.25, False)
    rng = random.Random(1)
    for size, points in ((1, 1024), (2, 64), (3, 16)):
        misses = sorted(miss for _ in range(25) for miss in check_grid(rng, size, points))
        print(size, "parameters:", len(misses), "cells, grid too high by", np.quantile(misses, (0.5, 0.9)))  # fmt: skip
        assert misses[len(misses) // 2] < 0.05
    for _ in range(20):
        pieces, parts = random_pieces(rng, 1, 3), []
        for p, (slopes, start, *_) in enumerate(pieces):
            ends = [-top([-1, 0], r := regions([pieces[p]])[0]._replace(strict=[])), top([1, 0], r)]
            parts.append((*(2 * p + x for x in ends), *(np.array(slopes)[:, 0] * float(x) + start for x in ends)))  # fmt: skip
        tape = [[rng.randint(0, 1) for _ in range(60)] for _ in range(3)]
        ours = sucb(pieces, tape, 40, 0.5), sae(pieces, tape, 60, 0.1, 1), greedy(pieces, tape, 40)
        curves = Curves(parts)
        theirs = naive.sucb(curves, tape, 40, 0.5), naive.sae(curves, tape, 60, None, 0.1, 1), naive.greedy_mle(curves, tape, 40)  # fmt: skip
        for one, two in zip(ours, theirs, strict=True):
            assert (one.arms, one.empty) == (two.arms, two.empty) or one.ties * two.ties > 0


if __name__ == "__main__":
    check()
