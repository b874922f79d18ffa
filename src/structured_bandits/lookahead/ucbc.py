"""Lookahead of UCB-C."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from structured_bandits.base.compilable import chosen_by_class
from structured_bandits.base.confidence import width_budget
from structured_bandits.base.intervals import Hoeffding, Intervals
from structured_bandits.lookahead import competitive
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.competitive import (
    ByDivergence,
    ByRadius,
    Competitors,
    choose_by_divergence,
    choose_by_radius,
    divergence_stretch,
    find_competitors,
    radius_stretch,
)
from structured_bandits.lookahead.streaks import Streak
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import Growth
from structured_bandits.policies.ucbc import UCBC
from structured_bandits.protocols import Now

memory, note = competitive.memory, competitive.note


def quick_choose(policy: UCBC, state: State, now: Now, rng: np.random.Generator, work: Work) -> Any:
    """Find the competitive arms, and the highest index among them."""
    found = find_competitors(policy, state.data, work.memory, now.t)
    return by_index(policy.indices, policy, state, found, now, work)


def by_radius(
    indices: Hoeffding, policy: UCBC, state: State, found: Competitors, now: Now, work: Work
) -> ByRadius:
    """By mean + radius."""
    factor = width_budget(policy.alpha, policy.sigma, 1.0)
    level = indices.at(factor * math.log(now.t + 1))
    return choose_by_radius(work.memory, found, state.data, level)


def by_divergence(
    indices: Intervals, policy: UCBC, state: State, found: Competitors, now: Now, work: Work
) -> ByDivergence:
    """By the upper ends of KL intervals."""
    growth = Growth(2.0 * policy.alpha, 0.0)
    return choose_by_divergence(work.memory, found, state.data, growth, now.t)


by_index = chosen_by_class({Hoeffding: by_radius}, by_divergence)


def stretch(
    policy: UCBC, state: State, choice: Any, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the arm as long as it surely may be played and has the highest index."""
    return stretch_of(choice, policy, state, now, work)


def while_leading(choice: ByRadius, policy: UCBC, state: State, now: Now, work: Work) -> Streak:
    """By mean + radius."""
    return radius_stretch(policy, state.data, choice, now, work.memory)


def while_highest(choice: ByDivergence, policy: UCBC, state: State, now: Now, work: Work) -> Streak:
    """By the upper ends of KL intervals."""
    growth = Growth(2.0 * policy.alpha, 0.0)
    return divergence_stretch(policy, state.data, choice, growth, now, work.memory)


stretch_of = chosen_by_class({ByRadius: while_leading}, while_highest)
