"""The loop for worlds whose rewards come late: the rule of the live agent, decision by decision.

Before each pull the rewards that are due are told, in the order of their decisions. Then an arm is
asked for: the next one of the plan while nothing else is out, otherwise one beyond the plan. Beyond its
plan a policy plans ahead, on a copy of its state in which each reward that is out counts as the average
of its arm; a randomised policy simply draws once more, and may count what is out itself (`expect`).
docs/notes/mathematics.md 9 has the rule in full, `agents.agent` the same for rewards that come from
outside. A run costs per pull, and 48 bytes for each.

Records are small and calls are not deep: a compiler takes its time over every array that is handed on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen, compilable
from structured_bandits.lookahead.base import Work, drawn_pull, memory, note_each, planning_of
from structured_bandits.policies.certain import Certain
from structured_bandits.policies.guarded import Guarded
from structured_bandits.policies.phases import MOST_PULLS
from structured_bandits.policies.playing import chooses, expect, forget, moment_of, observe
from structured_bandits.protocols import LateWorld, Now, PolicyLike, Seen
from structured_bandits.simulation.copies import copied
from structured_bandits.simulation.pending_queue import (
    ARM,
    EMPTY,
    FIRST,
    FOLLOWING,
    LEFT,
    LEFT_AHEAD,
    NONE,
    OUT,
    PLAN,
    PLANS,
    PLANS_AHEAD,
    REWARDS,
    SETTLED,
    STRAYS,
    TOLD,
    PendingQueue,
    Spare,
    ask,
    begin_plan,
    clear_one,
    due_before,
    fresh_queue,
    next_is_planned,
    send_out,
    started,
    write_averages,
    write_one,
)
from structured_bandits.simulation.run_spec import Game, RunRecord


def comes_late(kind: type) -> bool:
    """Do rewards of worlds of this class come late?"""
    return hasattr(kind, "draw_delay")


def middle_reward(policy: Any) -> float:
    """Return the middle of the range of rewards that a policy declares, nan if it has none."""
    declared = getattr(policy, "reward_range", None)
    if declared is None or not math.isfinite(declared[0]):
        return math.nan
    return 0.5 * (float(declared[0]) + float(declared[1]))


@compilable
def run_late(
    world: LateWorld, policy: PolicyLike, game: Game, record: RunRecord
) -> tuple[int, int, int]:
    """Play one run in a world whose rewards come late."""
    state = policy.init()
    work = Work(game.tables, memory(policy, game.tables))
    spare = Spare(policy.init(), memory(policy, game.tables))
    queue = fresh_queue(world.means, spare, work, game.horizon)
    plans, empty = serve(policy, state, game, record, queue)
    return plans, empty, moment_of(policy, state)


def serve(policy: Any, *run: Any) -> tuple[int, int]:
    """Play until the horizon; compiled code counts references only for policies that take memory."""
    return play_late(policy, *run)


def play_late(
    policy: PolicyLike, state: Any, game: Game, record: RunRecord, queue: PendingQueue
) -> tuple[int, int]:
    """Play until `horizon` pulls are made or stop[0] is set.

    Return the number of plans, those ahead included, and of empty confidence sets in the others.
    """
    counts, decisions = queue.counts, queue.decisions
    reached = 0  # checkpoints passed
    stale = True  # must there be another plan?
    for pull in range(game.horizon):
        if game.stop[0] != 0:
            break
        due = decisions[pull, FIRST]
        while stale or due != NONE:
            if stale:
                expect(policy, state, queue.assumed.pulls)
                limit = worth_planning(game.planning, counts)
                now = Now(counts[REWARDS], limit, math.nan, math.nan)
                counts[EMPTY] += make_plan(policy, state, queue.work, now, queue.quota, game.rng)
                begin_plan(queue)
                stale = False
            else:
                stale = tell(policy, state, queue, due)
                due = decisions[due, FOLLOWING]
        if not next_is_planned(counts) and counts[LEFT_AHEAD] == 0:
            copy, work = copied(policy, queue.spare, state, queue.work)
            t = counts[REWARDS] + assume(policy, copy, work, queue, game.middle)
            expect(policy, copy, queue.assumed.pulls)
            one = Now(t, 1, math.nan, math.nan)
            make_plan(policy, copy, work, one, queue.quota_ahead, game.rng)
            begin_plan_ahead(policy, queue)
        arm = ask(queue, pull)
        paid = game.world.draw(arm, record.pulls[arm], 1, game.rng)
        delay = game.world.draw_delay(arm, paid.total, game.rng)
        send_out(queue, pull, paid.total, pull + 1 + delay)
        record.pulls[arm] += 1
        record.sums[arm] += paid.total
        if len(record.arms) > 0:
            record.arms[pull] = arm
        if reached < len(record.checkpoints) and record.checkpoints[reached] == pull + 1:
            record.regret[reached] = regret_of(queue.gaps, record.pulls)
            record.out[reached] = counts[OUT] - due_before(decisions, pull + 1)
            reached += 1
    return counts[PLANS] + counts[PLANS_AHEAD], counts[EMPTY]


@compilable
def tell(policy: PolicyLike, state: Any, queue: PendingQueue, decision: int) -> bool:
    """Take in the reward of a decision; must there be another plan?

    There must if the plan is complete, if it did not reckon with this reward, or if a policy that
    settles rewards has changed its mind.
    """
    counts, seen = queue.counts, queue.seen
    arm, reward = queue.decisions[decision, ARM], queue.rewards[decision]
    planned = queue.decisions[decision, PLAN] == counts[PLANS]
    queue.decisions[decision, PLAN] = TOLD
    queue.assumed.pulls[arm] -= 1
    counts[OUT] -= 1
    counts[REWARDS] += 1
    counts[LEFT_AHEAD] = 0  # the plan ahead did not reckon with it either
    seen.pulls[arm] += 1
    seen.sums[arm] += reward
    seen.squares[arm] += reward * reward
    overturned = take_in(policy, state, queue, decision)
    complete = counts[LEFT] == 0 and counts[OUT] == counts[STRAYS]
    return overturned or complete or not planned


@compilable
def worth_planning(planning: bool, counts: Ints) -> int:
    """Return how many pulls of a plan may be followed.

    While rewards are out only one, if any, as each of them makes another plan.
    """
    return MOST_PULLS if planning and counts[OUT] == 0 else 1


@compilable
def begin_plan_ahead(policy: PolicyLike, queue: PendingQueue) -> None:
    """Begin to hand out a new plan beyond the plan."""
    left = started(queue.quota_ahead, queue.handed_ahead)
    queue.counts[LEFT_AHEAD] = 1 if draws(policy) else left
    queue.counts[PLANS_AHEAD] += 1


@compilable
def make_plan(
    policy: PolicyLike, state: Any, work: Work, now: Now, quota: Ints, rng: np.random.Generator
) -> int:
    """Let the policy plan from what it has learned alone: what it noted for earlier plans is cleared.

    A policy that chooses does so before each pull, as in a live agent. In one place, because to compile
    a plan takes most of the time that this file takes.
    """
    forget(policy, state)
    return decide(policy, state, now, quota, rng, work)


#: `decide(policy, state, now, quota, rng, work)`: one pull, or as many as the policy plans at once.
decide = chosen(lambda kind: drawn_pull if chooses(kind) else planning_of(kind))


@compilable
def assume(policy: PolicyLike, copy: Any, work: Work, queue: PendingQueue, middle: float) -> int:
    """Let the policy take in all rewards that are out as averages; return their number.

    None if it draws: then it simply draws once more.
    """
    if draws(policy):
        return 0
    write_averages(queue.seen, queue.assumed, middle)
    hear(policy, copy, queue.assumed)
    note_each(policy, copy, queue.assumed, work)
    return queue.counts[OUT]


def _observe_one(policy: PolicyLike, state: Any, queue: PendingQueue, decision: int) -> bool:
    """Hand the reward of a decision to the policy; its plan stands."""
    arm = write_one(queue, decision)
    observe(policy, state, queue.one)
    note_each(policy, state, queue.one, queue.work)
    clear_one(queue.one, arm)
    return False


def _hear_and_settle(policy: Any, state: Any, queue: PendingQueue, decision: int) -> bool:
    """Hand over a reward at once, and in the order of asking all up to the oldest that is out.

    Does that overturn the plan?
    """
    arm = write_one(queue, decision)
    policy.hear(state, queue.one)
    note_each(policy, state, queue.one, queue.work)
    clear_one(queue.one, arm)
    overturned = False
    oldest = queue.counts[SETTLED]
    while queue.decisions[oldest, PLAN] == TOLD:
        arm = write_one(queue, oldest)
        overturned = policy.settle(state, queue.one) or overturned
        clear_one(queue.one, arm)
        oldest += 1
    queue.counts[SETTLED] = oldest
    return overturned


def _observe(policy: Any, state: Any, seen: Seen) -> None:
    observe(policy, state, seen)


def _hear(policy: Any, state: Any, seen: Seen) -> None:
    """Let a policy hear what is assumed; it is never settled, as it is no evidence."""
    policy.hear(state, seen)


def _draws(policy: Any) -> bool:
    return True


def _does_not_draw(policy: Any) -> bool:
    return False


def _one_of_two_draws(policy: Any) -> bool:
    return draws(policy.inner) or draws(policy.fallback)


def _itself_or_inner_draws(policy: Any) -> bool:
    return policy.share > 0.0 or draws(policy.inner)


def wants_order(kind: type) -> bool:
    """Do policies of this class get rewards in the order of asking, besides hearing them at once?"""
    return bool(getattr(kind, "in_order", False))


def drawing(kind: type) -> Callable[[Any], bool]:
    """Return what tells whether policies of this class draw; a guard does if one of its two does."""
    if issubclass(kind, Guarded):
        return _one_of_two_draws
    if issubclass(kind, Certain):
        return _itself_or_inner_draws
    return _draws if getattr(kind, "randomised", False) else _does_not_draw


draws = chosen(drawing)
take_in = chosen(lambda kind: _hear_and_settle if wants_order(kind) else _observe_one)
hear = chosen(lambda kind: _hear if wants_order(kind) else _observe)


@compilable
def regret_of(gaps: Floats, pulls: Ints) -> float:
    """Return the pseudo-regret of these pulls, summed up in the same order by both engines."""
    regret = 0.0
    for arm in range(len(gaps)):
        regret += gaps[arm] * pulls[arm]
    return regret
