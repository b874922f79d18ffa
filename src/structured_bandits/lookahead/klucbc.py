"""Lookahead of KL-UCB-C."""

from __future__ import annotations

import math

import numpy as np

from structured_bandits.base.intervals import Hoeffding
from structured_bandits.lookahead import competitive
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.competitive import (
    ByDivergence,
    choose_by_divergence,
    choose_by_radius,
    divergence_stretch,
    find_competitors,
)
from structured_bandits.lookahead.streaks import Streak
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import Growth, budget_at
from structured_bandits.policies.klucbc import KLUCBC
from structured_bandits.protocols import Now

memory, note = competitive.memory, competitive.note


def quick_choose(
    policy: KLUCBC, state: State, now: Now, rng: np.random.Generator, work: Work
) -> ByDivergence:
    """Find the competitive arms, and the highest index among them."""
    memory, growth = work.memory, Growth(1.0, policy.c)
    found = find_competitors(policy, state.data, memory, now.t)
    if math.isfinite(policy.bottom):
        return choose_by_divergence(memory, found, state.data, growth, now.t)
    budget = 2.0 * policy.sigma * policy.sigma * budget_at(growth, math.log(now.t + 1))
    choice = choose_by_radius(memory, found, state.data, Hoeffding(budget))
    return ByDivergence(choice.arm, choice.empty, choice.size, math.inf, math.inf)


def stretch(
    policy: KLUCBC,
    state: State,
    choice: ByDivergence,
    now: Now,
    rng: np.random.Generator,
    work: Work,
) -> Streak:
    """Pull the arm as long as it surely may be played and has the highest index."""
    growth = Growth(1.0, policy.c)
    return divergence_stretch(policy, state.data, choice, growth, now, work.memory)
