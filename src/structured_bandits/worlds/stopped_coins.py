"""Coins thrown until there are too many heads or too many tails, in a time that hardly grows with them.

All throws are drawn at once, by a binomial number. If they have too many tails, the throw at which to
stop is drawn given that number: all orders of the throws are equally likely (docs/notes/lookahead.md
1.3). Only where heads earn further tails is a run of heads drawn for each of the tails
(docs/notes/lookahead.md 1.4).

The binomial numbers are drawn by methods that need no set-up, as each plan has another number of
throws: one uniform number each for a few throws, inversion if the rarer side is expected less than ten
times, and otherwise Hörmann's transformed rejection (BTRS: Hörmann 1993, The generation of binomial
random variates). Generators of NumPy have binomial numbers too, at twice the time for the numbers of
throws that plans have; blocks that cannot stop are drawn by them (`Bernoulli.draw`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.draws import draw_exponential, draw_gamma
from structured_bandits.protocols import Stop

FEW = 8  # throws that are drawn fastest one by one
SOME = 32.0  # throws that are taken back as fast as the stop is drawn
FOR_EVER = 1e300  # a number of throws
SMALL = 10.0  # expected heads up to which inversion is faster, and rejection not valid


class Coin(NamedTuple):
    """A coin: how likely heads are, and what its runs are drawn by (`run_scales`)."""

    share: float  # of heads
    heads: float
    tails: float


def run_scales(shares: Floats) -> tuple[Floats, Floats]:
    """Return by which numbers runs of heads and of tails are drawn, of coins with these shares of heads.

    What comes with probability q shows at least k times in a row with probability q^k, which is the
    probability that an exponential number is at least -k log(q). So that number times -1 / log(q),
    rounded down, is the length of a run.
    """
    with np.errstate(divide="ignore"):
        heads, tails = -np.log(shares), -np.log1p(-shares)
    return 1.0 / np.maximum(heads, 1.0 / FOR_EVER), 1.0 / np.maximum(tails, 1.0 / FOR_EVER)


@compilable
def stopped_coins(coin: Coin, stop: Stop, rng: np.random.Generator) -> tuple[int, int]:
    """Throw a coin until there are more tails or heads than `stop` allows; return throws and heads.

    Misses are tails and gains are heads. After misses + gains + 1 throws one of them is exceeded; up to
    then not both can be.
    """
    if stop.earned != 0.0:
        return _run_by_run(coin.heads, stop, rng)
    share = coin.share
    count = min(stop.length, stop.misses + min(stop.gains, stop.length) + 1)
    if stop.misses == 0:
        heads = run_length(coin.heads, count, rng)
        return min(heads + 1, count), heads
    if stop.gains == 0:
        tails = run_length(coin.tails, count, rng)
        return (tails + 1, 1) if tails < count else (count, 0)
    if count <= FEW:
        return _one_by_one(share, count, stop, rng)
    heads = binomial(count, share, rng)
    tails = count - heads
    if tails > stop.misses:
        made = stopping_throw(count, tails, stop.misses, rng)
        return made, made - stop.misses - 1
    if heads > stop.gains:
        return stopping_throw(count, heads, stop.gains, rng), stop.gains + 1
    return count, heads


@compilable
def _one_by_one(share: float, count: int, stop: Stop, rng: np.random.Generator) -> tuple[int, int]:
    made = 0
    heads = 0
    while made < count and heads <= stop.gains and made - heads <= stop.misses:
        heads += rng.random() < share
        made += 1
    return made, heads


@compilable
def _run_by_run(heads: float, stop: Stop, rng: np.random.Generator) -> tuple[int, int]:
    """Throw run by run of heads, each of which ends with tails; heads earn further tails, or cost some.

    `left` is how many tails more are allowed; there is another throw as long as it is not negative.
    """
    left = stop.misses + stop.spare
    gains = min(stop.gains, stop.length)
    made = 0
    tails = 0
    while True:
        most = min(stop.length, gains + 1 + tails) - made
        if stop.earned < 0.0:
            most = int(min(float(most), 1.0 + left / -stop.earned))
        run = run_length(heads, most, rng)
        made += run
        left += run * stop.earned
        if run == most:
            return made, made - tails
        made += 1
        tails += 1
        left -= 1.0
        if left < 0.0 or made == stop.length:
            return made, made - tails


@compilable
def run_length(scale: float, count: int, rng: np.random.Generator) -> int:
    """Draw how many throws of a run come before it ends, at most `count` (`run_scales`)."""
    return int(min(draw_exponential(rng) * scale, float(count)))


@compilable
def stopping_throw(count: int, hits: int, allowed: int, rng: np.random.Generator) -> int:
    """Draw which of `count` throws is number allowed + 1 of the `hits` among them.

    It is where that one of so many uniform numbers lies, a beta number, and the other throws come
    before it with that probability.
    """
    if (hits - allowed) * count < SOME * hits:
        return taken_back(count, float(hits), allowed, rng)
    before = draw_gamma(allowed + 1.0, rng)
    after = draw_gamma(float(hits - allowed), rng)
    return allowed + 1 + binomial(count - hits, before / (before + after), rng)


@compilable
def taken_back(count: int, zeros: float, misses: int, rng: np.random.Generator) -> int:
    """Take pulls back from the end of a block until its last one is the miss at which to stop.

    Return how many are left. Each of the orders in which they may have come is equally likely: the last
    is a miss with the share of misses among them.
    """
    while True:
        if rng.random() * count < zeros:
            if zeros == misses + 1:
                return count
            zeros -= 1.0
        count -= 1


@compilable
def binomial(count: int, share: float, rng: np.random.Generator) -> int:
    """Draw the number of heads among `count` throws."""
    rarer = min(share, 1.0 - share)
    if count <= FEW:
        heads = 0
        for _ in range(count):
            heads += rng.random() < share
        return heads
    if count * rarer < SMALL:
        found = _by_inversion(count, rarer, rng)
    else:
        found = _by_rejection(count, rarer, rng)
    return found if share == rarer else count - found


@compilable
def _by_inversion(count: int, share: float, rng: np.random.Generator) -> int:
    """Subtract the probabilities of 0, 1, 2, … heads from a uniform number until it is used up.

    It can outlast them all by rounding, or get to numbers whose probability is below 1e-80: then again.
    """
    ratio = share / (1.0 - share)
    none = math.exp(count * math.log1p(-share))
    while True:
        left = rng.random()
        heads = 0
        probability = none
        while left > probability and heads < count and heads < 120:
            left -= probability
            heads += 1
            probability *= ratio * (count - heads + 1) / heads
        if left <= probability:
            return heads


@compilable
def _by_rejection(count: int, share: float, rng: np.random.Generator) -> int:
    """BTRS, for share <= 1/2 and at least ten expected heads."""
    spread = math.sqrt(count * share * (1.0 - share))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * share
    surely = 0.92 - 4.2 / b
    while True:
        u = rng.random() - 0.5
        v = 1.0 - rng.random()  # above 0
        near = 0.5 - abs(u)
        heads = math.floor((2.0 * a / near + b) * u + count * share + 0.5)
        if near >= 0.07 and v <= surely:
            return int(heads)
        if not 0 <= heads <= count:
            continue
        level = math.log(v * (2.83 + 5.1 / b) * spread / (a / (near * near) + b))
        if level <= _relative_log_probability(count, share, float(heads)):
            return int(heads)


@compilable
def _relative_log_probability(count: int, share: float, heads: float) -> float:
    """Return the logarithm of the probability of so many heads over that of the likeliest number."""
    mode = float(math.floor((count + 1) * share))
    odds = share / (1.0 - share)
    rest = count - mode + 1.0
    return (
        (mode + 0.5) * math.log((mode + 1.0) / (odds * rest))
        + (count + 1.0) * math.log(rest / (count - heads + 1.0))
        + (heads + 0.5) * math.log(odds * (count - heads + 1.0) / (heads + 1.0))
        + _stirling_rest(mode)
        + _stirling_rest(count - mode)
        - _stirling_rest(heads)
        - _stirling_rest(count - heads)
    )


@compilable
def _stirling_rest(number: float) -> float:
    """Return log(n!) less Stirling's (n + 1/2) log(n + 1) - (n + 1) + log(2 pi) / 2."""
    after = number + 1.0
    if number < 10.0:
        half_log = 0.5 * math.log(2.0 * math.pi)
        return math.lgamma(after) - ((number + 0.5) * math.log(after) - after + half_log)
    square = 1.0 / (after * after)
    return (1.0 / 12.0 - (1.0 / 360.0 - square / 1260.0) * square) / after
