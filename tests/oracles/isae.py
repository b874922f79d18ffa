"""Definition-level oracle of ISAE, a policy for tables that tests a leading model only while it pays.

One decision at a time, nothing planned ahead, nothing shared with the library. Means, rewards, priors and
options are the rational numbers they stand for. A weight is a product of rational bases to rational powers
(``Product``); its logarithm is taken to 100 digits, and two products with the same powers are equal exactly.

Comparisons closer than ``CLOSE``, relative to the larger side, raise :class:`TooClose`. Only an exact tie of
leaders or of arms does not: there the lowest index counts. Ties are exact if the terms agree one by one
(equal products, for arms equal sums of gaps and of logarithms for each weight). Ties that need more than
that to be seen, such as 1/2 * 1/2 against 1/4 * 1, raise, and so does whatever has no lowest index: a
threshold that is met exactly, a uniform on a border. Tests may raise ``CLOSE`` to keep away from rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import mpmath

__all__ = ["Rule", "TooClose", "Verdict", "chances", "chosen", "decide", "late", "play"]

Real = Any  # a number of the 100-digit context below; mpmath has no type stubs
Row = tuple[Fraction, ...]
Table = Sequence[Sequence[Any]]
Rewards = Sequence[Sequence[Any]]  # rewards[k][j] is the reward of the (j+1)-th pull of arm k
Product = dict[Fraction, Fraction]  # base -> power; no base is 1, no power 0

MP = mpmath.MPContext()
MP.dps = 100
ZERO, ONE = Fraction(0), Fraction(1)
FLOOR = Fraction(1e-6)  # least probability that a model gives to a reward
FORGOTTEN = Fraction(1e-9)  # rivals of no larger weight do not count in the value rule
SIGN = MP.mpf(10) ** -25  # where the sign of d(h, g) is not clear: raise
CLOSE = 1e-10  # nearer than this, relative to the larger number: raise; floats err by less


class TooClose(ArithmeticError):  # noqa: N818
    """Two numbers whose order matters are on a knife edge."""


class Rule(NamedTuple):
    """The options: kappa and t0 of the value rule, c of the threshold rule; f None is 1 and .2."""

    name: str = "value"
    kappa: Any = 0.3
    t0: Any = 100
    c: Any = 1
    f: Any = None
    leader: str = "auto"  # "likeliest", "drawn", or drawn only if rewards are out
    prior: Sequence[Any] | None = None


class Verdict(NamedTuple):
    """The heaviest model, whether to test it, the arm that it leads to, and the weights of the models."""

    leader: int
    tests: bool
    arm: int
    weights: list[Real]


class State(NamedTuple):
    """The table and what the models weigh: powers, weights with sum 1 (0 outside the set), the heaviest."""

    rows: list[Row]
    products: list[Product]
    weights: list[Real]
    leader: int
    f: Real


# ------------------------------------------------------------------------------ exact numbers


def exact(x: Any) -> Fraction:
    """The rational number a Python or numpy number stands for."""
    return Fraction(x.item() if hasattr(x, "item") else x)


def real(x: Fraction | int) -> Real:
    """A rational number to 100 digits."""
    return MP.mpf(x.numerator) / x.denominator


@cache
def log(x: Fraction) -> Real:
    """The logarithm of a positive rational number to 100 digits."""
    return MP.log(real(x))


def times(*factors: tuple[Fraction, Fraction]) -> Product:
    """The product of bases to powers."""
    product: Product = {}
    for base, power in factors:
        product[base] = product.get(base, ZERO) + power
    return {base: power for base, power in product.items() if base != 1 and power != 0}


def logarithm(product: Product) -> Real:
    """The sum of power log(base)."""
    return MP.fsum(real(power) * log(base) for base, power in product.items())


def near(x: Real, y: Real, scale: Real = 0) -> bool:
    """Whether two numbers differ by less than ``CLOSE`` of the larger one, or of a larger scale; 0 and 0 do not."""
    size = max(abs(x), abs(y), scale)
    return bool(size > 0 and abs(x - y) < MP.mpf(CLOSE) * size)


def less(x: Real, y: Real, scale: Real = 0) -> bool:
    """Whether x < y, if that is clear."""
    if near(x, y, scale):
        raise TooClose(f"{MP.nstr(x, 8)} against {MP.nstr(y, 8)}")
    return bool(x < y)


def highest(row: Row) -> int:
    """The lowest index of the largest number."""
    return row.index(max(row))


# ------------------------------------------------------------------------- models and rewards


def odds(mean: Fraction) -> tuple[Fraction, Fraction]:
    """What a model with this mean gives to a reward of 1 and to a reward of 0, with the floor."""
    return max(mean, FLOOR), max(1 - mean, FLOOR)


def differing(rows: Sequence[Row]) -> list[int]:
    """The arms on which not all models agree."""
    return [k for k in range(len(rows[0])) if len({row[k] for row in rows}) > 1]


def likelihood(row: Row, arms: Sequence[int], pulls: Row, sums: Row) -> Product:
    """What a model gives to the rewards told of some arms."""
    factors = []
    for k in arms:
        one, zero = odds(row[k])
        factors += [(one, sums[k]), (zero, pulls[k] - sums[k])]
    return times(*factors)


@cache
def surprise_powers(h: Fraction, g: Fraction) -> tuple[tuple[Fraction, Fraction], ...]:
    """The powers of exp d(h, g), where d is h log(p_h/p_g) + (1-h) log((1-p_h)/(1-p_g)), but at least 0."""
    (one_h, zero_h), (one_g, zero_g) = odds(h), odds(g)
    ones, zeros = times((one_h, h), (one_g, -h)), times((zero_h, 1 - h), (zero_g, h - 1))
    gain, loss = logarithm(ones), -logarithm(zeros)
    if 0 < abs(gain - loss) < SIGN * abs(gain):
        raise TooClose(f"the sign of d({float(h)}, {float(g)})")
    if gain <= loss:
        return ()
    return tuple(times(*ones.items(), *zeros.items()).items())


@cache
def surprise(h: Fraction, g: Fraction) -> Real:
    """d(h, g): what one pull tells for a mean of h against one of g, if h is true."""
    return logarithm(dict(surprise_powers(h, g)))


def heaviest(products: Sequence[Product], models: Sequence[int]) -> int:
    """The first of the models with the largest product."""
    logs = {i: logarithm(products[i]) for i in models}
    top = max(models, key=lambda i: logs[i])
    tied = [i for i in models if products[i] == products[top]]
    for i in models:
        if i not in tied and logs[top] - logs[i] < CLOSE * max(1, abs(logs[top])):
            raise TooClose(f"models {i} and {top} weigh nearly the same")
    return tied[0]


def with_pending(
    rows: Sequence[Row], told: Sequence[Product], h: int, pending: Row, arms: Sequence[int]
) -> list[Product]:
    """The likelihoods less pending_k d_k(h, g) in the logarithm for every arm k."""
    lowered = []
    for row, product in zip(rows, told, strict=True):
        factors = list(product.items())
        for k in arms:
            for base, power in surprise_powers(rows[h][k], row[k]):
                factors.append((base, -pending[k] * power))
        lowered.append(times(*factors))
    return lowered


def normalised(products: Sequence[Product], models: Sequence[int]) -> list[Real]:
    """The weights of some of the models, 0 for the others; their sum is 1."""
    logs = {i: logarithm(products[i]) for i in models}
    top = max(logs.values())
    weights = {i: MP.exp(value - top) for i, value in logs.items()}
    total = MP.fsum(weights.values())
    return [weights[i] / total if i in weights else MP.mpf(0) for i in range(len(products))]


def plausible(
    likelihoods: Sequence[Product], prior: Sequence[Fraction], t: Fraction, c: Fraction
) -> list[int]:
    """The set {i: log N - L_i < c log(max(t, 1) + 1)} of the threshold rule, N = sum prior_i exp(L_i)."""
    logs = [logarithm(product) for product in likelihoods]
    top = max(logs)
    log_n = top + MP.log(
        MP.fsum(real(p) * MP.exp(x - top) for p, x in zip(prior, logs, strict=True))
    )
    level = real(c) * log(max(t, ONE) + 1)
    return [i for i, x in enumerate(logs) if less(log_n - x, level, max(abs(log_n), abs(x)))]


def clock(pulls: Sequence[Any], pending: Sequence[Any]) -> Fraction:
    """The rewards told and the pulls whose rewards are out."""
    return sum((exact(n) for n in [*pulls, *pending]), ZERO)


def believed(
    table: Table, pulls: Sequence[Any], sums: Sequence[Any], pending: Sequence[Any], rule: Rule
) -> State:
    """What the models weigh after these pulls."""
    if rule.name not in ("value", "threshold"):
        raise ValueError(f"no rule {rule.name!r}")
    rows = [tuple(map(exact, row)) for row in table]
    counts, totals, out = (tuple(map(exact, x)) for x in (pulls, sums, pending))
    given = [ONE] * len(rows) if rule.prior is None else [exact(p) for p in rule.prior]
    prior = [p / sum(given) for p in given]
    possible = [i for i, p in enumerate(prior) if p > 0]
    arms = differing(rows)

    def posterior(likelihoods: Sequence[Product]) -> list[Product]:
        pairs = zip(prior, likelihoods, strict=True)
        return [times((p, ONE), *x.items()) if p > 0 else {} for p, x in pairs]

    likelihoods = [likelihood(row, arms, counts, totals) for row in rows]
    if any(out):
        h = heaviest(posterior(likelihoods), possible)
        likelihoods = with_pending(rows, likelihoods, h, out, arms)
    products = posterior(likelihoods)
    if rule.name == "threshold":
        inside = plausible(likelihoods, prior, clock(pulls, pending), exact(rule.c))
        possible = [i for i in possible if i in inside]
    f = exact((1 if rule.name == "value" else 0.2) if rule.f is None else rule.f)
    weights = normalised(products, possible)
    return State(rows, products, weights, heaviest(products, possible), real(f))


# ------------------------------------------------------------------------------ regret, information


def alive(state: State) -> list[int]:
    """The models with a weight."""
    return [i for i, w in enumerate(state.weights) if w > 0]


def gap(row: Row, arm: int) -> Fraction:
    """What a model loses with an arm."""
    return max(row) - row[arm]


def rivals(state: State, h: int) -> list[int]:
    """The models with a weight that have an arm better than the best arm of model h."""
    b = highest(state.rows[h])
    return [g for g in alive(state) if gap(state.rows[g], b) > 0]


def regrets(state: State) -> list[Real]:
    """The expected regret of a pull of each arm."""
    arms, models = range(len(state.rows[0])), alive(state)
    return [MP.fsum(state.weights[i] * real(gap(state.rows[i], k)) for i in models) for k in arms]


def information(state: State, h: int) -> list[Real]:
    """The sum over the rivals of h of w_g d_k(h, g) for each arm k; 0 where all agree."""
    mine, found = state.rows[h], rivals(state, h)
    return [
        MP.fsum(state.weights[g] * surprise(mine[k], state.rows[g][k]) for g in found)
        for k in range(len(mine))
    ]


def best_in_all(state: State) -> int | None:
    """The first arm without regret, if there is one."""
    for k in range(len(state.rows[0])):
        if all(gap(state.rows[i], k) == 0 for i in alive(state)):
            return k
    lost = regrets(state)
    if min(lost) < CLOSE * max(lost):
        raise TooClose("an arm has nearly no regret")
    return None


def terms(state: State, h: int, arm: int) -> list[tuple[Product, Fraction, Product]]:
    """For each different weight its powers, the sum of the gaps, the sum of the d(h, g) over rivals.

    Two arms with the same terms, in any order, have the same regret and the same information.
    """
    found, against = list[tuple[Product, Fraction, Product]](), rivals(state, h)
    for i in alive(state):
        lost, told = gap(state.rows[i], arm), dict[Fraction, Fraction]()
        if i in against:
            told = dict(surprise_powers(state.rows[h][arm], state.rows[i][arm]))
        same = next((x for x in found if x[0] == state.products[i]), None)
        if same is not None:
            found.remove(same)
            lost, told = lost + same[1], times(*told.items(), *same[2].items())
        found.append((state.products[i], lost, told))
    return found


def tie(state: State, h: int, k: int, other: int) -> bool:
    """Whether two arms have the same regret and the same information, term by term."""
    one, two = terms(state, h, k), terms(state, h, other)
    return all(x in two for x in one)


def aimed(state: State, h: int) -> int:
    """a: the arm of the largest info_k / (regret_k + f min_j regret_j), the best arm of h without any info."""
    told, lost = information(state, h), regrets(state)
    if not any(told):
        return highest(state.rows[h])
    ratios = [x / (r + state.f * min(lost)) for x, r in zip(told, lost, strict=True)]
    top = ratios.index(max(ratios))
    close = [k for k, ratio in enumerate(ratios) if k == top or near(ratio, ratios[top])]
    if not all(tie(state, h, k, top) for k in close):
        raise TooClose(f"arms {close} are nearly as good")
    return close[0]


# -------------------------------------------------------------------------------- the decision


def pays(state: State, t: Fraction, rule: Rule) -> bool:
    """Whether the value rule tests: a is not b and (t + t0) stay >= kappa nat."""
    h = state.leader
    b, against = highest(state.rows[h]), rivals(state, h)
    told, lost = information(state, h), regrets(state)
    weight = MP.fsum(state.weights[g] for g in against)
    stay = MP.fsum(state.weights[g] * real(gap(state.rows[g], b)) for g in against)
    prices = [
        r * weight / x for k, (r, x) in enumerate(zip(lost, told, strict=True)) if k != b and x > 0
    ]
    if not prices or less(real(t + exact(rule.t0)) * stay, real(exact(rule.kappa)) * min(prices)):
        return False
    return aimed(state, h) != b


def judged(
    table: Table, pulls: Sequence[Any], sums: Sequence[Any], pending: Sequence[Any], rule: Rule
) -> tuple[State, Verdict]:
    """What the models weigh, and the decision."""
    state = believed(table, pulls, sums, pending, rule)
    h = state.leader
    b, against = highest(state.rows[h]), rivals(state, h)

    def verdict(tests: bool, arm: int) -> tuple[State, Verdict]:
        return state, Verdict(h, tests, arm, state.weights)

    if rule.name == "value" and not any(less(real(FORGOTTEN), state.weights[g]) for g in against):
        return verdict(False, b)
    sure = best_in_all(state)
    if sure is not None:
        return verdict(False, sure)
    if not against:
        return verdict(False, b)
    if rule.name == "value" and not pays(state, clock(pulls, pending), rule):
        return verdict(False, b)
    return verdict(True, aimed(state, h))


def draws(pending: Sequence[Any], rule: Rule) -> bool:
    """Whether the leader of a test is drawn."""
    if rule.leader not in ("likeliest", "drawn", "auto"):
        raise ValueError(f"no leader {rule.leader!r}")
    return rule.leader == "drawn" or (rule.leader == "auto" and any(pending))


def drawn_model(weights: Sequence[Real], u: Any) -> int:
    """The first model with u < cumulative weight, the last one with a weight if there is none."""
    models = [i for i, w in enumerate(weights) if w > 0]
    point, total = real(exact(u)), MP.mpf(0)
    for i in models[:-1]:
        total += weights[i]
        if less(point, total):
            return i
    return models[-1]


def decide(
    table: Table, pulls: Sequence[Any], sums: Sequence[Any], pending: Sequence[Any], rule: Rule
) -> Verdict:
    """The decision with the likeliest leader; ``pulls`` and ``sums`` are those of the rewards told."""
    return judged(table, pulls, sums, pending, rule)[1]


def chances(
    table: Table, pulls: Sequence[Any], sums: Sequence[Any], pending: Sequence[Any], rule: Rule
) -> list[Real]:
    """The probability with which each arm is pulled."""
    state, verdict = judged(table, pulls, sums, pending, rule)
    shares = [MP.mpf(0)] * len(state.rows[0])
    if verdict.tests and draws(pending, rule):
        for i in alive(state):
            shares[aimed(state, i)] += state.weights[i]
    else:
        shares[verdict.arm] = MP.mpf(1)
    return shares


def chosen(
    table: Table,
    pulls: Sequence[Any],
    sums: Sequence[Any],
    pending: Sequence[Any],
    rule: Rule,
    uniforms: Iterator[Any],
) -> int:
    """The arm that is pulled; takes a uniform only for a test with a drawn leader."""
    state, verdict = judged(table, pulls, sums, pending, rule)
    if verdict.tests and draws(pending, rule):
        return aimed(state, drawn_model(state.weights, next(uniforms)))
    return verdict.arm


def late(
    table: Table,
    rewards: Rewards,
    horizon: int,
    delay: int,
    rule: Rule,
    uniforms: Iterable[Any],
) -> list[int]:
    """The arms that are pulled if the reward of pull i is told just before pull i + delay + 1.

    They end before the first decision on a knife edge.
    """
    points, n_arms = iter(uniforms), len(table[0])
    arms, paid = list[int](), list[Fraction]()
    for now in range(horizon):
        pulls, sums, pending = [0] * n_arms, [ZERO] * n_arms, [0] * n_arms
        for i, (arm, reward) in enumerate(zip(arms, paid, strict=True)):
            if i + delay + 1 <= now:
                pulls[arm] += 1
                sums[arm] += reward
            else:
                pending[arm] += 1
        try:
            arm = chosen(table, pulls, sums, pending, rule, points)
        except TooClose:
            break
        paid.append(exact(rewards[arm][arms.count(arm)]))
        arms.append(arm)
    return arms


def play(
    table: Table, rewards: Rewards, horizon: int, rule: Rule, uniforms: Iterable[Any]
) -> list[int]:
    """The arms that are pulled if every reward is told at once."""
    return late(table, rewards, horizon, 0, rule, uniforms)
