"""Families of rewards: what is known of a reward beside its mean.

This is their one definition: policies, worlds and theory take the same names and mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.text_tables import listed
from structured_bandits.errors import ParameterError

OfMeans = Callable[[Floats, Floats, float], Floats]  # of true means p, other means q, and sigma


class Divergence(NamedTuple):
    """What one pull tells between two rewards of a family, by their means: the divergence KL(p, q).

    `value(p, q, sigma)` is for a true mean p and another mean q, `slope` and `curvature` are its first
    and second derivatives by q; `sigma` is the standard deviation where a family has one of its own.
    It is infinite where q excludes an outcome that p allows. Means lie in [`lowest`, `highest`].
    """

    value: OfMeans
    slope: OfMeans
    curvature: OfMeans
    lowest: float
    highest: float


class Family(NamedTuple):
    """A family of rewards; `divergence` is None if means alone do not determine it."""

    name: str
    words: str
    divergence: Divergence | None


def kl_bernoulli(p: Floats, q: Floats, sigma: float = 0.5) -> Floats:
    """Return KL(Bernoulli(p), Bernoulli(q)): 0 log 0 = 0, infinite where q excludes an outcome.

    The textbook's two terms nearly cancel for close p and q. With u = (q - p) / p and its mirror image v
    their linear parts cancel exactly, which leaves p (u - log(1 + u)) + (1 - p) (v - log(1 + v)).
    A Bernoulli reward's variance follows from its mean, so `sigma` has no influence.
    """
    return _half_divergence(p, q) + _half_divergence(1.0 - p, 1.0 - q)


def kl_gaussian(p: Floats, q: Floats, sigma: float) -> Floats:
    """Return KL(Normal(p, sigma^2), Normal(q, sigma^2)).

    >>> float(kl_gaussian(0.25, 0.75, sigma=0.5))
    0.5
    """
    return (p - q) ** 2 / (2.0 * sigma**2)


def _half_divergence(p: Floats, q: Floats) -> Floats:
    """Return p (u - log(1 + u)) for u = (q - p) / p, by its series for small u; q for p = 0."""
    u = np.where(p > 0.0, (q - p) / np.where(p > 0.0, p, 1.0), 0.0)
    series = u * u * (1 / 2 - u * (1 / 3 - u * (1 / 4 - u * (1 / 5 - u * (1 / 6 - u / 7)))))
    with np.errstate(divide="ignore"):
        plain = u - np.log1p(u)
    return np.where(p > 0.0, p * np.where(np.abs(u) < 1e-3, series, plain), q)


def _bernoulli_slope(p: Floats, q: Floats, sigma: float) -> Floats:
    """An outcome that p excludes adds nothing, also where q excludes it."""
    return _quotient(1.0 - p, 1.0 - q) - _quotient(p, q)


def _bernoulli_curvature(p: Floats, q: Floats, sigma: float) -> Floats:
    return _quotient(1.0 - p, (1.0 - q) ** 2) + _quotient(p, q**2)


def _gaussian_slope(p: Floats, q: Floats, sigma: float) -> Floats:
    return (q - p) / sigma**2


def _gaussian_curvature(p: Floats, q: Floats, sigma: float) -> Floats:
    return np.full(np.shape(q), 1.0 / sigma**2)


def _quotient(a: Floats, b: Floats) -> Floats:
    """Return a / b with 0 / 0 = 0."""
    with np.errstate(divide="ignore"):
        return np.where(a > 0.0, a / np.where(a > 0.0, b, 1.0), 0.0)


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "bernoulli",
            "rewards are 0 or 1, or the ends of another range, and the mean tells how likely which is",
            Divergence(kl_bernoulli, _bernoulli_slope, _bernoulli_curvature, 0.0, 1.0),
        ),
        Family(
            "gaussian",
            "rewards are normal, with a standard deviation sigma that all arms share",
            Divergence(kl_gaussian, _gaussian_slope, _gaussian_curvature, -math.inf, math.inf),
        ),
        Family("bounded", "rewards lie in a known range, and no more is known of them", None),
    )
}


def checked_family(name: Any, accepted: Iterable[str] = tuple(FAMILIES)) -> str:
    """Return the name of a family if it is one of those accepted: all of them, unless told otherwise.

    >>> checked_family("gaussian")
    'gaussian'
    """
    names = tuple(accepted)
    if not isinstance(name, str) or name not in names:
        raise ParameterError(f"family={name!r}: accepted are {listed(map(repr, names))}")
    return name


def divergence_of(name: Any, reward_range: tuple[float, float] = (0.0, 1.0)) -> Divergence:
    """Return the divergence of a family; raise if its means do not determine one.

    Bernoulli rewards are the ends of the `reward_range`. Units change nothing: they are as hard to tell
    apart as coins whose means are the shares of the range.

    Why Bernoulli rewards stand in for bounded ones: replace a reward x in [0, 1] by a coin that shows 1
    with probability x. The mean stays, and no processing of data makes laws easier to tell apart.

    >>> float(divergence_of("gaussian").value(0.25, 0.75, 0.5))
    0.5
    """
    parametric = {f.name: f.divergence for f in FAMILIES.values() if f.divergence is not None}
    if isinstance(name, str) and name in FAMILIES and name not in parametric:
        raise ParameterError(
            f"family={name!r}: the means of such rewards do not determine their divergence, so the "
            "Graves-Lai bound is not defined; take family='bernoulli' for rewards in [0, 1]: of all "
            "that have the same means, those that are 0 or 1 are the hardest to tell apart"
        )
    divergence = parametric[checked_family(name, parametric)]
    plain = math.isinf(divergence.lowest) or tuple(reward_range) == (0.0, 1.0)
    return divergence if plain else _stretched(divergence, *reward_range)


def _stretched(coin: Divergence, low: float, high: float) -> Divergence:
    """Return the divergence of rewards that are `low` or `high`, by their means."""
    width = high - low

    def by_shares(of_means: OfMeans, power: int) -> OfMeans:
        return lambda p, q, sigma: (
            of_means((p - low) / width, (q - low) / width, sigma) / width**power
        )

    return Divergence(
        by_shares(coin.value, 0), by_shares(coin.slope, 1), by_shares(coin.curvature, 2), low, high
    )
