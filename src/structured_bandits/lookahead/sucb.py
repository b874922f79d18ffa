"""Lookahead of SUCB: the set of models is kept from plan to plan (docs/notes/lookahead.md 5, 6, 8, 13).

What the cells of each kind of structure keep, and for how many pulls their choice is certain, is theirs
(`structures/questions.py`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import chosen_by_class, compilable, do_nothing
from structured_bandits.base.confidence import Box, Data, fresh_box, width_budget
from structured_bandits.base.intervals import Hoeffding, Intervals
from structured_bandits.inference.curve_sets import CurveSets, most_optimistic_line
from structured_bandits.inference.likelihood_sets import NO_ARM as NO_ARM_IN_SET
from structured_bandits.inference.likelihood_sets import (
    NO_MODEL,
    LikelihoodSets,
    TableSets,
    budget_at,
    by_sets,
    most_optimistic,
    write_log_likelihoods,
)
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.cells import curves, ranked
from structured_bandits.lookahead.cells.base import certain_length, choose, empty_length, workspace
from structured_bandits.lookahead.cells.ranked import RankedCells
from structured_bandits.lookahead.cells.ranks import RankedWork
from structured_bandits.lookahead.index_margin import lead_drift
from structured_bandits.lookahead.likelihood_sets import Memory as SetMemory
from structured_bandits.lookahead.likelihood_sets import fresh_memory, set_stretch
from structured_bandits.lookahead.prospect import Prospect, radius_growth
from structured_bandits.lookahead.stopping import likely_shares, stopping_streak
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.lookahead.tangents import ALL_SHARES, FIRST_TIME, Tangents, shared_tangents
from structured_bandits.lookahead.witnesses import NO_ARM, SEVERAL
from structured_bandits.policies.base import State
from structured_bandits.policies.indices import Leader, highest_index, least_pulled
from structured_bandits.policies.sucb import SUCB
from structured_bandits.protocols import Now, Outcome
from structured_bandits.structures.curves.cells import IntervalCells
from structured_bandits.structures.finite.cells import FiniteCells
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


class ChosenInOwn(NamedTuple):
    """The optimistic arm in the set of a curve or product; the next pull is decided anew."""

    arm: int
    empty: int


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
    return Memory(fresh_box(tables.arm_count()), workspace(tables), np.full(1, NO_ARM, np.int64))


def table_memory(widths: TableSets, policy: SUCB, tables: Any) -> SetMemory:
    """Return memory for log-likelihoods."""
    return fresh_memory(widths, len(policy.candidates))


class OwnMemory(NamedTuple):
    """Memory for the log-likelihoods of models that are not in a table."""

    logs: Any


def own_memory(widths: LikelihoodSets, policy: SUCB, tables: Any) -> OwnMemory:
    """Return the memory of the sets themselves."""
    return OwnMemory(widths.fresh_logs())


memory_of = by_sets(own_memory, box_memory, table_memory)


def quick_choose(policy: SUCB, state: State, now: Now, rng: np.random.Generator, work: Work) -> Any:
    """Choose as defined, and keep what is known of the models."""
    return choice_of(policy.widths, policy, state.data, now.t, work)


def choose_in_box(widths: Intervals, policy: SUCB, data: Data, t: int, work: Work) -> Chosen:
    """Ask the cells, which look at what has changed only."""
    cells, memory = work.tables, work.memory
    level = policy.widths.at(width_budget(policy.alpha, policy.sigma, 1.0) * math.log(t + 1))
    arm = choose(cells, memory.changed[0], data, level, memory.box, memory.work)
    memory.changed[0] = NO_ARM
    if arm < 0:
        leader = highest_index(data, level, policy.candidates)
        return Chosen(leader.arm, 1, level, leader)
    arm = tie_in_play(cells, arm, data.pulls, memory.box, memory.work)
    return Chosen(arm, 0, level, Leader(arm, 0.0, math.inf))


def as_defined(sets: LikelihoodSets, data: Data, budget: float, logs: Any) -> int:
    """Ask the sets."""
    return sets.arm_in_set(data, budget, logs)


arm_from = chosen_by_class({CurveSets: most_optimistic_line}, as_defined)


def choose_in_own(
    widths: LikelihoodSets, policy: SUCB, data: Data, t: int, work: Work
) -> ChosenInOwn:
    """Choose as defined, and keep what is known of the lines of a curve."""
    arm = arm_from(widths, data, budget_at(policy.alpha, t), work.memory.logs)
    if arm == NO_ARM_IN_SET:
        return ChosenInOwn(least_pulled(data.pulls, policy.candidates), 1)
    return ChosenInOwn(arm, 0)


def choose_in_table(widths: TableSets, policy: SUCB, data: Data, t: int, work: Work) -> ChosenInSet:
    """Choose as defined, and keep the log-likelihoods."""
    logs = work.memory.logs
    total = write_log_likelihoods(widths, data, logs)
    model = most_optimistic(widths, logs, total - budget_at(policy.alpha, t))
    if model == NO_MODEL:
        return ChosenInSet(least_pulled(data.pulls, policy.candidates), 1, model)
    return ChosenInSet(widths.best[model], 0, model)


choice_of = by_sets(choose_in_own, choose_in_box, choose_in_table)


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


def one_pull_in_own(choice: ChosenInOwn, policy: SUCB, data: Data, now: Now, work: Work) -> Streak:
    """Pull once."""
    return certain_streak(choice.arm, 1, choice.empty)


stretch_of = chosen_by_class(
    {ChosenInSet: stretch_in_set, ChosenInOwn: one_pull_in_own}, stretch_in_box
)


def note(policy: SUCB, state: State, outcome: Outcome, work: Work) -> None:
    """Note which arm has new data."""
    note_in(work.memory, outcome.arm)


def note_in_box(memory: Memory, arm: int) -> None:
    """Note it for the cells."""
    note_changed(memory.changed, arm)


note_in = chosen_by_class({SetMemory: do_nothing, OwnMemory: do_nothing}, note_in_box)


@compilable
def note_changed(changed: Ints, arm: int) -> None:
    """Note an arm with data that the cells have not seen."""
    changed[0] = arm if changed[0] in (NO_ARM, arm) else SEVERAL


@compilable
def fallback_length(cells: Cells, data: Data, leader: Leader, prospect: Prospect, work: Any) -> int:
    """Return for how many pulls after the first no model comes to fit and the leader surely leads.

    Its lead falls as that of UCB does, if there are nothing but the worst rewards
    (docs/notes/lookahead.md 13.1). With KL intervals the cells say 0, and the formula for the lead is
    not used.
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
    empty = empty_length(cells, leader.arm, prospect, data, work)
    return int(min(leads, empty, prospect.limit - 1.0))


