"""Definition-level oracle of Thompson sampling, with its randomness on a tape of uniforms.

A draw is the quantile of the arm's posterior law at the next uniform of the tape: one uniform for
each arm that takes part in a decision, lowest arm first, none where nothing is drawn. Quantiles are
floats first; where the two largest are near each other, Newton's method finds them to 45 digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from oracles.indices import Offer, first_unpulled, highest, playable
from oracles.structures import MP, Game, Real, Rewards, Trace, exact, real
from scipy.special import betaincinv, ndtri

__all__ = ["draws", "thompson"]

Prior = tuple[float, float] | None


def sharp_beta_quantile(a: Fraction, b: Fraction, u: Real) -> Real:
    """The x at which the distribution function of Beta(a, b) is u, computed from the nearer end of [0, 1]."""
    x = MP.mpf(float(betaincinv(float(a), float(b), float(u))))
    if x > 0.5:
        return 1 - near_zero(b, a, 1 - u)
    return near_zero(a, b, u)


def near_zero(a: Fraction, b: Fraction, u: Real) -> Real:
    """The quantile to 45 digits relative to itself, so it must not be rounded to 0 as a float."""
    p, q = real(a), real(b)
    x = MP.mpf(float(betaincinv(float(a), float(b), float(u))))
    for _ in range(20):
        density = x ** (p - 1) * (1 - x) ** (q - 1) / MP.beta(p, q)
        step = (MP.betainc(p, q, 0, x, regularized=True) - u) / density
        x -= step
        if abs(step) < x * MP.mpf(10) ** -45:
            return x
    raise ArithmeticError("Newton's method did not settle")


def beta_draw(game: Game, arm: int, u: float, prior: tuple[float, float]) -> Offer:
    """Beta(a + S, b + T - S), S the sum of the rewards in [0, 1]."""
    total = Fraction(game.sums[arm], game.unit)
    a, b = exact(prior[0]) + total, exact(prior[1]) + game.counts[arm] - total
    rough = float(betaincinv(float(a), float(b), u))
    return Offer(arm, rough, (a, b, u), lambda: sharp_beta_quantile(a, b, real(exact(u))))


def normal_draw(game: Game, arm: int, u: float, prior: Prior, sigma: float) -> Offer:
    """The normal posterior: precisions add, means are weighted by them; without a prior N(mean, sigma**2 / T)."""
    centre, precision = Fraction(0), Fraction(0)
    if prior is not None:
        centre, precision = exact(prior[0]), 1 / exact(prior[1]) ** 2
    data = game.counts[arm] / exact(sigma) ** 2
    total = Fraction(game.sums[arm], game.unit) / exact(sigma) ** 2
    mean, variance = (centre * precision + total) / (precision + data), 1 / (precision + data)

    def sharp() -> Real:
        z = MP.sqrt(2) * MP.erfinv(2 * real(exact(u)) - 1)
        return real(mean) + MP.sqrt(real(variance)) * z

    return Offer(
        arm, float(mean) + float(variance) ** 0.5 * float(ndtri(u)), (mean, variance, u), sharp
    )


def draws(
    game: Game, arms: Sequence[int], tape: Iterator[float], prior: Prior, sigma: float | None
) -> list[Offer]:
    """One draw for each of these arms, in their order."""
    offers = []
    for arm in arms:
        u = float(next(tape))
        if sigma is None:
            offers.append(beta_draw(game, arm, u, (1, 1) if prior is None else prior))
        else:
            offers.append(normal_draw(game, arm, u, prior, sigma))
    return offers


def thompson(
    n_arms: int,
    rewards: Rewards,
    horizon: int,
    uniforms: Iterable[float],
    prior: Prior = None,
    arms: Iterable[int] | None = None,
    sigma: float | None = None,
) -> Trace:
    """Thompson sampling: the arm with the largest draw.

    Rewards in [0, 1] with a prior Beta(a, b), (1, 1) if none is given; with ``sigma`` Gaussian rewards
    with a prior (mean, deviation), or without one after one pull of each arm, which draws nothing.
    """
    game, mine, tape = Game(n_arms, rewards), playable(n_arms, arms), iter(uniforms)
    first_pulls = sigma is not None and prior is None
    for _ in range(horizon):
        arm = first_unpulled(game, mine) if first_pulls else None
        if arm is None:
            arm = highest(draws(game, mine, tape, prior, sigma), game.trace)
        game.pull(arm)
    return game.trace
