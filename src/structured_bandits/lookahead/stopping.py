"""How many misses and gains a streak of SUCB may have before it stops: a guess.

A plan that has to expect nothing but the least rewards, or nothing but the highest, is short. One that
ends with the unexpected may be longer by far: the tangents of all conditions are linear in the numbers
of misses and gains, so the same tangents certify every streak in which both are few
(docs/notes/lookahead.md 5.4). How many are allowed decides how long streaks are, and never what is
played.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Data
from structured_bandits.lookahead.convex_condition import guessed_share
from structured_bandits.lookahead.prospect import Prospect
from structured_bandits.lookahead.streaks import Streak
from structured_bandits.lookahead.tangents import Shares

SHORT = 3  # pulls after the first; plans with less are no better than runs
MOST_RUNS = 15.0  # that are played before shares are tried again
TYPICAL = 16.0  # pulls of a streak of which nothing is known


class Tries(NamedTuple):
    """What is noted of the streaks of each arm, from which the next one guesses."""

    lengths: Floats  # of the last one that might stop; or minus the runs until the next such one
    waits: Floats  # how many runs came after the last one that was short


@compilable
def fresh_tries(arms: int) -> Tries:
    """Return the memory before the first streak."""
    return Tries(np.zeros(arms), np.zeros(arms))


@compilable
def likely_shares(arm: int, data: Data, prospect: Prospect, tries: Tries) -> Shares:
    """Return a little more than the expected shares; or none of the rarer one, where plans are short.

    If the arm goes on as before, a streak as long as the last one has misses and gains within one or
    two standard deviations of their means. If the last one was short, the next ones are runs: until the
    first miss of an arm that seldom misses, until the first gain of an arm that seldom gains.
    """
    pulls, share = data.pulls[arm], guessed_share(data, arm, prospect.bottom, prospect.top)
    if tries.lengths[arm] < 0.0:
        tries.lengths[arm] += 1.0
        return Shares(0.0, 1.0) if share > 0.5 else Shares(1.0, 0.0)
    length = max(tries.lengths[arm], TYPICAL)
    deviations = 1.0 + 0.25 * math.log(length)
    spare = deviations * math.sqrt(share * (1.0 - share) * (1.0 / length + 1.0 / pulls))
    return Shares(min(1.0, 1.0 - share + spare), min(1.0, share + spare))


@compilable
def stopping_streak(arm: int, further: int, shares: Shares, tries: Tries) -> Streak:
    """Return the streak of so many pulls after the first that stops at more than its shares of them.

    And note its length: after short ones in a row, longer and longer rows of runs follow.
    """
    if shares.misses > 0.0 and shares.gains > 0.0:
        if further >= SHORT:
            tries.lengths[arm] = further
            tries.waits[arm] = 0.0
        else:
            tries.waits[arm] = min(2.0 * tries.waits[arm] + 1.0, MOST_RUNS)
            tries.lengths[arm] = -tries.waits[arm]
    misses = int(shares.misses * further)
    gains = int(shares.gains * further)
    return Streak(arm, 1 + min(misses, gains), 1 + further, misses, 0, -math.inf, gains, 0.0, 0.0)
