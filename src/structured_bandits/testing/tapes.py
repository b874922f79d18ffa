"""Reward tapes on which policies are hard to get right: ties, runs of luck, nothing but the worst.

All rewards are multiples of a power of two, so that sums are exact in any order: a policy that plays
differently when rewards come in blocks has no excuse in rounding.
"""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.arrays import Floats

STYLES = 8


def reward_tape(
    number: int,
    arms: int,
    pulls: int,
    reward_range: tuple[float, float] = (0.0, 1.0),
    coins: bool = False,
) -> Floats:
    """Return the tape with this number, rewards of arms × pulls; a number always gives the same tape.

    With `coins` all rewards are 0 or 1. Tapes 0 and 1 pay the least and the most all the time, on tape 2
    all arms pay alike, on tape 3 rewards come in runs, on 4 the bad ones come first and on 5 the good
    ones; 6 and 7 are random. Tape 8 is of the same kind as tape 0, tape 9 as tape 1, and so on.
    """
    rng = np.random.default_rng([number, arms, pulls])
    levels = np.array([0.0, 1.0]) if coins else reward_levels(reward_range)
    style = number % STYLES
    if style < 2:
        return np.full((arms, pulls), levels[-1 if style else 0])
    rewards = _random(rng, arms, pulls, levels, ends_only=number % 2 == 1)
    if style == 2:
        return np.repeat(rewards[:1], arms, axis=0)
    if style == 3:
        return np.ascontiguousarray(np.repeat(rewards, 7, axis=1)[:, :pulls])
    if style in (4, 5):
        rising = np.sort(rewards, axis=1)
        return rising if style == 4 else np.ascontiguousarray(rising[:, ::-1])
    return rewards


def reward_levels(reward_range: tuple[float, float]) -> Floats:
    """Return some 9 to 17 multiples of a power of two in a range, rising."""
    low, high = reward_range
    step = 2.0 ** math.floor(math.log2((high - low) / 8.0))
    return step * np.arange(math.ceil(low / step), math.floor(high / step) + 1.0)


def _random(
    rng: np.random.Generator, arms: int, pulls: int, levels: Floats, ends_only: bool
) -> Floats:
    """Return random rewards, of each arm around a mean of its own: any level, or the ends only."""
    shares = rng.random((arms, 1))
    if ends_only:
        return np.where(rng.random((arms, pulls)) < shares, levels[-1], levels[0])
    steps = rng.binomial(len(levels) - 1, np.broadcast_to(shares, (arms, pulls)))
    return levels[steps]
