"""Definition-level oracles of the index policies: KL-UCB, kl-UCB++, MOSS, IMED and UCB-V.

One pull at a time, rewards in [0, 1] (or Gaussian with a given sigma). An index is a float first;
where two of the largest are near each other, numbers of 60 digits decide. Ties that the data make
(two arms with the same pulls and sums, two arms that never failed) are known by name, not by value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from oracles.structures import MP, UNDECIDED, Game, Real, Rewards, Trace, exact, log, real

__all__ = ["imed", "klucb", "moss", "ucbv"]

NEAR = 1e-7  # floats that are further apart are in the right order: their errors are below 1e-8


class Offer(NamedTuple):
    """What an arm offers. Offers of the same name are equal; ``sharp`` is the value to 60 digits."""

    arm: int
    rough: float
    name: Hashable
    sharp: Callable[[], Real]


def highest(offers: Sequence[Offer], trace: Trace, follow: Sequence[int] = ()) -> int:
    """The arm of the largest offer, the lowest on ties; notes how far the other arms' offers are.

    At a coincidence (see :class:`Trace`) the arm that ``follow`` took is as good, if it is tied.
    """
    top = max(offer.rough for offer in offers)
    near = [offer for offer in offers if offer.rough >= top - NEAR * max(1.0, abs(top))]
    equal, behind = {offer.name for offer in near}, dict[Hashable, float]()
    if len(equal) > 1:
        sharp = {offer.name: offer.sharp() for offer in near}
        best = max(sharp.values())
        behind = {name: float(best - value) for name, value in sharp.items()}
        equal = {name for name, value in sharp.items() if best - value < UNDECIDED}
    tied = {offer.arm: offer.name for offer in near if offer.name in equal}
    for offer in offers:
        if offer.arm not in tied:
            gap = behind.get(offer.name, top - offer.rough) / max(1.0, abs(top))
            trace.closest = min(trace.closest, gap)
    trace.ties += len(tied) > 1
    if len(set(tied.values())) > 1:
        trace.coincidences.append(t := len(trace.arms))
        if t < len(follow) and follow[t] in tied:
            return int(follow[t])
    return min(tied)


def playable(n_arms: int, arms: Iterable[int] | None) -> list[int]:
    return list(range(n_arms)) if arms is None else sorted(arms)


def first_unpulled(game: Game, arms: Iterable[int]) -> int | None:
    return next((i for i in arms if game.counts[i] == 0), None)


def rough_mean(game: Game, arm: int) -> float:
    return game.sums[arm] / (game.unit * game.counts[arm])


# ------------------------------------------------------------------------- Bernoulli divergence


def kl(x: float, q: float) -> float:
    """The divergence of Bernoulli laws with means x and q; infinite where q is 0 or 1 and x is not."""
    if x == q:
        return 0.0
    if not 0 < q < 1:
        return math.inf
    ones = x * (math.log(x) - math.log(q)) if x > 0 else 0.0
    zeros = (1 - x) * (math.log1p(-x) - math.log1p(-q)) if x < 1 else 0.0
    return max(0.0, ones + zeros)


def sharp_kl(x: Fraction, q: Fraction | Real) -> Real:
    """The same to 60 digits."""
    if x == q:
        return MP.mpf(0)
    if not 0 < q < 1:
        return MP.inf
    q = real(q) if isinstance(q, Fraction) else q
    ones = real(x) * MP.log(real(x) / q) if x > 0 else 0
    return ones + (real(1 - x) * MP.log(real(1 - x) / (1 - q)) if x < 1 else 0)


def kl_upper(x: float, b: float) -> float:
    """The largest q with kl(x, q) <= b, by bisection."""
    if b <= 0 or x >= 1:
        return x
    if x <= 0:
        return -math.expm1(-b)
    below, above = x, min(1.0, x + math.sqrt(b / 2))  # Pinsker: kl(x, q) >= 2 (q - x)**2
    miss, rest = 1 - x, b - x * math.log(x) - (1 - x) * math.log1p(-x)
    for _ in range(50):
        q = (below + above) / 2
        if q < 1 and -x * math.log(q) - miss * math.log1p(-q) <= rest:
            below = q
        else:
            above = q
    return below


def sharp_kl_upper(x: Fraction, b: Real) -> Real:
    """The same to about 50 digits: kl(x, .) is convex, so Newton's steps from above never pass the root."""
    if b <= 0 or x >= 1:
        return real(x)
    if x <= 0:
        return -MP.expm1(-b)
    mean = real(x)
    entropy = -mean * MP.log(mean) - (1 - mean) * MP.log(1 - mean)
    q = min(mean + MP.sqrt(b / 2), -MP.expm1(-(b + entropy) / (1 - mean)))
    for _ in range(200):
        step = (sharp_kl(x, q) - b) * q * (1 - q) / (q - mean)
        q -= step
        if step < MP.mpf(10) ** -50:
            return q
    raise ArithmeticError("Newton's method did not settle")


