"""Lookahead of SUCB: the set of models is kept from plan to plan (docs/planning.md 5, 6, 8, 13).

What the cells of each kind of structure keep, and for how many pulls their choice is certain, is theirs
(`structures/questions.py`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Ints
from structured_bandits.compilable import chosen_by_class, compilable, do_nothing
from structured_bandits.inference.likelihood_sets import (
    NO_MODEL,
    LikelihoodSets,
    budget_at,
    most_optimistic,
    write_log_likelihoods,
)
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.likelihood_sets import Memory as SetMemory
from structured_bandits.lookahead.likelihood_sets import fresh_memory, set_stretch
from structured_bandits.planning.confidence import (
    Box,
    Data,
    Prospect,
    fresh_box,
    radius_growth,
    width_budget,
)
from structured_bandits.planning.intervals import Hoeffding, Intervals
from structured_bandits.planning.leads import Leader, highest_index, lead_drift, least_pulled
from structured_bandits.planning.streaks import Streak, certain_streak
from structured_bandits.planning.watches import NO_ARM, SEVERAL
from structured_bandits.policies.base import State
from structured_bandits.policies.sucb import SUCB
from structured_bandits.protocol import Now, Outcome
from structured_bandits.structures.choice_streaks import choice_streak
from structured_bandits.structures.finite.cells import FiniteCells
from structured_bandits.structures.finite.ranked_cells import RankedCells
from structured_bandits.structures.questions import Cells
from structured_bandits.structures.shared_ties import tie_in_play


class Memory(NamedTuple):
    """What the cells note of the models."""

    box: Box
    work: Any
    changed: Ints  # one number: the arm with data that the cells have not seen, NO_ARM or SEVERAL


class Chosen(NamedTuple):
    """The optimistic arm, or the leader if no model fits."""

    arm: int
    empty: int
    level: Intervals
    leader: Leader  # if no model fits


class ChosenInSet(NamedTuple):
    """The optimistic arm, and its model; NO_MODEL if all are impossible."""

    arm: int
    empty: int
    model: int


def prepare(policy: SUCB) -> Any:
    """Return what is fastest: of a table its cells by rank, if intervals are Hoeffding's."""
    if isinstance(policy.widths, LikelihoodSets):
        return policy.widths
    if isinstance(policy.cells, FiniteCells) and isinstance(policy.widths, Hoeffding):
        return RankedCells(policy.cells)
    return policy.cells


def memory(policy: SUCB, tables: Any) -> Any:
    """Return the memory before the first pull."""
    return memory_of(policy.widths, policy, tables)


def box_memory(widths: Intervals, policy: SUCB, tables: Any) -> Memory:
    """Return what cells note."""
    return Memory(fresh_box(tables.arm_count()), tables.workspace(), np.full(1, NO_ARM, np.int64))


def set_memory(widths: LikelihoodSets, policy: SUCB, tables: Any) -> SetMemory:
    """Return memory for log-likelihoods."""
    return fresh_memory(widths, len(policy.candidates))


memory_of = chosen_by_class({LikelihoodSets: set_memory}, box_memory)


def quick_choose(policy: SUCB, state: State, now: Now, rng: np.random.Generator, work: Work) -> Any:
    """Choose as defined, and keep what is known of the models."""
    return choice_of(policy.widths, policy, state.data, now.t, work)


def choose_in_box(widths: Intervals, policy: SUCB, data: Data, t: int, work: Work) -> Chosen:
    """Ask the cells, which look at what has changed only."""
    cells, memory = work.tables, work.memory
    level = policy.widths.at(width_budget(policy.alpha, policy.sigma, 1.0) * math.log(t + 1))
    arm = cells.choose(memory.changed[0], data, level, memory.box, memory.work)
    memory.changed[0] = NO_ARM
    if arm < 0:
        leader = highest_index(data, level, policy.candidates)
        return Chosen(leader.arm, 1, level, leader)
    arm = tie_in_play(cells, arm, data.pulls, memory.box, memory.work)
    return Chosen(arm, 0, level, Leader(arm, 0.0, math.inf))


