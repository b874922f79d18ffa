"""Lookahead of IMED (docs/notes/lookahead.md 18.2)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.intervals import RELATIVE_ERROR
from structured_bandits.base.kl import coin_divergence
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.convex_condition import Reach, stopping_streak
from structured_bandits.lookahead.index import IndexMemory, index_memory, note_mean
from structured_bandits.lookahead.kl_margin import MOST_LOG
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.imed import IMED, index
from structured_bandits.policies.indices import CLOSE, SPREAD, Front, front_of
from structured_bandits.protocols import Now, Outcome

LOG_MARGIN = 1e-11  # of indices, relatively: more than rounding can do to a logarithm

memory = index_memory


class LeastIndex(NamedTuple):
    """The arm with the least index, and the one with the highest mean."""

    arm: int
    empty: int
    best: int
    highest: float  # mean; infinite if an arm has no pull
    second: float  # highest mean


def quick_choose(
    policy: IMED, state: State, now: Now, rng: np.random.Generator, work: Work
) -> LeastIndex:
    """Find the least index; indices are kept for the stretch."""
    playable, pulls, memory = policy.playable, state.data.pulls, work.memory
    for place in range(len(playable)):
        if pulls[playable[place]] == 0:
            return LeastIndex(playable[place], 0, playable[place], math.inf, math.inf)
    best = front_of(memory.means, playable)
    choice = playable[0]
    for place in range(len(playable)):
        arm = playable[place]
        memory.indices[arm] = index(policy, pulls[arm], memory.means[arm], best.highest)
        if memory.indices[arm] < memory.indices[choice]:
            choice = arm
    return LeastIndex(choice, 0, best.arm, best.highest, best.second)


def stretch(
    policy: IMED, state: State, choice: LeastIndex, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the arm with the highest mean as long as it surely has the least index."""
    arm, _, best, highest, second = choice
    if highest == math.inf or not math.isfinite(policy.bottom):
        return certain_streak(arm, 1, 0)
    if len(policy.playable) == 1:
        return certain_streak(arm, now.limit, 0)
    if arm != best or highest - second < CLOSE:
        return certain_streak(arm, 1, 0)
    front = Front(best, highest, second)
    return imed_streak(state.data, work.memory, policy.playable, front, now.limit, policy.top)


def note(policy: IMED, state: State, outcome: Outcome, work: Work) -> None:
    """Note the mean of the arm."""
    note_mean(work.memory.means, state.data, outcome.arm, policy.bottom, policy.top)


@compilable
def imed_streak(
    data: Data, memory: IndexMemory, playable: Ints, best: Front, limit: int, top: float
) -> Streak:
    """Pull the arm with the highest mean, which has the least index, as long as it surely has both.

    While its mean stays at `low` or above, the index of another arm is no less than it is at `low`, and
    its own is the logarithm of its pulls (docs/notes/lookahead.md 18.2).
    """
    arm = best.arm
    pulls = float(data.pulls[arm])
    low = low_mean(data, memory, playable, best)
    least = math.inf
    for place in range(len(playable)):
        other = playable[place]
        if other != arm:
            index = data.pulls[other] * coin_divergence(memory.means[other], low)
            least = min(least, index + math.log(data.pulls[other]))
    least = min(least, MOST_LOG)
    length = math.exp(least - LOG_MARGIN * (1.0 + least)) - pulls
    misses = pulls * memory.means[arm] / (low + SPREAD) * (1.0 - RELATIVE_ERROR) - pulls
    if length < 1.0 or misses < 0.0:
        return certain_streak(arm, 1, 0)
    reach = Reach(int(min(length, limit - 1.0)), int(misses))
    return stopping_streak(arm, reach, top)


@compilable
def low_mean(data: Data, memory: IndexMemory, playable: Ints, best: Front) -> float:
    """Return how far the highest mean may fall in a plan; a guess, any mean above the others is right.

    So far that each other index keeps about half of its lead: indices are convex in the highest mean,
    so tangents tell.
    """
    own = memory.indices[best.arm]
    mean = best.highest
    fall = 0.9 * (mean - best.second)
    if mean >= 1.0:  # the other indices are infinite, and stay high until the first miss
        return mean - min(fall, CLOSE)
    for place in range(len(playable)):
        arm = playable[place]
        if arm != best.arm:
            slope = data.pulls[arm] * (mean - memory.means[arm]) / (mean * (1.0 - mean))
            fall = min(fall, 0.5 * (memory.indices[arm] - own) / slope)
    return mean - fall
