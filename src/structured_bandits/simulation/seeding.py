"""The starts of many runs at once: what NumPy's SeedSequence and PCG64 make of one seed and many keys.

A generator made by NumPy takes longer than a short run. Both algorithms are part of what NumPy promises
to keep: SeedSequence (O'Neill's seed_seq, on words of 32 bits) mixes the key into a pool that the seed
alone has filled, so NumPy is asked for that pool once; the rest is a few operations on whole arrays.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Halves = NDArray[np.uint32]

FEW = 4  # runs whose starts NumPy makes more quickly
POOL = 4  # words of the pool of a SeedSequence
SEED = 8  # words that it seeds PCG64 with
HASHES_OF_POOL = POOL + POOL * (POOL - 1)  # to fill it with four words or fewer
WORD = (1 << 32) - 1
LONG_WORD = (1 << 64) - 1
IN_FIRST, IN_FACTOR = 0x43B0D7E5, 0x931E8875  # constants of hashes on the way into the pool
OUT_FIRST, OUT_FACTOR = 0x8B51F9DD, 0x58F38DED  # and out of it
MIX_LEFT, MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
HALF_WORD = np.uint32(16)
LOW_HALF, HALF = np.uint64(WORD), np.uint64(32)
ONE, TOP_BIT = np.uint64(1), np.uint64(63)
PCG_HIGH, PCG_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)  # its multiplier


class Wide(NamedTuple):
    """Numbers of 128 bits."""

    high: Words
    low: Words


def starts_of(seed: int, runs: range, *key: int) -> Words:
    """Return the state of PCG64(SeedSequence(seed, spawn_key=(run, *key))) for each run.

    A row has the low and the high word of the state and of the increment. The first one is compared with
    NumPy's own: should that be another one, all of them are NumPy's own, and so are those of numbers
    that take more than a word. Keys are words.
    """
    if len(runs) <= FEW or runs.stop > WORD:
        return _one_by_one(seed, runs, key)
    rows = _pcg_starts(_seed_words(_pools(seed, runs, key)))
    if not np.array_equal(rows[:1], _one_by_one(seed, runs[:1], key)):
        return _one_by_one(seed, runs, key)
    return rows


def _one_by_one(seed: int, runs: range, key: tuple[int, ...]) -> Words:
    """Return the same as NumPy gives it."""
    sequences = (np.random.SeedSequence(seed, spawn_key=(run, *key)) for run in runs)
    return np.array([public_words(np.random.PCG64(each)) for each in sequences], np.uint64)


def public_words(bit_generator: np.random.BitGenerator) -> list[int]:
    """Return the low and the high word of the state and of the increment of a PCG64."""
    state = bit_generator.state["state"]
    numbers = (state["state"], state["inc"])
    return [part for number in numbers for part in (number & LONG_WORD, number >> 64)]


@lru_cache(maxsize=64)
def _constants(first: int, factor: int, skip: int, count: int) -> tuple[Halves, Halves]:
    """Return what hashes add before they multiply, and multiply by; columns, after the first few."""
    powers = [first * pow(factor, skip + each, WORD + 1) & WORD for each in range(count + 1)]
    column = np.array(powers, np.uint32)[:, np.newaxis]
    return column[:-1], column[1:]


def _hashed(words: Halves, constants: tuple[Halves, Halves]) -> Halves:
    hashed = (words ^ constants[0]) * constants[1]
    return hashed ^ (hashed >> HALF_WORD)


def _pools(seed: int, runs: range, key: tuple[int, ...]) -> Halves:
    """Return the pools of all runs (words x runs): that of the seed, with the keys mixed in."""
    pools = np.random.SeedSequence(seed).pool[:, np.newaxis]
    hashes = HASHES_OF_POOL + POOL * max(0, -(-seed.bit_length() // 32) - POOL)  # until here
    for words in (np.arange(runs.start, runs.stop, dtype=np.uint32), *np.array(key, np.uint32)):
        hashed = _hashed(words, _constants(IN_FIRST, IN_FACTOR, hashes, POOL))
        mixed = MIX_LEFT * pools - MIX_RIGHT * hashed
        pools = mixed ^ (mixed >> HALF_WORD)
        hashes += POOL
    return pools


def _seed_words(pools: Halves) -> Words:
    """Return the words of 64 bits that generators are seeded with (4 x runs)."""
    pools = np.concatenate([pools] * (SEED // POOL))
    halves = _hashed(pools, _constants(OUT_FIRST, OUT_FACTOR, 0, SEED)).astype(np.uint64)
    return halves[::2] | (halves[1::2] << HALF)


def _pcg_starts(words: Words) -> Words:
    """Return the states that PCG64 takes from its seed: it steps from 0, adds the seed and steps."""
    start, stream = Wide(*words[:2]), Wide(*words[2:])
    increment = Wide((stream.high << ONE) | (stream.low >> TOP_BIT), (stream.low << ONE) | ONE)
    state = _sum(_product(_sum(increment, start)), increment)
    return np.stack([state.low, state.high, increment.low, increment.high], axis=1)


def _sum(one: Wide, other: Wide) -> Wide:
    low = one.low + other.low
    return Wide(one.high + other.high + (low < one.low), low)


def _product(number: Wide) -> Wide:
    """Return numbers times the multiplier of PCG64; the product of their low words goes by halves."""
    a, b = number.low >> HALF, number.low & LOW_HALF
    c, d = PCG_LOW >> HALF, PCG_LOW & LOW_HALF
    middle = a * d + (b * d >> HALF)
    other = b * c + (middle & LOW_HALF)
    carried = a * c + (middle >> HALF) + (other >> HALF)
    high = carried + number.low * PCG_HIGH + number.high * PCG_LOW
    return Wide(high, number.low * PCG_LOW)
