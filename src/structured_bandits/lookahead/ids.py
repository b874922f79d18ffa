"""Lookahead of IDS: an arm whose rewards say nothing is played until the other's turn.

Its rewards leave the posterior as it is, so every uniform number decides as this one until the first on
the other side (docs/notes/lookahead.md 21).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.rejection_skip import LEAST_BOUND
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.base import State
from structured_bandits.policies.best_arm_belief import Belief, fresh_belief
from structured_bandits.policies.ids import IDS, best_mixture, pick
from structured_bandits.policies.information_ratio import NO_ARM, Mixture
from structured_bandits.protocols import Now, Outcome

NO_WAIT = -1


class Memory(NamedTuple):
    """Memory for the belief, and the wait that is being played, if any."""

    belief: Belief
    due: Ints  # one number: pulls of `turn[0]` before the next of `turn[1]`; NO_WAIT if none
    turn: Ints  # two arms


class Chosen(NamedTuple):
    """The arm, and the mixture that it was drawn from; an arm that waits has itself alone."""

    arm: int
    empty: int
    mixture: Mixture
    waits: bool


def memory(policy: IDS, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    return Memory(fresh_belief(policy.groups), np.full(1, NO_WAIT), np.zeros(2, np.int64))


def quick_choose(
    policy: IDS, state: State, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Draw an arm, or go on with the wait that was drawn."""
    belief, due, turn = work.memory
    if due[0] != NO_WAIT:
        arm = turn[1] if due[0] == 0 else turn[0]
        return Chosen(arm, 0, Mixture(arm, NO_ARM, 0.0), True)
    mixture = best_mixture(policy, state.data, belief)
    return Chosen(pick(mixture, rng.uniform(0.0, 1.0)), 0, mixture, False)


def stretch(
    policy: IDS, state: State, choice: Chosen, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull an arm once, or until the other's turn if its rewards say nothing."""
    _, due, turn = work.memory
    arm, _, mixture, waits = choice
    if not waits:
        if not policy.groups.likelihood.silent[arm]:
            return certain_streak(arm, 1, 0)
        if mixture.second == NO_ARM:
            return certain_streak(arm, now.limit, 0)
        if mixture.share < LEAST_BOUND:  # a longer wait than whole numbers can count
            return certain_streak(arm, 1, 0)
        due[0] = rng.geometric(mixture.share)  # the second arm says more, so it is never silent
        turn[0], turn[1] = mixture.first, mixture.second
    length = 1 if due[0] == 0 else min(due[0], now.limit)
    return certain_streak(arm, length, 0)


def note(policy: IDS, state: State, outcome: Outcome, work: Work) -> None:
    """Count the pulls off the wait; the other arm's pull, when none is due, ends it."""
    due = work.memory.due
    if due[0] != NO_WAIT:
        due[0] -= outcome.pulls
