"""Definition-level oracles of the e-value against a structure: is it wrong?

With T pulls and a sum S of rewards on each arm, c_ik the log-likelihood of arm k's rewards under model i,
l_i = sum_k c_ik and M_k the likelihood of arm k's rewards when its mean is not known (a mixture),

    E = 1/2 [ sum_i w_i / K sum_k exp(sum_{j != k} c_ij) M_k  +  prod_k M_k ] / sup exp(l)

The first term says that a model is right but for one arm, the second that nothing is known. The models i
and their weights w belong to the numerator only (1/m each if nothing else is said); the supremum is over
the whole structure, whatever the weights. The laws of rewards are two:

* :class:`Coins`: c = S log q + (T - S) log(1 - q), M = B(S + 1/2, T - S + 1/2) / B(1/2, 1/2), everything
  scaled to [0, 1]. A model with a mean outside the range has likelihood 0 once that arm was pulled.
* :class:`Normal`: c = (S mu - T mu**2 / 2) / sigma**2, M its integral over a normal law of the mean.

Numbers are fractions, logarithms have 60 digits. Exponentials are taken as they are: these numbers do not
underflow. E is infinite where no model is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, Protocol

from oracles.structures import MP, ONE, ZERO, Real, exact, real

__all__ = [
    "Coins",
    "Normal",
    "arm_shares",
    "enumerate_supermartingale",
    "log_e_curve",
    "log_e_gaussian",
    "log_e_polytope",
    "log_e_table",
    "looks",
]

Numbers = Sequence[Any]
Table = Sequence[Numbers]
Vector = list[Fraction]
HALF = Fraction(1, 2)


# ------------------------------------------------------------------------------ laws of rewards


class Law(Protocol):
    """How likely rewards are: a log-likelihood that is concave in the mean, and a mixture of likelihoods."""

    limits: tuple[Fraction, Fraction] | None  # means that an arm can have once it was pulled

    def log_likelihood(self, mean: Fraction, pulls: int, total: Fraction) -> Real:
        """The log-likelihood of rewards with this sum, -inf where they contradict the mean."""

    def slope(self, mean: Fraction, pulls: int, total: Fraction) -> Fraction:
        """The derivative of the log-likelihood with respect to the mean, where that is possible."""

    def log_mixture(self, arm: int, pulls: int, total: Fraction) -> Real:
        """The log of the likelihood of an arm's rewards if its mean is not known."""


class Coins:
    """Rewards in a range; their likelihood is that of coins, also between the ends of the range."""

    def __init__(self, reward_range: tuple[Any, Any] = (0, 1)) -> None:
        low, high = map(exact, reward_range)
        self.limits: tuple[Fraction, Fraction] | None = (low, high)
        self.low, self.width = low, high - low

    def log_likelihood(self, mean: Fraction, pulls: int, total: Fraction) -> Real:
        if pulls == 0:
            return MP.mpf(0)
        q, wins = (mean - self.low) / self.width, (total - pulls * self.low) / self.width
        if not 0 <= q <= 1:
            return -MP.inf
        return times_log(wins, q) + times_log(pulls - wins, 1 - q)

    def slope(self, mean: Fraction, pulls: int, total: Fraction) -> Fraction:
        q, wins = (mean - self.low) / self.width, (total - pulls * self.low) / self.width
        up = wins / q if wins > 0 else ZERO
        down = (pulls - wins) / (1 - q) if wins < pulls else ZERO
        return (up - down) / self.width

    def log_mixture(self, arm: int, pulls: int, total: Fraction) -> Real:
        wins = (total - pulls * self.low) / self.width
        return log_beta(wins + HALF, pulls - wins + HALF) - log_beta(HALF, HALF)


def times_log(count: Fraction, chance: Fraction) -> Real:
    """``count log(chance)`` with 0 log 0 = 0."""
    if count == 0:
        return MP.mpf(0)
    return real(count) * MP.log(real(chance)) if chance > 0 else -MP.inf


