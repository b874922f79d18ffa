"""Definition-level oracle of SUCB, ASAE and SAE on tables, with sets of models by their likelihoods.

One decision at a time, nothing shared with the library. Means, rewards, priors and alpha are the rational
numbers they stand for. A likelihood is a product of rational bases to rational powers, or ``None`` if the
model calls an outcome impossible (there is no floor); its logarithm is taken to 100 digits. Values and best
arms are compared exactly, and equal likelihoods are equal exactly.

The one comparison of logarithms is that of log N - L_i with the budget. It raises :class:`TooClose` if the
two sides differ by less than ``CLOSE`` of the largest of log N, L_i and the budget, since floats err that
much; this holds for every model, even one that would not change the arm. Tests may raise ``CLOSE``.

A set is looked at just before the pull that it decides, so none is looked at after the last pull.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from oracles.isae import (
    MP,
    ONE,
    ZERO,
    Product,
    Real,
    Rewards,
    Row,
    Table,
    TooClose,
    differing,
    exact,
    highest,
    log,
    logarithm,
    real,
    times,
)

__all__ = ["Played", "TooClose", "asae", "members", "sae", "sucb"]

CLOSE = 1e-10  # nearer than this, relative to the larger number: raise; floats err by less


class Played(NamedTuple):
    """The arms up to the first decision on a knife edge, and the empty sets met until then."""

    arms: list[int]
    empty: int


# ---------------------------------------------------------------------------------- the set


def rational(table: Table) -> list[Row]:
    """The means as fractions."""
    return [tuple(map(exact, row)) for row in table]


def normal(prior: Sequence[Any] | None, n_models: int) -> list[Fraction]:
    """The prior weights with sum 1, equal ones if none are given."""
    weights = [ONE] * n_models if prior is None else [exact(p) for p in prior]
    return [p / sum(weights) for p in weights]


def likelihood(row: Row, arms: Sequence[int], pulls: Row, sums: Row) -> Product | None:
    """What a model gives to the rewards of some arms; None if that is 0, where 0 to the power 0 is 1."""
    factors = []
    for k in arms:
        factors += [(row[k], sums[k]), (1 - row[k], pulls[k] - sums[k])]
    product = times(*factors)
    return None if ZERO in product else product


def below(x: Real, y: Real, scale: Real) -> bool:
    """Whether x < y, if that is clear on the scale of the largest of the three."""
    size = max(abs(x), abs(y), scale)
    if size > 0 and abs(x - y) < MP.mpf(CLOSE) * size:
        raise TooClose(f"{MP.nstr(x, 8)} against {MP.nstr(y, 8)}")
    return bool(x < y)


def inside(
    rows: Sequence[Row], prior: Sequence[Fraction], pulls: Row, sums: Row, budget: Real
) -> list[int]:
    """The models i with log N - L_i < budget, where N = sum prior_j exp(L_j)."""
    arms = differing(rows)
    products = [likelihood(row, arms, pulls, sums) for row in rows]
    masses = list[tuple[Product, Fraction]]()  # the different likelihoods and their prior weights
    for product, weight in zip(products, prior, strict=True):
        if product is None or weight == 0:
            continue
        same = [mass for mass in masses if mass[0] == product]
        for mass in same:
            masses.remove(mass)
        masses.append((product, weight + sum((mass[1] for mass in same), ZERO)))
    possible = [i for i, product in enumerate(products) if product is not None]
    if not masses:  # log N = -infinity, which only models without a prior weight can outlive
        return possible
    logs = [(logarithm(product), real(weight)) for product, weight in masses]
    top = max(x for x, _ in logs)
    log_n = top + MP.log(MP.fsum(weight * MP.exp(x - top) for x, weight in logs))
    found = []
    for i in possible:
        product = products[i]
        assert product is not None
        if len(masses) == 1 and masses[0] == (product, ONE):  # N is exp(L_i) exactly
            apart, scale = MP.mpf(0), MP.mpf(0)
        else:
            own = logarithm(product)
            apart, scale = log_n - own, max(abs(log_n), abs(own))
        if below(apart, budget, scale):
            found.append(i)
    return found


def members(
    table: Table,
    pulls: Sequence[Any],
    sums: Sequence[Any],
    budget: Any,
    prior: Sequence[Any] | None = None,
) -> list[int]:
    """The models of the set, given the pulls and the sums of the rewards of the arms."""
    counts, hits = tuple(map(exact, pulls)), tuple(map(exact, sums))
    return inside(rational(table), normal(prior, len(table)), counts, hits, MP.convert(budget))


# --------------------------------------------------------------------------------- the game


class Game:
    """The table and what has been pulled and paid."""

    def __init__(self, table: Table, rewards: Rewards, prior: Sequence[Any] | None) -> None:
        """Nothing has been pulled."""
        self.rows = rational(table)
        self.prior = normal(prior, len(self.rows))
        self.best = [highest(row) for row in self.rows]
        self.candidates = sorted(set(self.best))  # the arms that are best in some model
        self.rewards = rewards
        self.pulls = [0] * len(self.rows[0])
        self.sums = [ZERO] * len(self.rows[0])
        self.arms = list[int]()
        self.empty = 0

    def pull(self, arm: int) -> None:
        """Pull an arm."""
        self.sums[arm] += exact(self.rewards[arm][self.pulls[arm]])
        self.pulls[arm] += 1
        self.arms.append(arm)

    def members(self, budget: Real) -> list[int]:
        """The models of the set."""
        counts = tuple(map(Fraction, self.pulls))
        return inside(self.rows, self.prior, counts, tuple(self.sums), budget)

    def growing(self, alpha: Any) -> Real:
        """The budget alpha log(max(t, 1) + 1) after t pulls."""
        return real(exact(alpha)) * log(Fraction(max(len(self.arms), 1) + 1))


def played(game: Game, steps: Iterator[int], horizon: int) -> Played:
    """Pull the arms of a policy, which decides each one only when it is asked for it."""
    for _ in range(horizon):
        try:
            arm = next(steps)
        except TooClose:
            break
        game.pull(arm)
    return Played(game.arms, game.empty)


# ----------------------------------------------------------------------------- the policies


def sucb_steps(game: Game, alpha: Any) -> Iterator[int]:
    """Before each pull: the best arm of the most optimistic model of the set."""
    while True:
        found = game.members(game.growing(alpha))
        if found:
            value = max(max(game.rows[i]) for i in found)
            yield min(game.best[i] for i in found if max(game.rows[i]) == value)
        else:
            game.empty += 1
            yield min(game.candidates, key=lambda k: (game.pulls[k], k))


def asae_steps(game: Game, alpha: Any) -> Iterator[int]:
    """In each round: one pull of each arm that is best in a model of the set at its start."""
    while True:
        found = game.members(game.growing(alpha))
        if not found:
            game.empty += 1
        yield from sorted({game.best[i] for i in found}) or game.candidates


def sae_steps(game: Game, n: Any, alpha: Any, looks: str) -> Iterator[int]:
    """Pull all active arms equally often up to a target, then drop those that no model of the set wants."""
    if looks not in ("round", "phase"):
        raise ValueError(f"no looks {looks!r}")
    budget = real(exact(alpha)) * log(max(exact(n), Fraction(2)))
    active, phase = game.candidates, 0  # phase: the pulls per active arm at the last look
    while True:
        if looks == "phase":
            target = max(2 * phase, 1)
        else:
            target = phase + 1 if len(active) > 1 else 2 * (phase + 1)
        for _ in range(target - phase):
            yield from active
        phase = target
        wanted = {game.best[i] for i in game.members(budget)}
        kept = [k for k in active if k in wanted]
        if kept:
            active = kept
        else:
            game.empty += 1


def sucb(
    table: Table, rewards: Rewards, horizon: int, alpha: Any, prior: Sequence[Any] | None = None
) -> Played:
    """SUCB: optimism over the models of the set; rewards[k][j] is paid by the j-th pull of arm k."""
    game = Game(table, rewards, prior)
    return played(game, sucb_steps(game, alpha), horizon)


def asae(
    table: Table, rewards: Rewards, horizon: int, alpha: Any, prior: Sequence[Any] | None = None
) -> Played:
    """ASAE: rounds over the best arms of the models of the set."""
    game = Game(table, rewards, prior)
    return played(game, asae_steps(game, alpha), horizon)


def sae(
    table: Table,
    rewards: Rewards,
    horizon: int,
    n: Any,
    alpha: Any,
    looks: str,
    prior: Sequence[Any] | None = None,
) -> Played:
    """SAE: elimination of arms for a horizon n, with a look after each round or at 1, 2, 4, ... pulls."""
    game = Game(table, rewards, prior)
    return played(game, sae_steps(game, n, alpha, looks), horizon)