def choose_in_set(
    widths: LikelihoodSets, policy: SUCB, data: Data, t: int, work: Work
) -> ChosenInSet:
    """Choose as defined, and keep the log-likelihoods."""
    logs = work.memory.logs
    total = write_log_likelihoods(widths, data, logs)
    model = most_optimistic(widths, logs, total - budget_at(policy.alpha, t))
    if model == NO_MODEL:
        return ChosenInSet(least_pulled(data.pulls, policy.candidates), 1, model)
    return ChosenInSet(widths.best[model], 0, model)


choice_of = chosen_by_class({LikelihoodSets: choose_in_set}, choose_in_box)


def stretch(
    policy: SUCB, state: State, choice: Any, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull the optimistic arm, as long as it is certain to stay the choice."""
    return stretch_of(choice, policy, state.data, now, work)


def stretch_in_set(choice: ChosenInSet, policy: SUCB, data: Data, now: Now, work: Work) -> Streak:
    """As long as the model stays in the likelihood set, and those that are preferred to it outside."""
    if choice.empty > 0:
        return certain_streak(choice.arm, 1, 1)
    return set_stretch(policy.widths, policy, data, choice.model, choice.arm, now, work.memory)


def stretch_in_box(choice: Chosen, policy: SUCB, data: Data, now: Now, work: Work) -> Streak:
    """As long as the cells know it."""
    arm, empty, level, leader = choice
    if not math.isfinite(policy.bottom):  # rewards without bounds leave nothing certain
        return certain_streak(arm, 1, empty)
    factor = width_budget(policy.alpha, policy.sigma, 1.0)
    prospect = Prospect(now.t, now.limit, factor, level, policy.bottom, policy.top)
    notes = work.memory.work
    if empty > 0:
        length = 1 + fallback_length(work.tables, data, leader, prospect, notes)
        return certain_streak(arm, length, length)
    counted = now.least == policy.bottom and now.most == policy.top
    return choice_streak(work.tables, arm, prospect, counted, data, notes)


stretch_of = chosen_by_class({ChosenInSet: stretch_in_set}, stretch_in_box)


def note(policy: SUCB, state: State, outcome: Outcome, work: Work) -> None:
    """Note which arm has new data."""
    note_in(work.memory, outcome.arm)


def note_in_box(memory: Memory, arm: int) -> None:
    """Note it for the cells."""
    note_changed(memory.changed, arm)


note_in = chosen_by_class({SetMemory: do_nothing}, note_in_box)


@compilable
def note_changed(changed: Ints, arm: int) -> None:
    """Note an arm with data that the cells have not seen."""
    changed[0] = arm if changed[0] in (NO_ARM, arm) else SEVERAL


@compilable
def fallback_length(cells: Cells, data: Data, leader: Leader, prospect: Prospect, work: Any) -> int:
    """Return for how many pulls after the first no model comes to fit and the leader surely leads.

    Its lead falls as that of UCB does, if there are nothing but the worst rewards (docs/planning.md
    13.1). With KL intervals the cells say 0, and the formula for the lead is not used.
    """
    if leader.lead <= 0.0:
        return 0
    pulls = data.pulls[leader.arm]
    miss = data.sums[leader.arm] / pulls - prospect.bottom
    budget = prospect.level.budget
    growth = radius_growth(prospect.t + 1.0, budget / prospect.factor)
    own = 1.0 / math.sqrt(pulls)
    drift = lead_drift(math.sqrt(budget), own, leader.widest, pulls, growth)
    leads = leader.lead * pulls / (miss + drift)
    empty = cells.empty_length(leader.arm, prospect, data, work)
    return int(min(leads, empty, prospect.limit - 1.0))
