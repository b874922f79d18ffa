"""The loop for worlds whose means change: pull by pull, with regret against the best of the moment.

What a lookahead says is certain would be so here too, but what pays changes inside a stretch; so plans
are followed pull by pull, and policies that look at every reward decide before each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.base.round_robin import first_pulls, write_order
from structured_bandits.errors import ParameterError
from structured_bandits.lookahead.base import (
    Work,
    memory,
    note,
    note_each,
    quick_choose,
    quick_plan,
)
from structured_bandits.policies.playing import chooses, moment_of, observe, update
from structured_bandits.protocols import ChangingWorld, Now, Outcome, PolicyLike, Seen
from structured_bandits.simulation.run_spec import Game, RunRecord


class Steps(NamedTuple):
    """What the loop works with."""

    quota: Ints
    seen: Seen
    order: Ints  # of the pulls of a plan
    work: Work  # of the policy's lookahead


@compilable
def fresh_steps(arms: int, horizon: int, work: Work) -> Steps:
    """Return the memory for a run."""
    seen = Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms))
    return Steps(np.zeros(arms, np.int64), seen, np.zeros(horizon, np.int64), work)


def changes(kind: type) -> bool:
    """Do the means of worlds of this class change?"""
    return hasattr(kind, "draw_at")


@compilable
def run_changing(
    world: ChangingWorld, policy: PolicyLike, game: Game, record: RunRecord
) -> tuple[int, int, int]:
    """Play one run in a world whose means change."""
    state = policy.init()
    work = Work(game.tables, memory(policy, game.tables))
    steps = fresh_steps(len(world.means), game.horizon, work)
    plans, empty = follow(policy, state, game, record, steps)
    return plans, empty, moment_of(policy, state)


def follow(policy: Any, *run: Any) -> tuple[int, int]:
    """Play until the horizon; compiled code counts references only for policies that take memory."""
    return following(type(policy))(policy, *run)


def following(kind: type) -> Callable[..., tuple[int, int]]:
    """Return the loop for policies of this class."""
    return choose_changing if chooses(kind) else plan_changing


def choose_changing(
    policy: PolicyLike, state: Any, game: Game, record: RunRecord, steps: Steps
) -> tuple[int, int]:
    """Play until `horizon` pulls are made or stop[0] is set; return numbers of pulls and empty sets."""
    reached = 0  # checkpoints passed
    empty = 0
    lost = 0.0
    for t in range(game.horizon):
        if game.stop[0] != 0:
            return t, empty
        now = Now(t, 1, math.nan, math.nan)
        choice = quick_choose(policy, state, now, game.rng, steps.work)
        arm = choice.arm
        empty += choice.empty
        paid = game.world.draw_at(arm, t, game.rng)
        record.pulls[arm] += 1
        record.sums[arm] += paid.total
        if len(record.arms) > 0:
            record.arms[t] = arm
        lost += gap_at(game.world, arm, t, len(record.pulls))
        if reached < len(record.checkpoints) and record.checkpoints[reached] == t + 1:
            record.regret[reached] = lost
            reached += 1
        outcome = Outcome(arm, 1, paid.total, paid.squares)
        update(policy, state, outcome)
        note(policy, state, outcome, steps.work)
    return game.horizon, empty


def plan_changing(
    policy: PolicyLike, state: Any, game: Game, record: RunRecord, steps: Steps
) -> tuple[int, int]:
    """Play plans of any arms, whose pulls come in the order of `write_order`."""
    horizon = game.horizon
    quota, seen, order, work = steps.quota, steps.seen, steps.order, steps.work
    t = 0
    reached = 0  # checkpoints passed
    plans = 0
    empty = 0
    lost = 0.0
    while t < horizon and game.stop[0] == 0:
        now = Now(t, 1, math.nan, math.nan)
        empty += quick_plan(policy, state, now, quota, game.rng, work)
        length = first_pulls(quota, horizon - t, quota)
        if length < 1:
            raise ParameterError("the policy planned no pull; a plan holds at least one")
        write_order(quota, order[:length])
        for arm in range(len(quota)):
            seen.pulls[arm] = 0
            seen.sums[arm] = 0.0
            seen.squares[arm] = 0.0
        for place in range(length):
            arm = order[place]
            paid = game.world.draw_at(arm, t, game.rng)
            seen.pulls[arm] += 1
            seen.sums[arm] += paid.total
            seen.squares[arm] += paid.squares
            record.pulls[arm] += 1
            record.sums[arm] += paid.total
            if len(record.arms) > 0:
                record.arms[t] = arm
            lost += gap_at(game.world, arm, t, len(quota))
            t += 1
            if reached < len(record.checkpoints) and record.checkpoints[reached] == t:
                record.regret[reached] = lost
                reached += 1
        observe(policy, state, seen)
        note_each(policy, state, seen, work)
        plans += 1
    return plans, empty


@compilable
def gap_at(world: ChangingWorld, arm: int, t: int, arms: int) -> float:
    """Return by how much the mean of an arm is below the highest after t pulls."""
    highest = world.mean_at(0, t)
    for other in range(1, arms):
        highest = max(highest, world.mean_at(other, t))
    return highest - world.mean_at(arm, t)
