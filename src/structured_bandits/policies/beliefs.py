"""What is believed of each arm on its own, and draws from it: Thompson's idea.

- Rewards in a range, scaled to [0, 1]: the mean of an arm has the law Beta(a + S, b + T - S) after T
  pulls with sum S. For rewards of 0 and 1 that is the posterior of the prior Beta(a, b); for others a
  *quasi-posterior*: it is centred where it should be, and wider than need be.
- Gaussian rewards (no range): normal, by a normal prior; or without a prior around the average of the
  arm, with deviation sigma / sqrt(T), once it was pulled.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.checks import LARGEST, checked_number, numbers
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.draws import draw_normal
from structured_bandits.errors import ParameterError
from structured_bandits.policies.base import checked_scale
from structured_bandits.structures.reward_ranges import Rewards

WIDEST = 1e50  # a normal prior's deviation over sigma: its square is a number


class Belief(NamedTuple):
    """A prior of each arm's mean, and what a reward says of it."""

    gaussian: bool
    a: float  # Beta: the prior's ones; normal: its mean
    b: float  # Beta: its zeros; normal: its precision times sigma^2, the pulls that it is worth
    bottom: float  # of the rewards
    width: float  # of their range; of Gaussian ones sigma


def checked_belief(prior: Any, rewards: Rewards) -> tuple[Belief, tuple[float, float] | None]:
    """Return the belief of a prior, and the prior as plain numbers; None is the default one."""
    if math.isfinite(rewards.bottom):
        a, b = (1.0, 1.0) if prior is None else _pair(prior, "(a, b) of a Beta prior")
        pair = checked_scale("prior[0]", a), checked_scale("prior[1]", b)
        return Belief(False, *pair, rewards.bottom, rewards.top - rewards.bottom), pair
    if prior is None:
        return Belief(True, 0.0, 0.0, 0.0, rewards.sigma), None
    mean, deviation = _pair(prior, "(mean, deviation) of a normal prior, or None")
    pair = checked_number("prior[0]", mean), checked_scale("prior[1]", deviation)
    ratio = rewards.sigma / pair[1]
    if abs(pair[0]) > LARGEST or not 1.0 / WIDEST <= ratio <= WIDEST:
        raise ParameterError(
            f"prior={prior!r}: expected a mean up to {LARGEST:g}, and a deviation of {1.0 / WIDEST:g} "
            f"to {WIDEST:g} times sigma={rewards.sigma!r}; use other units, or None for no prior"
        )
    return Belief(True, pair[0], ratio * ratio, 0.0, rewards.sigma), pair


def _pair(prior: Any, accepted: str) -> tuple[float, float]:
    values = numbers(prior)
    if values is None or values.shape != (2,):
        raise ParameterError(f"prior={prior!r}: expected two numbers, {accepted}")
    return float(values[0]), float(values[1])


@compilable
def beta_shape(belief: Belief, data: Data, arm: int) -> tuple[float, float]:
    """Return a and b of the Beta law of an arm's mean."""
    pulls = float(data.pulls[arm])
    ones = min(max((data.sums[arm] - belief.bottom * pulls) / belief.width, 0.0), pulls)
    return belief.a + ones, belief.b + (pulls - ones)


@compilable
def draw_mean(belief: Belief, data: Data, arm: int, rng: np.random.Generator) -> float:
    """Draw an arm's mean; something must be known of it, be it by a prior."""
    if not belief.gaussian:
        a, b = beta_shape(belief, data, arm)
        return rng.beta(a, b)
    worth = belief.b + data.pulls[arm]
    mean = (belief.a * belief.b + data.sums[arm]) / worth
    return draw_normal(mean, belief.width / math.sqrt(worth), rng)


@compilable
def highest_draw(belief: Belief, data: Data, playable: Ints, rng: np.random.Generator) -> int:
    """Draw a mean for each of these arms, rising; return that of the highest, the lowest on ties.

    Without a prior an arm that was not pulled yet comes first, and nothing is drawn.
    """
    if belief.b == 0.0:
        for arm in playable:
            if data.pulls[arm] == 0:
                return int(arm)
    choice = playable[0]
    highest = -math.inf
    for arm in playable:
        draw = draw_mean(belief, data, arm, rng)
        if draw > highest:
            choice, highest = arm, draw
    return int(choice)