@cache
def log_beta(a: Fraction, b: Fraction) -> Real:
    return MP.loggamma(real(a)) + MP.loggamma(real(b)) - MP.loggamma(real(a + b))


UNIT = Coins()


class Normal:
    """Normal rewards with this sigma; arm k's mean has the law N(centres[k], ratio sigma**2) in the mixture."""

    limits: tuple[Fraction, Fraction] | None = None

    def __init__(self, sigma: Any, centres: Numbers, ratio: Any) -> None:
        self.sigma, self.ratio, self.centres = exact(sigma), exact(ratio), list(map(exact, centres))

    def log_likelihood(self, mean: Fraction, pulls: int, total: Fraction) -> Real:
        return real((total * mean - pulls * mean**2 / 2) / self.sigma**2)

    def slope(self, mean: Fraction, pulls: int, total: Fraction) -> Fraction:
        return (total - pulls * mean) / self.sigma**2

    def log_mixture(self, arm: int, pulls: int, total: Fraction) -> Real:
        """The integral of likelihood times density over the mean, by the trapezium rule.

        For a bell curve the rule's error is e**-300 of it with steps of a quarter of its width, and what
        is beyond 20 widths is e**-200. Where the bell stands only places the points.
        """
        centre, spread = real(self.centres[arm]), real(self.ratio) * real(self.sigma) ** 2
        precision = real(pulls + 1 / self.ratio)
        peak = (real(total) + centre / real(self.ratio)) / precision
        step = real(self.sigma) / MP.sqrt(precision) / 4

        def exponent(mean: Real) -> Real:
            fit = (real(total) * mean - pulls * mean**2 / 2) / real(self.sigma) ** 2
            return fit - (mean - centre) ** 2 / (2 * spread)

        heights = MP.fsum(MP.exp(exponent(peak + j * step)) for j in range(-80, 81))
        return MP.log(heights * step / MP.sqrt(2 * MP.pi * spread))


# -------------------------------------------------------------------------------- the e-value


def parts(law: Law, models: Table, pulls: Sequence[int], sums: Numbers) -> list[list[Real]]:
    """The numbers c_ik."""
    totals = list(map(exact, sums))
    return [
        [law.log_likelihood(exact(mu), n, s) for mu, n, s in zip(row, pulls, totals, strict=True)]
        for row in models
    ]


def mixtures(law: Law, pulls: Sequence[int], sums: Numbers) -> list[Real]:
    """The logs of M_k."""
    return [
        law.log_mixture(k, n, exact(s)) for k, (n, s) in enumerate(zip(pulls, sums, strict=True))
    ]


def weights(count: int, prior: Numbers | None) -> list[Real]:
    """The prior with a sum of one."""
    given = list(map(exact, prior)) if prior is not None else [ONE] * count
    return [real(w / sum(given)) for w in given]


def blame(
    law: Law, models: Table, pulls: Sequence[int], sums: Numbers, prior: Numbers | None = None
) -> list[Real]:
    """For each arm k the sum over the models of w_i / K exp(sum over the other arms of c_ij) M_k."""
    c, unknown = parts(law, models, pulls, sums), mixtures(law, pulls, sums)
    n_arms, prior_of = len(pulls), weights(len(models), prior)
    found = []
    for k in range(n_arms):
        others = [sum(row[:k] + row[k + 1 :], MP.mpf(0)) for row in c]
        right = MP.fsum(w * MP.exp(x) for w, x in zip(prior_of, others, strict=True))
        found.append(right * MP.exp(unknown[k]) / n_arms)
    return found


def numerator(
    law: Law, models: Table, pulls: Sequence[int], sums: Numbers, prior: Numbers | None = None
) -> Real:
    """The mixture of likelihoods above the line, with its factor 1/2."""
    nothing_known = MP.exp(sum(mixtures(law, pulls, sums), MP.mpf(0)))
    return (MP.fsum(blame(law, models, pulls, sums, prior)) + nothing_known) / 2