def pulls_by_rank(
    cells: RankedCells, arm: int, at: Tangents, prospect: Prospect, data: Data, work: RankedWork
) -> float:
    """Return for how many pulls after the first `arm` stays the choice on a table."""
    return ranked.length_of_choice(cells.ranked, arm, at, prospect, data, work)


#: For how many pulls after the first an arm stays the choice, under the shares of the tangents.
further_pulls = chosen_by_class({RankedCells: pulls_by_rank}, curves.length_of_choice)


def tangent_streak(
    level: Hoeffding,
    cells: Any,
    arm: int,
    prospect: Prospect,
    counted: bool,
    data: Data,
    work: Any,
) -> Streak:
    """By tangents: while misses and gains are few, if they are counted, else whatever the rewards."""
    if data.pulls[arm] == 0 or prospect.t + 1 < FIRST_TIME:
        return certain_streak(arm, 1, 0)
    shares = likely_shares(arm, data, prospect, work.tries) if counted else ALL_SHARES
    at = shared_tangents(prospect, shares, data.pulls[arm], data.sums[arm])
    further = int(further_pulls(cells, arm, at, prospect, data, work))
    if not counted:
        return certain_streak(arm, 1 + further, 0)
    return stopping_streak(arm, further, shares, work.tries)


@compilable
def whole_streak(
    level: Intervals,
    cells: Cells,
    arm: int,
    prospect: Prospect,
    counted: bool,
    data: Data,
    work: Any,
) -> Streak:
    """As long as the cells find that the arm stays the choice, whatever the rewards."""
    return certain_streak(arm, certain_length(cells, arm, prospect, data, work), 0)


#: For cells with tangents: they are those of Hoeffding's intervals.
streak_for_level = chosen_by_class({Hoeffding: tangent_streak}, whole_streak)


def streak_by_tangents(
    cells: Any, arm: int, prospect: Prospect, counted: bool, data: Data, work: Any
) -> Streak:
    """By tangents, if the intervals allow it."""
    streak: Streak = streak_for_level(prospect.level, cells, arm, prospect, counted, data, work)
    return streak


def streak_by_search(
    cells: Cells, arm: int, prospect: Prospect, counted: bool, data: Data, work: Any
) -> Streak:
    """By search, or however the cells find lengths."""
    return whole_streak(prospect.level, cells, arm, prospect, counted, data, work)


#: `choice_streak(cells, arm, prospect, counted, data, work)`: the streak of an arm that `choose` has
#: just returned; `counted` says whether the player can stop at misses and gains.
choice_streak = chosen_by_class(
    {RankedCells: streak_by_tangents, IntervalCells: streak_by_tangents}, streak_by_search
)
