"""The draws of the hard models of a random structure, all at once.

For each of them the paper's experiment draws two arms and a height, one after the other. Calls of the
generator for single numbers took most of the time of a run on a structure of its own, and all that time
no other thread could use Python. So the raw words of PCG64 are taken at once and read as NumPy's
`integers` and `random` read them: the numbers are the same, to the last bit, and so is what the
generator gives afterwards.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints

HALF, LOW_HALF = np.uint64(32), np.uint64((1 << 32) - 1)
UNUSED, UNIT = np.uint64(11), 2.0**-53  # of a word, `random` takes the upper 53 bits
MOST_ARMS = 1 << 32  # above them `integers` takes whole words


class HardDraws(NamedTuple):
    """What is drawn for each hard model."""

    raised: Ints  # an arm other than the best one
    lowered: Ints  # an arm other than that
    heights: Floats  # from 0 to 1


def hard_draws(rng: np.random.Generator, best: int, arms: int, count: int) -> HardDraws:
    """Draw two arms and a height for each hard model."""
    return _at_once(rng, best, arms, count) or one_by_one(rng, best, arms, count)


def one_by_one(rng: np.random.Generator, best: int, arms: int, count: int) -> HardDraws:
    """Draw them with the methods of the generator: what `hard_draws` returns, by definition."""
    rows = []
    for _ in range(count):
        raised = _other_than(best, int(rng.integers(arms - 1)))
        lowered = _other_than(raised, int(rng.integers(arms - 1)))
        rows.append((raised, lowered, rng.random()))
    first, second, heights = zip(*rows, strict=True)
    return HardDraws(np.array(first), np.array(second), np.array(heights))


def _at_once(rng: np.random.Generator, best: int, arms: int, count: int) -> HardDraws | None:
    """Draw from raw words; None, and nothing drawn, where NumPy might read them in another way.

    `integers` takes halves of words, the lower one first, and keeps the upper one for the next call, so
    the first arm takes what the call before has kept; `random` takes a word. A half times the number of
    arms has the arm in its upper half, but is drawn again if its lower half is very small.
    """
    source = rng.bit_generator
    before = source.state
    kept = type(source) is np.random.PCG64 and before["has_uint32"] == 1
    if not kept or not 2 < arms < MOST_ARMS:
        return None
    words = source.random_raw(2 * count)
    both, last = words[::2], words[1::2]
    halves = np.empty((2, count), np.uint64)
    halves[0, 0], halves[0, 1:], halves[1] = before["uinteger"], both[:-1] >> HALF, both & LOW_HALF
    scaled = halves * np.uint64(arms - 1)
    if (scaled & LOW_HALF).min() < arms - 1:  # perhaps drawn again
        source.state = before
        return None
    source.state = {**source.state, "uinteger": int(both[-1] >> HALF)}
    others = (scaled >> HALF).astype(np.int64)
    raised = _other_than(best, others[0])
    heights = (last >> UNUSED).astype(np.float64) * UNIT
    return HardDraws(raised, _other_than(raised, others[1]), heights)


def _other_than(arm: Any, number: Any) -> Any:
    """Return the arm with this number among all others."""
    return number + (number >= arm)