# ------------------------------------------------------------------------------- upper confidence


def upper(game: Game, arm: int, budget: Real, sigma: float | None) -> Offer:
    """The largest q with T div(mean, q) <= budget; Gaussian rewards: mean + sigma sqrt(2 budget / T)."""
    pulls, mean, total = game.counts[arm], rough_mean(game, arm), game.sums[arm]
    b = float(budget) / pulls
    if sigma is None:
        if total == game.unit * pulls:
            return Offer(arm, 1.0, "always 1", lambda: MP.mpf(1))
        name = ("mean", game.mean(arm)) if budget == 0 else (pulls, total)
        return Offer(
            arm, kl_upper(mean, b), name, lambda: sharp_kl_upper(game.mean(arm), budget / pulls)
        )
    name = (game.mean(arm), 0 if budget == 0 else pulls)
    radius = sigma * math.sqrt(2 * b)

    def sharp() -> Real:
        return real(game.mean(arm)) + real(exact(sigma)) * MP.sqrt(2 * budget / pulls)

    return Offer(arm, mean + radius, name, sharp)


def highest_upper(
    game: Game, arms: Sequence[int], budget: Callable[[int], Real], sigma: float | None
) -> int:
    """The arm with the highest upper bound, arms without a pull first; ``budget(T)`` after T pulls."""
    first = first_unpulled(game, arms)
    if first is not None:
        return first
    return highest([upper(game, i, budget(game.counts[i]), sigma) for i in arms], game.trace)


@cache
def klucb_budget(t: int, c: float) -> Real:
    """Log(t) + c log(max(log(t), 1)) for the decision with number t, counted from 1."""
    return log(t) + real(exact(c)) * MP.log(max(log(t), MP.mpf(1)))


def positive_log(y: Real) -> Real:
    return max(MP.log(y), MP.mpf(0))


def klucb(
    n_arms: int,
    rewards: Rewards,
    horizon: int,
    c: float = 0.0,
    variant: str = "plain",
    n: float | None = None,
    arms: Iterable[int] | None = None,
    sigma: float | None = None,
) -> Trace:
    """KL-UCB, or kl-UCB++ tuned for n pulls; both count the playable arms only."""
    game, mine = Game(n_arms, rewards), playable(n_arms, arms)
    share = exact(horizon if n is None else n) / len(mine)

    @cache
    def plus_plus(pulls: int) -> Real:
        y = real(share / pulls)
        return positive_log(y * (1 + positive_log(y) ** 2))

    for t in range(1, horizon + 1):
        budget = plus_plus if variant == "++" else lambda _, t=t: klucb_budget(t, c)
        game.pull(highest_upper(game, mine, budget, sigma))
    return game.trace


