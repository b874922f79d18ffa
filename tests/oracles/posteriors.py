"""Definition-level oracles of the policies that keep a posterior over a finite set of models.

One pull at a time, nothing planned ahead, nothing shared with the library. A model's weight is its
prior times its likelihood: reward x of arm i counts max(mu_i, 1e-6)**x max(1 - mu_i, 1e-6)**(1 - x),
or with ``sigma`` the normal density. Weights below e**-700 of the largest are 0.

Floats settle what is clear by 1e-9. What is closer is settled exactly where the numbers allow it:

* A likelihood is a product of primes to rational powers. The whole parts of the powers make a rational
  number; products of the fractional parts are linearly independent over the rationals if they differ
  (Besicovitch). So a sum of weights is 0 only if the rational numbers cancel for each fractional part.
  With rewards 0 and 1 and temper 1 there are no fractional parts and all is arithmetic of fractions.
* With ``sigma`` a weight is a rational multiple of exp(rational), and different exponentials are
  linearly independent as well (Lindemann and Weierstrass).

So ties are recognised without rounding, whether they come from equal models, from equal means on the
pulled arms or by chance. The one gap: means are cut into primes below 1024 and a rest, and
relations between rests are not seen. What 60 digits then leave open raises ``ArithmeticError``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from oracles.draws import sharp_beta_quantile
from oracles.structures import (
    MP,
    ONE,
    ZERO,
    Game,
    Real,
    Rewards,
    Trace,
    decided,
    exact,
    highest,
    log,
    real,
)
from scipy.special import betaincinv, betaln, expit

__all__ = [
    "Belief",
    "DoubtTrace",
    "Places",
    "belief",
    "doubtful_model_ts",
    "greedy_likelihood",
    "ids",
    "model_ts",
    "ossb",
    "posterior",
]

Table = Sequence[Sequence[Any]]
FLOOR = exact(1e-6)  # least probability that a model gives to a reward
LEAD = Fraction(17, 10)  # an arm leads with more than this times the weight of all others
UNSURE = 1e-9  # floats do not decide what is closer
SAME = MP.mpf(10) ** -25  # sums of logarithms that agree to 25 digits count as equal
SMALLEST = 1e-290  # what is smaller may be 0 as a float
SUBNORMAL = 2.3e-308  # what is smaller is 0 or this, as a quantile
FORGOTTEN = 700.0  # weights of less than exp(-700) of the largest are 0


# ------------------------------------------------------------------------------------ the weights


def likelihood_bases(row: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """For each arm what the model gives to a reward of 1 and to a reward of 0."""
    return [(max(mean, FLOOR), max(1 - mean, FLOOR)) for mean in row]


@cache
def prime_powers(x: Fraction) -> dict[int, int]:
    """The powers of small primes in a positive rational number, and of what is left of it."""
    found: dict[int, int] = defaultdict(int)
    for number, step in ((x.numerator, 1), (x.denominator, -1)):
        rest = number
        for prime in range(2, 1024):
            while rest % prime == 0:
                rest //= prime
                found[prime] += step
        found[rest] += step
    return {base: power for base, power in found.items() if base != 1}


def powers(bases: Sequence[tuple[Fraction, Fraction]], game: Game) -> dict[int, Fraction]:
    """The likelihood as a product: the power of every prime in it."""
    product: dict[int, Fraction] = defaultdict(lambda: ZERO)
    for (one, zero), pulls, total in zip(bases, game.counts, game.sums, strict=True):
        wins = Fraction(total, game.unit)
        for base, power in ((one, wins), (zero, pulls - wins)):
            for prime, times in prime_powers(base).items():
                product[prime] += power * times
    return product


def exponent(row: Sequence[Fraction], game: Game) -> Fraction:
    """The logarithm of the normal likelihood with variance 1, up to what all models share."""
    terms = zip(row, game.counts, game.sums, strict=True)
    return sum((Fraction(s, game.unit) * mu - n * mu**2 / 2 for mu, n, s in terms), ZERO)


class Mixture:
    """Things with weights, each a rational number times an irrational one."""

    def split(self, member: int) -> tuple[Hashable, Fraction, Real]:
        """The weight as a rational number times an irrational one: what names the latter, both.

        Irrational numbers with different names are linearly independent over the rationals.
        """
        raise NotImplementedError

    def balance(self, factors: Sequence[Fraction], weights: np.ndarray) -> float:
        """The average of the factors over the members by weight: 0 only if it is exactly 0."""
        rough = float(np.dot([float(f) for f in factors], weights))
        if abs(rough) > UNSURE:
            return rough
        groups: dict[Hashable, tuple[Fraction, Fraction, Real]] = {}
        for m in np.flatnonzero(weights).tolist():
            name, rational, number = self.split(m)
            total, mass, _ = groups.get(name, (ZERO, ZERO, None))
            groups[name] = total + factors[m] * rational, mass + rational, number
        terms = [real(total) * number for total, _, number in groups.values() if total != 0]
        if not terms:
            return 0.0
        decided(MP.fsum(terms) / MP.fsum(terms, absolute=True))
        return float(MP.fsum(terms) / MP.fsum(real(mass) * x for _, mass, x in groups.values()))


def scaled(logs: np.ndarray) -> np.ndarray:
    """Weights with these logarithms, those below e**-700 of the largest as 0; their sum is 1."""
    logs = logs - logs.max()
    weights = np.where(logs < -FORGOTTEN, 0.0, np.exp(np.maximum(logs, -FORGOTTEN)))
    return weights / weights.sum()


class Weights(Mixture):
    """The posterior weights of the rows of a table, given what a game has shown so far."""

    def __init__(
        self,
        table: Table,
        game: Game,
        prior: Sequence[Any] | None = None,
        temper: float = 1.0,
        sigma: float | None = None,
    ) -> None:
        self.game, self.temper, self.sigma = game, exact(temper), sigma
        self.rows = [tuple(map(exact, row)) for row in table]
        self.best = [highest(row) for row in self.rows]
        self.prior = [ONE] * len(self.rows) if prior is None else [exact(p) for p in prior]
        self.bases = [likelihood_bases(row) for row in self.rows]
        self.log_bases = [[(log(one), log(zero)) for one, zero in row] for row in self.bases]
        means = np.array(self.rows, float)
        if sigma is None:
            pairs = np.array(self.log_bases, float)
            self.of_sums, self.of_pulls = pairs[:, :, 0] - pairs[:, :, 1], pairs[:, :, 1]
        else:
            self.of_sums, self.of_pulls = means / sigma**2, -(means**2) / (2 * sigma**2)
        self.log_prior = np.array([float(log(p)) for p in self.prior])

    def relative(self) -> np.ndarray:
        """The probabilities of the models as floats."""
        pulls = np.array(self.game.counts, float)
        sums = np.array([total / self.game.unit for total in self.game.sums])
        return scaled(
            self.log_prior + float(self.temper) * (self.of_sums @ sums + self.of_pulls @ pulls)
        )

    def split(self, model: int) -> tuple[Hashable, Fraction, Real]:
        if self.sigma is not None:
            scale = self.temper / exact(self.sigma) ** 2
            name = exponent(self.rows[model], self.game) * scale
            return name, self.prior[model], MP.exp(real(name))
        product = powers(self.bases[model], self.game)
        whole = {prime: math.floor(power * self.temper) for prime, power in product.items()}
        rest = {prime: power * self.temper - whole[prime] for prime, power in product.items()}
        top = math.prod(prime**power for prime, power in whole.items() if power > 0)
        bottom = math.prod(prime**-power for prime, power in whole.items() if power < 0)
        irrational = MP.exp(MP.fsum(real(power) * log(prime) for prime, power in rest.items()))
        name = frozenset((prime, power) for prime, power in rest.items() if power != 0)
        return name, self.prior[model] * Fraction(top, bottom), irrational

    def precise(self, models: Sequence[int]) -> list[Real]:
        """The weights of some models to 60 digits; their sum is 1."""
        logs = [log(self.prior[m]) + real(self.temper) * self.log_likelihood(m) for m in models]
        weights = [MP.exp(value - logs[0]) for value in logs]
        return [weight / MP.fsum(weights) for weight in weights]

    def log_likelihood(self, model: int) -> Real:
        """To 60 digits, up to what all models share."""
        if self.sigma is not None:
            return real(exponent(self.rows[model], self.game) / exact(self.sigma) ** 2)
        wins = [MP.mpf(total) / self.game.unit for total in self.game.sums]
        pulled = zip(self.log_bases[model], self.game.counts, wins, strict=True)
        return MP.fsum(s * one + (n - s) * zero for (one, zero), n, s in pulled if n > 0)


def posterior(
    table: Table, pulls: Sequence[int], sums: Sequence[int], prior: Sequence[Any] | None = None
) -> np.ndarray:
    """The probabilities of the models after so many pulls with so large sums of 0/1 rewards."""
    game = Game(len(pulls), [[0, 1]])
    game.counts, game.sums = list(pulls), list(sums)
    return Weights(table, game, prior).relative()


# ------------------------------------------------------------------- sampling from the posterior


def drawn(
    state: Mixture, parts: Sequence[Sequence[int]], weights: np.ndarray, u: Any
) -> tuple[int, list[float]]:
    """The first part (a set of members) whose cumulative probability exceeds u, and all distances.

    The distances are those of u from the borders between parts, exactly 0 on a border.
    """
    point, choice, distances = exact(u), -1, list[float]()
    alive = [[m for m in part if weights[m] > 0] for part in parts]
    last = max(j for j, part in enumerate(alive) if part)
    below, mass = set[int](), 0.0
    for j, part in enumerate(alive[:last]):
        if not part:
            continue
        below.update(part)
        mass += sum(weights[m] for m in part)
        above = mass - float(point)
        if abs(above) <= UNSURE:
            factors = [(m in below) - point for m in range(len(weights))]
            above = state.balance(factors, weights)
        distances.append(above)
        if above > 0 and choice < 0:
            choice = j
    return (last if choice < 0 else choice), distances


def sampled_arm(state: Weights, u: Any) -> int:
    """Thompson sampling with one uniform: the other arms in order, then the leader."""
    game, weights = state.game, state.relative()
    arms = range(len(game.counts))
    likeliest = max(arms, key=lambda i: sum(weights[m] for m, b in enumerate(state.best) if b == i))
    leads = state.balance([ONE if b == likeliest else -LEAD for b in state.best], weights)

    def play(order: Sequence[int]) -> tuple[int, list[float]]:
        parts = [[m for m, b in enumerate(state.best) if b == i] for i in order]
        j, distances = drawn(state, parts, weights, u)
        return order[j], distances

    led = play([*(i for i in arms if i != likeliest), likeliest])
    plain = play(list(arms))
    arm, distances = led if leads > 0 else plain
    if led[0] != plain[0]:
        distances = [*distances, leads]
    note_distances(game.trace, distances)
    return arm


def note_distances(trace: Trace, distances: Sequence[float]) -> None:
    """Count a tie if one of the distances is 0 and record the smallest of the others."""
    trace.ties += any(distance == 0 for distance in distances)
    apart = [float(abs(distance)) for distance in distances if distance != 0]
    trace.closest = min([trace.closest, *apart])


def model_ts(
    table: Table,
    rewards: Rewards,
    horizon: int,
    uniforms: Sequence[Any],
    prior: Sequence[Any] | None = None,
    temper: float = 1.0,
    sigma: float | None = None,
) -> Trace:
    """Play the best arm of a model drawn from the posterior; pull t reads ``uniforms[t]``.

    An arm leads if it has more than 1.7 times the weight of all other arms together; an arm's weight is
    that of the models in which it is best. The arms in order, but the leader last, share the interval
    from 0 to 1 by weight: the arm played is the first whose cumulative probability exceeds the uniform.
    ``closest`` is the least distance of a uniform from a border between arms, and of the leader's lead
    from its threshold where the order matters; a uniform exactly on a border counts as a tie.
    """
    game = Game(len(table[0]), rewards)
    state = Weights(table, game, prior, temper, sigma)
    for u in uniforms[:horizon]:
        game.pull(sampled_arm(state, u))
    return game.trace


# ------------------------------------------------------------------- models that are doubted

Law = tuple[Fraction, Fraction]  # the parameters of a Beta law
Mean = Fraction | tuple[Fraction, Fraction, Fraction]  # a known mean, or a Beta law and the uniform


class Level(NamedTuple):
    """A way to doubt a model: how likely it is, how strong its means are, how likely arms are off."""

    weight: Fraction
    strength: Fraction | None  # none: the means are exact
    off: Fraction


def levels(trust: Any, off: Any, strengths: Sequence[Any]) -> list[Level]:
    """The levels that have a weight, in order: exact, exact but for some arms, near."""
    sure, rare = exact(trust), exact(off)
    near = [Level((1 - sure) ** 2 / len(strengths), exact(k), rare) for k in strengths]
    every = [Level(sure**2, None, ZERO), Level(2 * sure * (1 - sure), None, rare), *near]
    return [level for level in every if level.weight > 0]


def slab_of(rows: Sequence[Sequence[Fraction]], trace: Trace) -> Law:
    """The law of the mean of an arm that is off: mean and twice the variance of the table's entries.

    What floats may not tell is whether there is such a law: recorded.
    """
    entries = [x for row in rows for x in row]
    mean = sum(entries, ZERO) / len(entries)
    variance = sum(((x - mean) ** 2 for x in entries), ZERO) / len(entries)
    if variance == 0:
        return ONE, ONE
    weight = mean * (1 - mean) / (2 * variance) - 1
    note_distances(trace, [float(weight - ONE / 2)])
    return (weight * mean, weight * (1 - mean)) if weight >= ONE / 2 else (ONE, ONE)


@cache
def log_part_of_step(x: Fraction, part: Fraction) -> float:
    """The logarithm of Gamma(x + part) / Gamma(x), part between 0 and 1."""
    return float(MP.loggamma(real(x + part)) - MP.loggamma(real(x)))


def log_rising(x: Fraction, n: Fraction) -> float:
    """The logarithm of Gamma(x + n) / Gamma(x) as a float: step by step, so no large terms cancel."""
    steps, part = divmod(n, 1)
    first = log_part_of_step(x, part) if part else 0.0
    return first + math.fsum(np.log(float(x + part) + np.arange(steps)))


def log_beta_ratio(law: Law, wins: Fraction, losses: Fraction) -> float:
    """The logarithm of B(a + wins, b + losses) / B(a, b) as a float."""
    a, b = law
    return log_rising(a, wins) + log_rising(b, losses) - log_rising(a + b, wins + losses)


def beta_ratio(law: Law, wins: Fraction, losses: Fraction) -> Fraction | Real:
    """B(a + wins, b + losses) / B(a, b): a fraction if wins and losses are whole, else 60 digits."""
    a, b = law
    if wins.denominator == losses.denominator == 1:
        tops = [*(a + s for s in range(int(wins))), *(b + f for f in range(int(losses)))]
        return math.prod(tops, start=ONE) / math.prod(
            (a + b + n for n in range(int(wins + losses))), start=ONE
        )
    return MP.gammaprod(
        [real(a + wins), real(b + losses), real(a + b)],
        [real(a), real(b), real(a + b + wins + losses)],
    )


def power_product(bases: tuple[Fraction, Fraction], wins: Fraction, losses: Fraction) -> Any:
    """The likelihood of a known mean: a fraction if wins and losses are whole, else 60 digits."""
    one, zero = bases
    if wins.denominator == losses.denominator == 1:
        return one ** int(wins) * zero ** int(losses)
    return MP.exp(real(wins) * log(one) + real(losses) * log(zero))


class Places(Mixture):
    """The posterior weights of the places: level by level, in each model by model.

    ``places[p]`` is (level, model). Sums of rewards and of what they lack of 1 are times `temper`.
    """

    def __init__(
        self,
        table: Table,
        game: Game,
        trust: Any,
        off: Any,
        strengths: Sequence[Any],
        prior: Sequence[Any] | None = None,
        temper: float = 1.0,
    ) -> None:
        self.game, self.temper = game, exact(temper)
        self.rows = [tuple(map(exact, row)) for row in table]
        if not all(0 <= mean <= 1 for row in self.rows for mean in row):
            raise ValueError("the rule is for means in [0, 1]")
        self.slab = slab_of(self.rows, game.trace)
        before = [ONE] * len(self.rows) if prior is None else [exact(p) for p in prior]
        self.places = [
            (level, m) for level in levels(trust, off, strengths) for m in range(len(self.rows))
        ]
        self.prior = [level.weight * before[m] for level, m in self.places]
        shape = len(self.places), len(game.counts)
        self.log_spikes, self.log_slabs = np.zeros(shape), np.zeros(shape)
        for arm in range(shape[1]):
            self.learn(arm)

    def data(self, arm: int) -> tuple[Fraction, Fraction]:
        """The sum of the rewards of an arm and the sum of what they lack of 1, times `temper`."""
        total = Fraction(self.game.sums[arm], self.game.unit)
        return self.temper * total, self.temper * (self.game.counts[arm] - total)

    def before(self, place: int, arm: int) -> Fraction | Law:
        """The mean of an arm that is not off, or its law before the first pull."""
        level, model = self.places[place]
        mean = self.rows[model][arm]
        if level.strength is None:
            return mean
        cut = min(max(mean, FLOOR), 1 - FLOOR)
        return level.strength * cut, level.strength * (1 - cut)

    def learn(self, arm: int) -> None:
        """Compute the logarithms of (1 - off) spike and off slab from all data of an arm."""
        wins, losses = self.data(arm)
        slab = log_beta_ratio(self.slab, wins, losses)
        for p, (level, _) in enumerate(self.places):
            law = self.before(p, arm)
            if isinstance(law, Fraction):
                one, zero = likelihood_bases([law])[0]
                spike = float(wins) * float(log(one)) + float(losses) * float(log(zero))
            else:
                spike = log_beta_ratio(law, wins, losses)
            self.log_spikes[p, arm] = float(log(1 - level.off)) + spike
            self.log_slabs[p, arm] = float(log(level.off)) + slab if level.off else -math.inf

    def relative(self) -> np.ndarray:
        """The probabilities of the places as floats."""
        prior = np.array([float(log(p)) for p in self.prior])
        return scaled(prior + np.logaddexp(self.log_spikes, self.log_slabs).sum(axis=1))

    def shares(self, place: int, arm: int) -> tuple[Any, Any]:
        """(1 - off) spike and off slab of an arm: fractions, or 60 digits of both."""
        (level, _), law, data = self.places[place], self.before(place, arm), self.data(arm)
        if isinstance(law, Fraction):
            spike = power_product(likelihood_bases([law])[0], *data)
        else:
            spike = beta_ratio(law, *data)
        slab = beta_ratio(self.slab, *data)
        if isinstance(spike, Fraction):
            return (1 - level.off) * spike, level.off * slab
        return real(1 - level.off) * spike, real(level.off) * slab

    def split(self, member: int) -> tuple[Hashable, Fraction, Real]:
        rational, number = self.prior[member], MP.mpf(1)
        for arm in range(len(self.game.counts)):
            likelihood = sum(self.shares(member, arm))
            if isinstance(likelihood, Fraction):
                rational *= likelihood
            else:
                number *= likelihood
        return number, rational, number

    def off_chance(self, place: int, arm: int) -> float:
        """The probability that an arm is off at a place, as a float."""
        return float(expit(self.log_slabs[place, arm] - self.log_spikes[place, arm]))

    def is_off(self, place: int, arm: int, u: Fraction) -> bool:
        """Whether the uniform is below the probability that the arm is off."""
        gap = self.off_chance(place, arm) - float(u)
        if abs(gap) <= UNSURE:
            spike, slab = self.shares(place, arm)
            if isinstance(slab, Fraction):
                gap = float(slab / (spike + slab) - u)
            else:
                gap = float(decided(slab / (spike + slab) - real(u)))
        note_distances(self.game.trace, [gap])
        return gap > 0

    def law(self, place: int, arm: int, off: bool) -> Fraction | Law:
        """The mean of an arm, or the law that it has after the data."""
        law = self.slab if off else self.before(place, arm)
        if isinstance(law, Fraction):
            return law
        wins, losses = self.data(arm)
        return law[0] + wins, law[1] + losses


def log_lower_tail(a: Any, b: Any, u: Any) -> Real:
    """The logarithm of the u-quantile of Beta(a, b) where it is so small that x**(a-1) is the density."""
    a, b = real(a), real(b)
    return (MP.log(real(u)) + MP.log(a) + MP.log(MP.beta(a, b))) / a


def is_tiny(a: Fraction, b: Fraction, u: Fraction) -> bool:
    """Whether the u-quantile of Beta(a, b) is below e**-40, by its leading term."""
    x, y = float(a), float(b)
    return x < 1 and math.log(u) + math.log(x) + float(betaln(x, y)) < -40 * x


def quantile(a: Fraction, b: Fraction, u: Fraction) -> float:
    """The u-quantile of Beta(a, b), rounded to a float, which may be 0 or 1."""
    if u == 0:
        return 0.0
    if is_tiny(a, b, u):
        tiny = float(MP.exp(log_lower_tail(a, b, u)))
        return tiny if tiny > SUBNORMAL else 0.0
    if is_tiny(b, a, 1 - u):
        return 1.0
    return float(betaincinv(float(a), float(b), float(u)))


def refined(a: Fraction, b: Fraction, u: Fraction) -> Real:
    """The quantile to more than 40 digits; if it is tiny, to the 14 digits of its leading term."""
    if is_tiny(a, b, u):
        return MP.exp(log_lower_tail(a, b, u))
    return sharp_beta_quantile(a, b, real(u))


def draw_of(mean: Mean) -> float:
    return float(mean) if isinstance(mean, Fraction) else quantile(*mean)


def largest_mean(means: Sequence[Mean], trace: Trace) -> int:
    """The arm with the largest mean, known or the quantile of (a, b, u); the lowest arm on ties.

    Equal means tie, equal laws at equal uniforms, and what is 0 or 1 as a float. If of the latter some
    are known, others drawn, that is recorded as close: a quantile may be rounded to the float beside.
    """
    draws = [draw_of(mean) for mean in means]
    top = max(draws)
    near = [i for i, draw in enumerate(draws) if draw >= top * (1 - UNSURE)]
    far = [draw for i, draw in enumerate(draws) if i not in near]
    if far:
        trace.note(max(far), top)
    if 0 < top < 1:
        if len({means[i] for i in near}) > 1:
            near = sharply_largest({i: means[i] for i in near}, trace)
    else:
        for i in near:
            trace.note(draws[i], top)
        near = [i for i in near if draws[i] == top]
        if len({isinstance(means[i], Fraction) for i in near}) > 1:
            trace.closest = min(trace.closest, SMALLEST)
    trace.ties += len(near) > 1
    return near[0]


def sharply_largest(means: dict[int, Mean], trace: Trace) -> list[int]:
    """The arms with the largest mean, by 40 digits."""
    exactly = {
        i: real(mean) if isinstance(mean, Fraction) else refined(*mean) for i, mean in means.items()
    }
    first = max(means, key=lambda i: exactly[i])
    for i, mean in means.items():
        if mean != means[first]:
            decided(1 - exactly[i] / exactly[first])
            trace.note(exactly[i], exactly[first])
    return [i for i, mean in means.items() if mean == means[first]]


@dataclass
class DoubtTrace(Trace):
    """Also counts the levels of the places, arms that were off, and what the arm played was.

    ``met`` has "places_exact", "places_some_off" and "places_near"; "arms_off"; of the arms played
    those "played_off", "played_exact" and "played_near". ``read`` counts the uniforms read.
    """

    met: Counter[str] = field(default_factory=Counter)
    read: int = 0


def doubtful_model_ts(
    table: Table,
    rewards: Rewards,
    horizon: int,
    uniforms: Sequence[Any],
    trust: float,
    off: float,
    strengths: Sequence[Any],
    prior: Sequence[Any] | None = None,
    temper: float = 1.0,
) -> DoubtTrace:
    """Thompson sampling over places: a model and how far it is believed (docs/notes/mathematics.md 2.18).

    The first uniform of a pull picks the place. Then, arm by arm: unless the place never has arms
    that are off, a uniform says whether this one is; unless its mean is known, another uniform gives
    it, as a quantile of its Beta law. The largest mean is played, the lowest arm on ties. Near ties at
    strengths like 1e9 are too much for mpmath, which raises.
    """
    game, trace, tape = Game(len(table[0]), rewards), DoubtTrace(), map(exact, uniforms)
    game.trace = trace
    places = Places(table, game, trust, off, strengths, prior, temper)
    singles = [[p] for p in range(len(places.places))]

    def uniform() -> Fraction:
        trace.read += 1
        return next(tape)

    for _ in range(horizon):
        place, distances = drawn(places, singles, places.relative(), uniform())
        note_distances(trace, distances)
        level, offs, means = places.places[place][0], list[bool](), list[Mean]()
        for arm in range(len(game.counts)):
            offs.append(level.off > 0 and places.is_off(place, arm, uniform()))
            law = places.law(place, arm, offs[arm])
            means.append(law if isinstance(law, Fraction) else (*law, uniform()))
        arm = largest_mean(means, trace)
        kind = "near" if level.strength is not None else "exact" if level.off == 0 else "some_off"
        trace.met["places_" + kind] += 1
        trace.met["arms_off"] += sum(offs)
        known = isinstance(means[arm], Fraction)
        trace.met["played_" + ("off" if offs[arm] else "exact" if known else "near")] += 1
        game.pull(arm)
        places.learn(arm)
    return trace


# --------------------------------------------------------------- information-directed sampling


class Belief(NamedTuple):
    """What information-directed sampling looks at, one number for each arm."""

    best: list[Real]  # the probability that the arm is best
    regret: list[Real]  # what a pull of the arm is expected to lose
    gain: list[Real]  # what its reward is expected to tell of which arm is best, in nats


def divergence(p: Real, not_p: Real, q: Real, not_q: Real, off: Real) -> Real:
    """The Bernoulli divergence d(p, q), with off = p - q; without cancellation."""
    if abs(off) < MP.mpf(10) ** -15 * min(q, not_q):
        cubic = off**3 / 6 * (1 / q**2 - 1 / not_q**2)
        return off**2 / 2 * (1 / q + 1 / not_q) - cubic + off**4 / 12 * (1 / q**3 + 1 / not_q**3)
    total = MP.mpf(0)
    for x, y, rise in ((p, q, off), (not_p, not_q, -off)):
        if x > 0:
            total += x * (MP.log1p(rise / y) if abs(rise) < y / 2 else MP.log(x / y))
    return total


def shift(
    means: Sequence[Fraction], weights: Sequence[Real], ours: set[int], base: set[int]
) -> Real:
    """The mean over the models in ``ours`` minus that over ``base``, 0 only if it is 0.

    As a sum over pairs of models: a difference as small as the weights allow is not lost.
    """
    terms = [
        weights[m] * weights[n] * (means[m] - means[n])
        for m in ours
        for n in base
        if means[m] != means[n]
    ]
    total = MP.fsum(terms)
    if abs(total) <= SAME**2 * MP.fsum(terms, absolute=True):
        return MP.mpf(0)
    return total / (MP.fsum(weights[m] for m in ours) * MP.fsum(weights[n] for n in base))


def average(means: Sequence[Real], weights: Sequence[Real], models: Iterable[int]) -> Real:
    models = list(models)
    return MP.fsum(weights[m] * means[m] for m in models) / MP.fsum(weights[m] for m in models)


def expected_gain(
    means: Sequence[Real],
    weights: Sequence[Real],
    groups: Sequence[set[int]],
    sigma: float | None,
) -> Real:
    """The sum over groups (models with the same best arm) of P(group) d(mean in the group, mean)."""
    shares = [MP.fsum(weights[m] for m in group) for group in groups]
    base = groups[shares.index(max(shares))]
    shifts = [MP.mpf(0) if g is base else shift(means, weights, g, base) for g in groups]
    if not any(shifts):
        return MP.mpf(0)
    overall = MP.fsum(share * off for share, off in zip(shares, shifts, strict=True))
    if sigma is not None:
        squares = ((off - overall) ** 2 for off in shifts)
        return MP.fsum(p * x for p, x in zip(shares, squares, strict=True)) / (
            2 * MP.mpf(sigma) ** 2
        )
    others, total = [1 - mean for mean in means], MP.mpf(0)
    q, not_q = (average(x, weights, range(len(weights))) for x in (means, others))
    for group, share, off in zip(groups, shares, shifts, strict=True):
        p, not_p = (average(x, weights, group) for x in (means, others))
        total += share * divergence(p, not_p, q, not_q, off - overall)
    return total


def belief(table: Table, weights: Sequence[Any], sigma: float | None = None) -> Belief:
    """What the probabilities of the models, all positive, say of each arm."""
    rows = [[float(mean) for mean in row] for row in table]
    if sigma is None and not all(0 <= mean <= 1 for row in rows for mean in row):
        raise ValueError("information about rewards in [0, 1] needs means in [0, 1]")
    weights, best = [MP.mpf(w) for w in weights], [highest(row) for row in rows]
    members = [{m for m, b in enumerate(best) if b == i} for i in range(len(rows[0]))]
    groups = [group for group in members if group]
    arms = [[MP.mpf(mean) for mean in column] for column in zip(*rows, strict=True)]
    tops = [MP.mpf(max(row)) for row in rows]
    regrets = [[top - mean for top, mean in zip(tops, means, strict=True)] for means in arms]
    return Belief(
        [MP.fsum(weights[m] for m in group) for group in members],
        [MP.fdot(zip(weights, losses, strict=True)) for losses in regrets],
        [expected_gain(means, weights, groups, sigma) for means in arms],
    )


class Mix(NamedTuple):
    """Two arms in order, the weight of the lower one, and the square of the regret over the gain."""

    low: int
    high: int
    weight: Real
    ratio: Real

    def arm(self, u: Any) -> int:
        return self.low if self.weight - MP.mpf(u) > SAME else self.high


def best_mix(now: Belief, i: int, j: int) -> Mix:
    """The mix of two arms with the least ratio: of both ends and of the place where its slope is 0."""
    _, regret, gain = now
    weights = [MP.mpf(1), MP.mpf(0)]
    if regret[i] != regret[j] and gain[i] != gain[j]:
        inner = regret[j] / (regret[i] - regret[j]) - 2 * gain[j] / (gain[i] - gain[j])
        if 0 < inner < 1:
            weights.append(inner)
    mixes = []
    for q in weights:
        lost, told = (q * x[i] + (1 - q) * x[j] for x in (regret, gain))
        ratio = MP.mpf(0) if lost == 0 else MP.inf if told == 0 else lost / told * lost
        mixes.append(Mix(i, j, q, ratio))
    return min(mixes, key=lambda mix: mix.ratio)


def is_optimal_alone(now: Belief, arm: int) -> bool:
    """Whether regret_a (gain_k - gain_a) <= 2 (regret_k - regret_a) gain_a for all k."""
    lost, told = now.regret[arm], now.gain[arm]
    for other_lost, other_told in zip(now.regret, now.gain, strict=True):
        size = lost * (other_told + told) + 2 * (other_lost + lost) * told
        if lost * (other_told - told) - 2 * (other_lost - lost) * told > SAME * size:
            return False
    return True


def directed_arm(now: Belief, u: Any, trace: Trace, columns: Sequence[Any]) -> int:
    """The arm that information-directed sampling plays with this uniform.

    Arms on which models say different things, `columns`, tie by coincidence: say by 1/4, 3/4 and 3/4, 1/4.
    """
    arms = range(len(now.best))
    if not any(now.gain):
        arm = next(i for i in arms if now.best[i] >= max(now.best) * (1 - SAME))
        note_rivals(trace, [1 - now.best[i] / now.best[arm] for i in arms if i != arm])
        return arm
    trace.closest = min(
        [trace.closest, *(float(x) for x in now.gain + now.regret if 0 < x < SMALLEST)]
    )
    mixes = [best_mix(now, i, j) for i in arms for j in arms if i < j]
    alone = next((i for i in arms if is_optimal_alone(now, i)), None)
    if alone is not None:
        arm, ratio = alone, pure_ratio(now, alone)
    else:
        least = min(mix.ratio for mix in mixes)
        mix = next(mix for mix in mixes if mix.ratio <= least * (1 + SAME))
        arm, ratio = mix.arm(u), mix.ratio
        note_rivals(trace, [mix.weight - MP.mpf(u)])
    others = [mix for mix in mixes if mix.arm(u) != arm]
    gaps = [1 - ratio / mix.ratio if mix.ratio else mix.ratio for mix in others]
    note_rivals(trace, gaps)
    tied = {mix.arm(u) for mix, gap in zip(others, gaps, strict=True) if abs(gap) <= SAME}
    tied |= {i for i in arms if alone is not None and is_optimal_alone(now, i)}
    if any(columns[i] != columns[arm] for i in tied):
        trace.coincidences.append(len(trace.arms))
    return arm


def pure_ratio(now: Belief, arm: int) -> Real:
    lost, told = now.regret[arm], now.gain[arm]
    return MP.mpf(0) if lost == 0 else lost / told * lost


def note_rivals(trace: Trace, gaps: Sequence[Real]) -> None:
    """Note the distances of other choices; those of 25 digits that agree are ties."""
    note_distances(trace, [0.0 if abs(gap) <= SAME else float(gap) for gap in gaps])


def ids(
    table: Table,
    rewards: Rewards,
    horizon: int,
    uniforms: Sequence[Any],
    prior: Sequence[Any] | None = None,
    sigma: float | None = None,
) -> Trace:
    """Information-directed sampling: the mix of arms with the least squared regret over gain.

    If no arm has a gain, the arm most likely to be best is played. If an arm alone is optimal it is
    played, the lowest such arm. Otherwise the first pair i < j with the least ratio; i iff u < its weight.
    ``closest`` is the least distance of u from a weight, and of the ratios of two mixes that play different
    arms with this u, relative to the larger; it is tiny where floats may take a tiny regret or gain for 0.
    Here numbers are sums of logarithms: what agrees to 25 digits counts as equal.
    """
    game = Game(len(table[0]), rewards)
    state = Weights(table, game, prior, sigma=sigma)
    columns = list(zip(*table, strict=True))
    now = None
    for u in uniforms[:horizon]:
        if now is None:
            alive = np.flatnonzero(state.relative()).tolist()
            now = belief([table[m] for m in alive], state.precise(alive), sigma)
        arm = directed_arm(now, u, game.trace, columns)
        game.pull(arm)
        if len({row[arm] for row in table}) > 1:  # otherwise the reward changes no belief
            now = None
    return game.trace


# ----------------------------------------------------------------- policies with one best model


def agree_on_pulled(state: Weights, one: int, other: int) -> bool:
    """Whether two models have the same means wherever there are data."""
    rows = zip(state.game.counts, state.rows[one], state.rows[other], strict=True)
    return all(pulls == 0 or x == y for pulls, x, y in rows)


def likeliest_arm(state: Weights) -> int:
    """The best arm of the model of the largest likelihood, of the first such model on exact ties.

    Models with different means tie by coincidence: 1/4 and 3/4 after one reward of 0 and one of 1.
    """
    weights, trace = state.relative(), state.game.trace
    gaps = (1 - weights / weights.max()).tolist()
    near = [m for m, gap in enumerate(gaps) if gap <= UNSURE]
    first = near[0]
    if len({state.best[m] for m in near}) > 1:
        exactly = {m: state.log_likelihood(m) for m in near}
        names = {m: state.split(m)[:2] for m in near}  # equal for equal likelihoods only
        top = max(near, key=lambda m: exactly[m])
        first = next(m for m in near if names[m] == names[top])
        for m in near:
            same = names[m] == names[top]
            gaps[m] = 0.0 if same else float(decided(exactly[top] - exactly[m]))
    arm = state.best[first]
    tied = [m for m, gap in enumerate(gaps) if gap == 0.0 and state.best[m] != arm]
    if any(not agree_on_pulled(state, m, first) for m in tied):
        trace.coincidences.append(state.game.t)
    note_distances(trace, [gap for gap, b in zip(gaps, state.best, strict=True) if b != arm])
    return arm


def greedy_likelihood(
    table: Table, rewards: Rewards, horizon: int, sigma: float | None = None
) -> Trace:
    """Play the best arm of the model with the largest likelihood, the first on ties, so at first model 0.

    ``closest`` is the distance of another arm's likelihood from the largest, relative to it.
    """
    game = Game(len(table[0]), rewards)
    state = Weights(table, game, sigma=sigma)
    for _ in range(horizon):
        game.pull(likeliest_arm(state))
    return game.trace


class Fits:
    """The sums of (reward - mean)**2 of the models, as fractions."""

    def __init__(self, table: Table, game: Game) -> None:
        self.rows = [tuple(map(exact, row)) for row in table]
        self.losses = [ZERO] * len(self.rows)
        self.game = game

    def pull(self, arm: int) -> None:
        reward = Fraction(self.game.pull(arm), self.game.unit)
        self.losses = [
            loss + (reward - row[arm]) ** 2
            for loss, row in zip(self.losses, self.rows, strict=True)
        ]

    def first(self, choices: Sequence[Any]) -> int:
        """The first model of the least loss; notes the models whose choice is another one."""
        least = min(self.losses)
        model = self.losses.index(least)
        others = [loss for loss, x in zip(self.losses, choices, strict=True) if x != choices[model]]
        self.game.trace.ties += least in others
        for loss in others:
            self.game.trace.note(loss, least)
        return model


def explored_enough(game: Game, needs: Sequence[Fraction]) -> bool:
    """Whether every arm has needs_i log(t + 1) pulls: the logarithm is irrational but at t = 0."""
    enough, clock = True, log(game.t + 1)
    for pulls, need in zip(game.counts, needs, strict=True):
        if need > 0 and game.t > 0:
            goal = real(need) * clock
            game.trace.note(MP.mpf(pulls), goal)
            enough = enough and decided(pulls - goal) > 0
    return enough


def explored_arm(game: Game, costs: Sequence[Fraction], floor: Fraction) -> int:
    """The least pulled arm while it has at most floor pulls, else the least N_i / c_i with c_i > 0."""
    least = min(game.counts)
    game.trace.note(Fraction(least), floor)
    if least <= floor:
        game.trace.ties += game.counts.count(least) > 1
        return game.counts.index(least)
    parts = {i: game.counts[i] / cost for i, cost in enumerate(costs) if cost > 0}
    arm = min(parts, key=lambda i: (parts[i], i))
    for part in parts.values():
        game.trace.note(part, parts[arm])
    game.trace.ties += list(parts.values()).count(parts[arm]) > 1
    return arm


def ossb(
    table: Table,
    rewards: Rewards,
    horizon: int,
    allocations: Table,
    epsilon: float = 0.0,
    gamma: float = 0.0,
) -> Trace:
    """OSSB with the allocation c of each model given (0 for its best arm and where it needs no pulls).

    With t pulls made and c that of the model of least squares (the first on ties): if N_i >=
    c_i (1 + gamma) log(t + 1) for all i, play the model's best arm. Otherwise s grows by 1, and the least pulled
    arm is played if it has at most epsilon s pulls (so if it has none, also with epsilon = 0), else that of the least N_i / c_i among c_i > 0.
    """
    game = Game(len(table[0]), rewards)
    fits, costs = Fits(table, game), [tuple(map(exact, row)) for row in allocations]
    choices = [(highest(row), cost) for row, cost in zip(fits.rows, costs, strict=True)]
    explorations = 0
    for _ in range(horizon):
        arm, cost = choices[fits.first(choices)]
        if not explored_enough(game, [c * (1 + exact(gamma)) for c in cost]):
            explorations += 1
            arm = explored_arm(game, cost, exact(epsilon) * explorations)
        fits.pull(arm)
    return game.trace