def log_e(
    law: Law,
    models: Table,
    highest: Real,
    pulls: Sequence[int],
    sums: Numbers,
    prior: Numbers | None = None,
) -> Real:
    """Log E, ``highest`` being the largest log-likelihood in the structure."""
    if highest == -MP.inf:
        return MP.inf
    return MP.log(numerator(law, models, pulls, sums, prior)) - highest


def log_e_table(
    table: Table,
    pulls: Sequence[int],
    sums: Numbers,
    reward_range: tuple[Any, Any] = (0, 1),
    prior: Numbers | None = None,
) -> Real:
    """Log E of a table for rewards in a range."""
    law = Coins(reward_range)
    highest = max(sum(row, MP.mpf(0)) for row in parts(law, table, pulls, sums))
    return log_e(law, table, highest, pulls, sums, prior)


def log_e_gaussian(
    table: Table,
    pulls: Sequence[int],
    sums: Numbers,
    sigma: Any,
    centres: Numbers,
    ratio: Any,
    prior: Numbers | None = None,
) -> Real:
    """Log E of a table for normal or sub-Gaussian rewards."""
    law = Normal(sigma, centres, ratio)
    highest = max(sum(row, MP.mpf(0)) for row in parts(law, table, pulls, sums))
    return log_e(law, table, highest, pulls, sums, prior)


def arm_shares(
    table: Table,
    pulls: Sequence[int],
    sums: Numbers,
    reward_range: tuple[Any, Any] = (0, 1),
    prior: Numbers | None = None,
) -> list[Real]:
    """The share of each arm in the first term; all 0 where that term is 0: two arms contradict each model."""
    found = blame(Coins(reward_range), table, pulls, sums, prior)
    total = MP.fsum(found)
    return [x / total for x in found] if total > 0 else found


