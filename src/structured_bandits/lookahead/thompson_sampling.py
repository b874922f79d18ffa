"""Lookahead of Thompson sampling: stretches at which no arm is in the tail of its law.

Planned play has the law of pull-by-pull play, but uses other random numbers (docs/notes/lookahead.md
19).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.rejection_envelopes import Betas
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.lookahead.thompson_stretches import (
    NOTHING,
    Quiet,
    end_quiet,
    fresh_quiet,
    quiet_streak,
)
from structured_bandits.policies.base import State
from structured_bandits.policies.beliefs import beta_shape, highest_draw
from structured_bandits.policies.thompson_sampling import ThompsonSampling
from structured_bandits.protocols import Now, Outcome


class Memory(NamedTuple):
    """The Beta laws of the arms' means, and the stretch that is being played."""

    betas: Betas
    quiet: Quiet


class Chosen(NamedTuple):
    """The arm, and for how long it is drawn."""

    arm: int
    empty: int
    streak: Streak


def memory(policy: ThompsonSampling, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    a, b = policy.belief.a, policy.belief.b
    betas = Betas(np.full(policy.n_arms, a), np.full(policy.n_arms, b))
    return Memory(betas, fresh_quiet(policy.n_arms))


def quick_choose(
    policy: ThompsonSampling, state: State, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Go on with the leader as long as nothing happens, else draw the means of all arms.

    What is known of the last pull counts too, where now.limit is 1 as without.
    """
    betas, quiet = work.memory
    if not policy.belief.gaussian and (now.limit > 1 or quiet.known[0] != NOTHING):
        streak = quiet_streak(quiet, betas, policy.playable, now.limit, policy.top, rng)
        if streak.length > 0:
            return Chosen(streak.arm, 0, streak)
    arm = highest_draw(policy.belief, state.data, policy.playable, rng)
    return Chosen(arm, 0, certain_streak(arm, 1, 0))


def stretch(
    policy: ThompsonSampling,
    state: State,
    choice: Chosen,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Return the stretch that was drawn with the arm."""
    return choice.streak


def note(policy: ThompsonSampling, state: State, outcome: Outcome, work: Work) -> None:
    """Note the law of the arm's mean, and what is known of the next decision."""
    betas, quiet = work.memory
    arm = outcome.arm
    if not policy.belief.gaussian:
        betas.a[arm], betas.b[arm] = beta_shape(policy.belief, state.data, arm)
        end_quiet(quiet, betas, policy.playable, arm, outcome.pulls)
