"""Lookahead of Certain: the policy's own way to choose quickly; what is certain is played to the end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from structured_bandits.lookahead import base
from structured_bandits.lookahead.base import Work
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.certain import CertainState, arm_of_test, is_settled
from structured_bandits.protocols import Choice, Now, Outcome


class Tables(NamedTuple):
    """Those of the policy."""

    inner: Any


class Memory(NamedTuple):
    """That of the policy."""

    inner: Any


def prepare(policy: Any) -> Tables:
    """Return the tables of the policy."""
    return Tables(base.tables_of(policy.inner))


def memory(policy: Any, tables: Tables) -> Memory:
    """Return the memory of the policy before the first pull."""
    return Memory(base.memory(policy.inner, tables.inner))


def quick_choose(
    policy: Any, state: CertainState, now: Now, rng: np.random.Generator, work: Work
) -> Choice:
    """Choose by definition, with the policy's own way to do so quickly."""
    arm = arm_of_test(policy, state, now, rng)
    if arm >= 0:
        return Choice(arm, 0)
    one = Now(now.t, 1, now.least, now.most)
    inner = Work(work.tables.inner, work.memory.inner)
    choice = base.quick_choose(policy.inner, state.inner, one, rng, inner)
    return Choice(choice.arm, choice.empty)


def stretch(
    policy: Any, state: CertainState, choice: Choice, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Pull once, or what is certain without an end."""
    length = now.limit if is_settled(policy, state) else 1
    return certain_streak(choice.arm, length, choice.empty)


def note(policy: Any, state: CertainState, outcome: Outcome, work: Work) -> None:
    """Let the policy's memory note the results."""
    inner = Work(work.tables.inner, work.memory.inner)
    base.note(policy.inner, state.inner, outcome, inner)
