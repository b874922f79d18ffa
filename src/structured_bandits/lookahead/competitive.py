"""Lookahead on competitive arms: which they are, and for how long they stay so.

See docs/notes/lookahead.md 23.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Flags, Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.confidence import Box, Data, fresh_box, width_budget
from structured_bandits.base.intervals import Intervals
from structured_bandits.inference.likelihood_sets import LikelihoodSets, by_sets
from structured_bandits.inference.likelihood_sets import budget_at as set_budget_at
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.cells.base import (
    arms_inside,
    choose,
    competitive_length,
    empty_length,
    workspace,
)
from structured_bandits.lookahead.index import note_mean
from structured_bandits.lookahead.index_margin import (
    Lead,
    Rivals,
    lead_streak,
    lost_at_once,
    near_future,
)
from structured_bandits.lookahead.kl_margin import kl_streak
from structured_bandits.lookahead.prospect import Prospect, radius_growth
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.lookahead.sucb import note_changed
from structured_bandits.lookahead.witnesses import NO_ARM
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import Growth, Leader, budget_at, highest_index, kl_front
from structured_bandits.protocols import Now, Outcome
from structured_bandits.structures.questions import Cells


class Memory(NamedTuple):
    """The arms that may be played, their means, and what the cells note of the models."""

    means: Floats  # scaled to [0, 1] if rewards have a range; of arms with pulls
    found: Flags  # the arms that may be played now
    members: Ints  # the same arms, rising, in the first places
    box: Box
    work: Any  # what the cells note of the models
    changed: Ints  # one number: the arm with data that the cells have not seen, NO_ARM or SEVERAL


class Competitors(NamedTuple):
    """How many arms may be played."""

    size: int
    empty: int  # 1 if they are all arms because no model fits


class ByRadius(NamedTuple):
    """The arm with the highest mean + radius of those that may be played."""

    arm: int
    empty: int
    size: int  # arms that may be played
    leader: Leader
    budget: float


class ByDivergence(NamedTuple):
    """The arm with the highest KL index of those that may be played."""

    arm: int
    empty: int
    size: int
    highest: float
    second: float


def memory(policy: Any, tables: Any) -> Memory:
    """Return the memory before the first pull."""
    arms = policy.cells.arm_count()
    work = models_of(policy.widths, policy.cells)
    return Memory(
        np.zeros(arms),
        np.zeros(arms, np.bool_),
        np.zeros(arms, np.int64),
        fresh_box(arms),
        work,
        np.full(1, NO_ARM, np.int64),
    )


def of_cells(widths: Intervals, cells: Cells) -> Any:
    """Return what cells note."""
    return workspace(cells)


def of_sets(widths: LikelihoodSets, cells: Cells) -> Any:
    """Return memory for log-likelihoods."""
    return widths.fresh_logs()


models_of = by_sets(of_sets, of_cells)


def note(policy: Any, state: State, outcome: Outcome, work: Work) -> None:
    """Note the arm's mean, and that it has new data."""
    note_mean(work.memory.means, state.data, outcome.arm, policy.bottom, policy.top)
    note_changed(work.memory.changed, outcome.arm)


def mark_in_box(widths: Intervals, policy: Any, data: Data, memory: Memory, t: int) -> bool:
    """Mark the best arms of the models in the intervals of all arms, from what has changed."""
    level = widths.at(width_budget(policy.alpha, policy.sigma, 1.0) * math.log(t + 1))
    choose(policy.cells, memory.changed[0], data, level, memory.box, memory.work)
    memory.changed[0] = NO_ARM
    return arms_inside(policy.cells, memory.box, memory.found, memory.work)


def mark_in_set(widths: LikelihoodSets, policy: Any, data: Data, memory: Memory, t: int) -> bool:
    """Mark the best arms of the models that the likelihood does not refute."""
    return widths.arms_in_set(data, set_budget_at(policy.alpha, t), memory.work, memory.found)


mark_arms = by_sets(mark_in_set, mark_in_box)


@compilable
def find_competitors(policy: Any, data: Data, memory: Memory, t: int) -> Competitors:
    """Find the arms that may be played now, and write them into the memory."""
    found, members = memory.found, memory.members
    empty = 0 if mark_arms(policy.widths, policy, data, memory, t) else 1
    size = 0
    for arm in range(len(found)):
        if found[arm] or empty > 0:
            found[arm] = True
            members[size] = arm
            size += 1
    return Competitors(size, empty)


@compilable
def choose_by_radius(
    memory: Memory, competitors: Competitors, data: Data, level: Intervals
) -> ByRadius:
    """Choose the highest mean + radius."""
    leader = highest_index(data, level, memory.found)
    return ByRadius(leader.arm, competitors.empty, competitors.size, leader, level.budget)


