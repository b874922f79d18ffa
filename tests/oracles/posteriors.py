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
from collections import defaultdict
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
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

__all__ = ["model_ts", "posterior"]

Table = Sequence[Sequence[Any]]
FLOOR = exact(1e-6)  # least probability that a model gives to a reward
LEAD = Fraction(17, 10)  # an arm leads with more than this times the weight of all others
UNSURE = 1e-9  # floats do not decide what is closer
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


class Weights:
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
        means = np.array([[float(mean) for mean in row] for row in self.rows])
        if sigma is None:
            pairs = np.array(
                [[[float(log(x)) for x in pair] for pair in row] for row in self.bases]
            )
            self.of_sums, self.of_pulls = pairs[:, :, 0] - pairs[:, :, 1], pairs[:, :, 1]
        else:
            self.of_sums, self.of_pulls = means / sigma**2, -(means**2) / (2 * sigma**2)
        self.log_prior = np.array([float(log(p)) for p in self.prior])

    def relative(self) -> np.ndarray:
        """The weights as floats, those below e**-700 of the largest as 0; their sum is 1."""
        pulls = np.array(self.game.counts, float)
        sums = np.array([total / self.game.unit for total in self.game.sums])
        logs = self.log_prior + float(self.temper) * (self.of_sums @ sums + self.of_pulls @ pulls)
        logs = logs - logs.max()
        weights = np.where(logs < -FORGOTTEN, 0.0, np.exp(np.maximum(logs, -FORGOTTEN)))
        return weights / weights.sum()

    def split(self, model: int) -> tuple[Hashable, Fraction, Real]:
        """The weight as a rational number times an irrational one: what names the latter, both.

        Weights with different names are linearly independent over the rationals.
        """
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
        """The weights of some models to 60 digits, up to a factor that they share."""
        return [real(rational) * number for _, rational, number in map(self.split, models)]

    def balance(self, factors: Sequence[Fraction], weights: np.ndarray) -> float:
        """The average of the factors over the models by weight: 0 only if it is exactly 0."""
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


def posterior(
    table: Table, pulls: Sequence[int], sums: Sequence[int], prior: Sequence[Any] | None = None
) -> np.ndarray:
    """The probabilities of the models after so many pulls with so large sums of 0/1 rewards."""
    game = Game(len(pulls), [[0, 1]])
    game.counts, game.sums = list(pulls), list(sums)
    return Weights(table, game, prior).relative()


# ------------------------------------------------------------------- sampling from the posterior


def drawn(
    state: Weights, parts: Sequence[Sequence[int]], weights: np.ndarray, u: Any
) -> tuple[int, list[float]]:
    """The first part (a set of models) whose cumulative probability exceeds u, and all distances.

    The distances are those of u from the borders between parts, exactly 0 on a border.
    """
    point, choice, below, distances = exact(u), -1, set[int](), list[float]()
    parts = [[m for m in part if weights[m] > 0] for part in parts]
    last = max(j for j, part in enumerate(parts) if part)
    for j, part in enumerate(parts[:last]):
        if not part:
            continue
        below.update(part)
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
    apart = [abs(distance) for distance in distances if distance != 0]
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