def moss(
    n_arms: int,
    rewards: Rewards,
    horizon: int,
    n: float | None = None,
    alpha: float = 1.0,
    arms: Iterable[int] | None = None,
    sigma: float = 0.5,
) -> Trace:
    """MOSS tuned for n pulls; without n the anytime form, with the clock for n and (1 + alpha)/2 in the root.

    The number of arms in the logarithm is that of the playable ones.
    """
    game, mine = Game(n_arms, rewards), playable(n_arms, arms)
    factor = Fraction(1) if n is not None else (1 + exact(alpha)) / 2

    @cache
    def budget(pulls: int, clock: Fraction) -> Real:
        """Half of (radius / sigma)**2 times the pulls: the radius is 2 sigma sqrt(factor log+ / T)."""
        return 2 * real(factor) * positive_log(real(clock / (len(mine) * pulls)))

    for t in range(1, horizon + 1):
        clock = exact(t if n is None else n)
        game.pull(highest_upper(game, mine, lambda pulls, s=clock: budget(pulls, s), sigma))
    return game.trace


# -------------------------------------------------------------------------------- IMED and UCB-V


def imed_offer(game: Game, arm: int, leader: int, sigma: float | None) -> Offer:
    """Minus the index T div(mean, highest mean) + log T."""
    pulls, x, top = game.counts[arm], game.mean(arm), game.mean(leader)
    name = (pulls, x)
    if sigma is None:
        away = pulls * kl(float(x), float(top)) if x < top else 0.0
        return Offer(
            arm, -away - math.log(pulls), name, lambda: -pulls * sharp_kl(x, top) - log(pulls)
        )
    square = (top - x) ** 2 / (2 * exact(sigma) ** 2) * pulls
    return Offer(arm, -float(square) - math.log(pulls), name, lambda: -real(square) - log(pulls))


def imed(
    n_arms: int,
    rewards: Rewards,
    horizon: int,
    arms: Iterable[int] | None = None,
    sigma: float | None = None,
    follow: Sequence[int] = (),
) -> Trace:
    """IMED: the smallest T div(mean, highest mean of the playable arms) + log T.

    Coincidences are common: log 2 is the index of an arm with one reward 0 against a highest mean
    of 1/2, and that of an arm with a mean of 1/2 after two pulls. There the arms of ``follow`` win.
    """
    game, mine = Game(n_arms, rewards), playable(n_arms, arms)
    for _ in range(horizon):
        arm = first_unpulled(game, mine)
        if arm is None:
            leader = max(mine, key=game.mean)
            arm = highest([imed_offer(game, i, leader, sigma) for i in mine], game.trace, follow)
        game.pull(arm)
    return game.trace


def ucbv_offer(game: Game, arm: int, squares: Fraction, t: int) -> Offer:
    """Mean + sqrt(2.4 v log(t) / T) + 3.6 log(t) / T, v the variance of the arm's rewards."""
    pulls, mean = game.counts[arm], game.mean(arm)
    variance = squares / pulls - mean**2
    rough = math.log(t) / pulls

    def sharp() -> Real:
        part = log(t) / pulls
        return real(mean) + MP.sqrt(real(Fraction(12, 5) * variance) * part) + 18 * part / 5

    return Offer(
        arm,
        float(mean) + math.sqrt(2.4 * float(variance) * rough) + 3.6 * rough,
        (pulls, mean, squares),
        sharp,
    )


def ucbv(n_arms: int, rewards: Rewards, horizon: int, arms: Iterable[int] | None = None) -> Trace:
    """UCB-V for rewards in [0, 1]."""
    game, mine = Game(n_arms, rewards), playable(n_arms, arms)
    squares = [Fraction(0)] * n_arms
    for t in range(1, horizon + 1):
        arm = first_unpulled(game, mine)
        if arm is None:
            arm = highest([ucbv_offer(game, i, squares[i], t) for i in mine], game.trace)
        squares[arm] += Fraction(game.pull(arm), game.unit) ** 2
    return game.trace
