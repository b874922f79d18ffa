"""Lookahead of UCB-V: what indices are made of is kept; every reward moves a variance either way."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats
from structured_bandits.lookahead.base import Work
from structured_bandits.policies.indices import front_of
from structured_bandits.policies.ucbv import UCBV, UCBVState, parts
from structured_bandits.protocols import Choice, Now, Outcome


class Memory(NamedTuple):
    """What the index of each arm is made of, and the indices."""

    means: Floats
    spreads: Floats  # sqrt(2.4 variance / pulls)
    shares: Floats  # 3.6 width / pulls
    indices: Floats  # infinite before the first pull


def memory(policy: UCBV, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    arms = policy.n_arms
    return Memory(np.zeros(arms), np.zeros(arms), np.zeros(arms), np.full(arms, math.inf))


def quick_choose(
    policy: UCBV, state: UCBVState, now: Now, rng: np.random.Generator, work: Work
) -> Choice:
    """Find the highest index."""
    memory = work.memory
    log_time = math.log(now.t + 1)
    root = math.sqrt(log_time)
    for place in range(len(policy.playable)):
        arm = policy.playable[place]
        if state.data.pulls[arm] > 0:
            radius = root * memory.spreads[arm] + log_time * memory.shares[arm]
            memory.indices[arm] = memory.means[arm] + radius
    return Choice(front_of(memory.indices, policy.playable).arm, 0)


def note(policy: UCBV, state: UCBVState, outcome: Outcome, work: Work) -> None:
    """Note what the index of the arm is made of."""
    arm, memory = outcome.arm, work.memory
    mean, spread, share = parts(state, arm, policy.top - policy.bottom)
    memory.means[arm], memory.spreads[arm], memory.shares[arm] = mean, spread, share
