"""Lookahead of a guard: that of the policy at work, up to the next look at the e-value."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.lookahead import base
from structured_bandits.lookahead.base import Work, note_each
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.guarded import (
    NOT_DUE,
    NOT_RUNG,
    GuardState,
    due_arm,
    lacking,
    next_part,
    undisturbed,
)
from structured_bandits.protocols import Now, Outcome


class Tables(NamedTuple):
    """Those of the two policies."""

    inner: Any
    fallback: Any


class Memory(NamedTuple):
    """That of the two policies."""

    inner: Any
    fallback: Any
    rung: Ints  # one number: 1 once the fallback's memory knows what was heard before the alarm


class Chosen(NamedTuple):
    """The arm of the policy at work, and for how long it is certain."""

    arm: int
    empty: int
    streak: Streak


def prepare(guard: Any) -> Tables:
    """Return the tables of both policies."""
    return Tables(base.tables_of(guard.inner), base.tables_of(guard.fallback))


def memory(guard: Any, tables: Tables) -> Memory:
    """Return the memory of both policies before the first pull."""
    return Memory(
        base.memory(guard.inner, tables.inner),
        base.memory(guard.fallback, tables.fallback),
        np.zeros(1, np.int64),
    )


@compilable
def of_inner(work: Work) -> Work:
    """Return what the policy that is guarded works with."""
    return Work(work.tables.inner, work.memory.inner)


@compilable
def of_fallback(work: Work) -> Work:
    """Return what the fallback works with."""
    return Work(work.tables.fallback, work.memory.fallback)


@compilable
def catch_up(guard: Any, state: GuardState, work: Work) -> None:
    """Let the fallback's memory know what was heard, of which the fallback was told by the alarm."""
    if work.memory.rung[0] == 0:
        work.memory.rung[0] = 1
        note_each(guard.fallback, state.fallback, state.heard, of_fallback(work))


def quick_choose(
    guard: Any, state: GuardState, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Let the policy at work choose, and say for how long, up to the next look."""
    if state.rung[0] != NOT_RUNG:
        catch_up(guard, state, work)
        return chosen_with_stretch(guard.fallback, state.fallback, now, rng, of_fallback(work))
    due = due_arm(guard.explore, state.heard.pulls, now.t)
    if due != NOT_DUE:
        return Chosen(due, 0, certain_streak(due, 1, 0))
    until = Now(now.t, undisturbed(guard, state, now), now.least, now.most)
    return chosen_with_stretch(guard.inner, state.inner, until, rng, of_inner(work))


@compilable
def chosen_with_stretch(
    policy: Any, state: Any, now: Now, rng: np.random.Generator, work: Work
) -> Chosen:
    """Return what one of the two policies chooses."""
    choice = base.quick_choose(policy, state, now, rng, work)
    streak = certain_streak(choice.arm, 1, choice.empty)
    if now.limit > 1:
        streak = base.stretch(policy, state, choice, now, rng, work)
    return Chosen(choice.arm, choice.empty, streak)


def stretch(
    guard: Any, state: GuardState, choice: Chosen, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Return the stretch that was found with the arm."""
    return choice.streak


def note(guard: Any, state: GuardState, outcome: Outcome, work: Work) -> None:
    """Let the memory of the policy at work note the results."""
    if state.rung[0] == NOT_RUNG:
        base.note(guard.inner, state.inner, outcome, of_inner(work))
    elif work.memory.rung[0] == 0:
        catch_up(guard, state, work)
    else:
        base.note(guard.fallback, state.fallback, outcome, of_fallback(work))


def quick_plan(
    guard: Any, state: GuardState, now: Now, quota: Ints, rng: np.random.Generator, work: Work
) -> int:
    """Plan as `Guarded.plan` does, by the lookaheads of the two policies."""
    if state.rung[0] != NOT_RUNG:
        catch_up(guard, state, work)
        return base.quick_plan(guard.fallback, state.fallback, now, quota, rng, of_fallback(work))
    empty = 0
    due = due_arm(guard.explore, state.heard.pulls, now.t)
    if due != NOT_DUE:
        quota[:] = 0
        quota[due] = 1
    else:
        limit = undisturbed(guard, state, now)
        if not lacking(state.wanted, state.told):
            until = Now(now.t, limit, math.nan, math.nan)
            inner = of_inner(work)
            empty = base.quick_plan(guard.inner, state.inner, until, state.wanted, rng, inner)
            state.told[:] = 0
        next_part(state.wanted, state.told, limit, quota)
    state.part[:] = quota
    return empty