def looks(n: int) -> list[int]:
    """The numbers of pulls up to n after which E is computed: 1 to 100, then 1 % more, rounded up."""
    found, last = list[int](), 0
    while True:
        last += 1 if last < 100 else -(-last // 100)
        if last > n:
            return found
        found.append(last)


# -------------------------------------------------------------------------------------- curves


def log_e_curve(
    pieces: Sequence[tuple[Numbers, Numbers]],
    grid: Table,
    pulls: Sequence[int],
    sums: Numbers,
    law: Law = UNIT,
) -> Real:
    """Log E of pieces ``(means at the start, means at the end)``, affine between; ``grid`` has the models above the line."""
    totals = list(map(exact, sums))
    highest = max(
        highest_on_piece(law, list(map(exact, a)), list(map(exact, b)), pulls, totals)
        for a, b in pieces
    )
    return log_e(law, grid, highest, pulls, sums)


def highest_on_piece(
    law: Law, start: Vector, end: Vector, pulls: Sequence[int], sums: Vector
) -> Real:
    """The largest log-likelihood on the closed piece: best of 65 points, then ternary search around it."""
    left, right = possible_positions(law, start, end, pulls)
    if left > right:
        return -MP.inf

    def fit(x: Fraction) -> Real:
        means = [a + (b - a) * x for a, b in zip(start, end, strict=True)]
        each = zip(means, pulls, sums, strict=True)
        return sum((law.log_likelihood(mu, n, s) for mu, n, s in each), MP.mpf(0))

    points = [left + (right - left) * Fraction(j, 64) for j in range(65)]
    values = [fit(x) for x in points]
    best = max(range(65), key=values.__getitem__)
    left, right = points[max(best - 1, 0)], points[min(best + 1, 64)]
    for _ in range(120):  # the fit is concave: its maximum is not beyond the lower of two points
        third = (right - left) / 3
        if fit(left + third) < fit(right - third):
            left += third
        else:
            right -= third
    return max(values[best], fit((left + right) / 2))


def possible_positions(
    law: Law, start: Vector, end: Vector, pulls: Sequence[int]
) -> tuple[Fraction, Fraction]:
    """The positions from 0 to 1 at which every pulled arm has a mean that the law allows."""
    left, right = ZERO, ONE
    for a, b, n in zip(start, end, pulls, strict=True):
        if n == 0 or law.limits is None:
            continue
        low, high = law.limits
        if a == b:
            left, right = (left, right) if low <= a <= high else (ONE, ZERO)
        else:
            at = sorted([(low - a) / (b - a), (high - a) / (b - a)])
            left, right = max(left, at[0]), min(right, at[1])
    return left, right


# ------------------------------------------------------------------------------------ polytopes

GAP = Fraction(1, 10**10)  # how far the likelihood found may be below the largest
GRAIN = 2**100  # weights of vertices are whole numbers of 1/GRAIN


def log_e_polytope(
    vertices: Table, grid: Table, pulls: Sequence[int], sums: Numbers, law: Law = UNIT
) -> Real:
    """Log E of the convex hull of a few vertices; ``grid`` has the models above the line."""
    corners = possible_corners(law, [list(map(exact, v)) for v in vertices], pulls)
    highest = highest_in_hull(law, corners, pulls, list(map(exact, sums)))
    return log_e(law, grid, highest, pulls, sums)


def possible_corners(law: Law, vertices: list[Vector], pulls: Sequence[int]) -> list[Vector]:
    """The corners of the part of the hull in which every pulled arm has a mean that the law allows.

    In weights of the vertices a corner has one condition less than there are weights that holds with equality.
    """
    if law.limits is None:
        return vertices
    low, high = law.limits
    pulled = [k for k, n in enumerate(pulls) if n > 0]
    if all(low <= v[k] <= high for v in vertices for k in pulled):
        return vertices
    size = len(vertices)
    above = [([ONE if i == j else ZERO for i in range(size)], ZERO) for j in range(size)]
    for k in pulled:
        above.append(([v[k] for v in vertices], low))
        above.append(([-v[k] for v in vertices], -high))
    corners = []
    for tight in combinations(above, size - 1):
        found = solve([([ONE] * size, ONE), *tight])
        if found and all(dot(row, found) >= least for row, least in above):
            corners.append(combine(found, vertices))
    return corners


def solve(equations: list[tuple[Vector, Fraction]]) -> Vector | None:
    """The solution of as many linear equations as unknowns, None if there is not exactly one."""
    rows, size = [[*left, right] for left, right in equations], len(equations)
    for i in range(size):
        pivot = next((r for r in rows[i:] if r[i] != 0), None)
        if pivot is None:
            return None
        rows.remove(pivot)
        pivot = [x / pivot[i] for x in pivot]
        rows = [[x - row[i] * p for x, p in zip(row, pivot, strict=True)] for row in rows]
        rows.insert(i, pivot)
    return [row[-1] for row in rows]


def dot(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), ZERO)


def combine(shares: Vector, corners: list[Vector]) -> Vector:
    return [dot(shares, list(column)) for column in zip(*corners, strict=True)]