@compilable
def choose_by_divergence(
    memory: Memory, competitors: Competitors, data: Data, growth: Growth, t: int
) -> ByDivergence:
    """Choose the highest KL index."""
    members = memory.members[: competitors.size]
    front = kl_front(data, memory.means, members, budget_at(growth, math.log(t + 1)))
    return ByDivergence(front.arm, competitors.empty, competitors.size, front.highest, front.second)


@compilable
def radius_stretch(policy: Any, data: Data, choice: ByRadius, now: Now, memory: Memory) -> Streak:
    """Pull the arm while it surely may be played and leads; without bounds on rewards once."""
    if not math.isfinite(policy.bottom) or data.pulls[choice.arm] == 0:
        return certain_streak(choice.arm, 1, choice.empty)
    if choice.size == 1:
        streak = certain_streak(choice.arm, now.limit, 0)
    else:
        streak = leader_streak(policy, choice.leader, data, choice.budget, now)
    return while_competitive(policy, data, memory, choice, now, streak)


@compilable
def divergence_stretch(
    policy: Any, data: Data, choice: ByDivergence, growth: Growth, now: Now, memory: Memory
) -> Streak:
    """Pull the arm while it surely may be played and has the highest KL index."""
    if not math.isfinite(policy.bottom) or choice.highest == math.inf:
        return certain_streak(choice.arm, 1, choice.empty)
    members = memory.members[: choice.size]
    streak = kl_streak(data, memory.means, members, choice, growth, now, policy.top)
    return while_competitive(policy, data, memory, choice, now, streak)


@compilable
def leader_streak(policy: Any, leader: Leader, data: Data, budget: float, now: Now) -> Streak:
    """Pull the leader by mean + sqrt(budget / pulls) while it surely leads."""
    factor, limit = width_budget(policy.alpha, policy.sigma, 1.0), now.limit
    bottom, top = policy.bottom, policy.top
    root, pulls = math.sqrt(budget), data.pulls[leader.arm]
    mean = data.sums[leader.arm] / pulls
    fall = 0.5 * root / math.sqrt(pulls)
    lead = Lead(leader.arm, pulls, leader.lead * pulls, mean - bottom, top - mean, fall)
    if lost_at_once(lead):
        return certain_streak(leader.arm, 1, 0)
    growth = root * radius_growth(now.t + 1.0, budget / factor)
    always = Rivals(growth * leader.widest * pulls, limit - 1.0)
    near = Rivals(always.rise, near_future(pulls, math.inf, limit))
    return lead_streak(lead, always, near, top)


@compilable
def while_competitive(
    policy: Any, data: Data, memory: Memory, choice: Any, now: Now, streak: Streak
) -> Streak:
    """Cut a streak to what is certain of the arms that may be played."""
    return cut_by(policy.widths, policy, data, memory, choice, now, streak)


def one_pull(
    widths: LikelihoodSets,
    policy: Any,
    data: Data,
    memory: Memory,
    choice: Any,
    now: Now,
    streak: Streak,
) -> Streak:
    """Pull once: likelihood sets are asked anew."""
    return certain_streak(streak.arm, 1, choice.empty)


def while_cells_allow(
    widths: Intervals,
    policy: Any,
    data: Data,
    memory: Memory,
    choice: Any,
    now: Now,
    streak: Streak,
) -> Streak:
    """Cut a streak to what is certain; it is right if no other arms may be played than now.

    If a model fits, the arm has to stay competitive and no arm may join in (docs/notes/lookahead.md
    23.1); if none does, none may come to fit. Empty sets are counted for whole streaks, so one that
    begins with an empty set never stops early.
    """
    cells, work = policy.cells, memory.work
    factor, bottom, top = width_budget(policy.alpha, policy.sigma, 1.0), policy.bottom, policy.top
    level = widths.at(factor * math.log(now.t + 1))
    arm = streak.arm
    if choice.empty > 0:
        prospect = Prospect(now.t, streak.surely, factor, level, bottom, top)
        more = empty_length(cells, arm, prospect, data, work) if streak.surely > 1 else 0.0
        length = 1 + int(min(more, streak.surely - 1.0))
        return certain_streak(arm, length, length)
    if streak.length == 1:
        return streak
    prospect = Prospect(now.t, streak.length, factor, level, bottom, top)
    length = competitive_length(cells, arm, memory.found, prospect, data, work)
    _, surely, _, misses, _, hit, gains, spare, earned = streak
    return Streak(arm, min(surely, length), length, misses, 0, hit, gains, spare, earned)


cut_by = by_sets(one_pull, while_cells_allow)
