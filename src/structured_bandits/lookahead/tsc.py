"""Lookahead of TS-C: an arm that is alone is played as long as it surely is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from structured_bandits.lookahead import competitive
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.competitive import find_competitors, while_competitive
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.beliefs import highest_draw
from structured_bandits.policies.tsc import TSC
from structured_bandits.protocols import Now

memory, note = competitive.memory, competitive.note


class Chosen(NamedTuple):
    """The arm, and whether no other may be played, so that nothing was drawn."""

    arm: int
    empty: int
    alone: bool


def quick_choose(
    policy: TSC, state: State, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Find the competitive arms, and draw if there are several."""
    data, memory = state.data, work.memory
    size, empty = find_competitors(policy, data, memory, now.t)
    if policy.belief.b == 0.0:  # without a prior nothing is known of an arm before its first pull
        for arm in range(len(data.pulls)):
            if data.pulls[arm] == 0:
                return Chosen(arm, empty, False)
    if size > 1:
        return Chosen(highest_draw(policy.belief, data, memory.members[:size], rng), empty, False)
    return Chosen(int(memory.members[0]), empty, True)


def stretch(
    policy: TSC, state: State, choice: Chosen, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the arm that is alone as long as it surely is."""
    if not choice.alone or not math.isfinite(policy.bottom):
        return certain_streak(choice.arm, 1, choice.empty)
    alone = certain_streak(choice.arm, now.limit, 0)
    return while_competitive(policy, state.data, work.memory, choice, now, alone)