def highest_in_hull(law: Law, corners: list[Vector], pulls: Sequence[int], sums: Vector) -> Real:
    """The largest log-likelihood in the hull, by moving weight from the worst corner to the best one.

    The likelihood is concave, so it rises from the means at hand by no more than its slope towards the
    best corner. Once that is below GAP we are done: the answer proves itself, however it was found.
    """
    if not corners:
        return -MP.inf
    share = [Fraction(GRAIN // len(corners), GRAIN)] * len(corners)
    share[0] += 1 - sum(share)

    def fit(means: Vector) -> Real:
        each = zip(means, pulls, sums, strict=True)
        return sum((law.log_likelihood(mu, n, s) for mu, n, s in each), MP.mpf(0))

    def gradient(means: Vector) -> Vector:
        each = zip(means, pulls, sums, strict=True)
        return [law.slope(mu, n, s) if n > 0 else ZERO for mu, n, s in each]

    if fit(combine(share, corners)) == -MP.inf:  # inside the hull: so it is everywhere
        return -MP.inf
    for _ in range(5000):
        means = combine(share, corners)
        slopes = gradient(means)
        heights = [dot(slopes, corner) for corner in corners]
        best = max(range(len(corners)), key=heights.__getitem__)
        if heights[best] - dot(slopes, means) <= GAP:
            return fit(means)
        worst = min((j for j in range(len(corners)) if share[j] > 0), key=heights.__getitem__)
        way = [b - a for a, b in zip(corners[worst], corners[best], strict=True)]

        def at(step: Fraction, means: Vector = means, way: Vector = way) -> Vector:
            return [mu + step * d for mu, d in zip(means, way, strict=True)]

        def rises(step: Fraction, way: Vector = way, at: Callable[[Fraction], Vector] = at) -> bool:
            return dot(gradient(at(step)), way) >= 0

        whole = share[worst]  # only there can the likelihood be 0
        step = whole if fit(at(whole)) > -MP.inf and rises(whole) else longest_rise(rises, whole)
        share[best] += step
        share[worst] -= step
    raise ArithmeticError("the search for the largest likelihood did not settle")


def longest_rise(rises: Callable[[Fraction], bool], limit: Fraction) -> Fraction:
    """The longest step below the limit, in whole grains, at which a concave function still rises."""
    low, high = 0, int(limit * GRAIN)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if rises(Fraction(middle, GRAIN)) else (low, middle)
    return Fraction(low, GRAIN)


# ------------------------------------------------------------------------------- why it is valid

History = tuple[tuple[int, Fraction], ...]  # (arm, reward) of each pull so far
Chances = Sequence[tuple[Any, Any]]  # (reward, probability) of each reward that may come


def enumerate_supermartingale(
    table: Table,
    horizon: int,
    choose: Callable[[History], int],
    rewards: Sequence[Sequence[Chances]],
    prior: Numbers | None = None,
) -> Real:
    """The largest violation, over all histories, of what makes E valid; ``rewards[i][k]`` is arm k's law under model i.

    Under each model i the numerator over exp(l_i) is one at the start, is not expected to rise by the next
    pull, and is never below E. A drop that is expected is no violation: rewards other than 0 and 1 make one.
    """
    laws = [[[(exact(x), exact(p)) for x, p in law] for law in row] for row in rewards]
    for row, own in zip(table, laws, strict=True):
        for mean, law in zip(row, own, strict=True):
            if sum(p for _, p in law) != 1 or sum(x * p for x, p in law) != exact(mean):
                raise ValueError(f"the law {law} has not the mean {mean}")
    n_arms = len(table[0])

    def data(history: History) -> tuple[list[int], Vector]:
        pulls, sums = [0] * n_arms, [ZERO] * n_arms
        for arm, reward in history:
            pulls[arm] += 1
            sums[arm] += reward
        return pulls, sums

    @cache
    def quotient(i: int, history: History) -> Real:
        pulls, sums = data(history)
        fit = sum(parts(UNIT, table, pulls, sums)[i], MP.mpf(0))
        return numerator(UNIT, table, pulls, sums, prior) / MP.exp(fit)

    def violation(i: int, history: History) -> Real:
        """The worst one of model i in the histories that begin so and can happen under it."""
        now = quotient(i, history)
        worst = MP.exp(log_e_table(table, *data(history), prior=prior)) - now
        if len(history) == horizon:
            return worst
        arm = choose(history)
        nexts = [((*history, (arm, x)), p) for x, p in laws[i][arm] if p > 0]
        expected = MP.fsum(real(p) * quotient(i, longer) for longer, p in nexts)
        return max(worst, expected - now, *(violation(i, longer) for longer, _ in nexts))

    return max(max(abs(quotient(i, ()) - 1), violation(i, ())) for i in range(len(table)))
