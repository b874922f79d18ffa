"""The queue of an agent: decisions that are out, when their rewards are due, and the plans it hands out.

What a policy has to do with is in `simulation.delayed`. Decisions whose rewards are due before the same
pull are a linked list, so that it costs the same to send one out or to tell it, whatever the delays
are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import compilable
from structured_bandits.errors import ParameterError
from structured_bandits.lookahead.base import Work
from structured_bandits.policies.phases import MOST_PULLS
from structured_bandits.protocols import Seen
from structured_bandits.simulation.run_spec import gaps_of

# The columns of the table of decisions; the last two are by pull, not by decision.
ARM, PLAN, FOLLOWING, FIRST, LAST = range(5)
NONE = -1  # instead of a decision
EXTRA = -1  # instead of the number of a plan: decided beyond the plan
TOLD = -2  # the same: its reward has come
# What is counted.
REWARDS, OUT, STRAYS, LEFT, LEFT_AHEAD, PLANS, PLANS_AHEAD, EMPTY, SETTLED = range(9)


class Spare(NamedTuple):
    """Memory for a copy of what a policy has learned and of what its lookahead keeps."""

    state: Any
    memory: Any


class PendingQueue(NamedTuple):
    """What an agent has before it."""

    gaps: Floats  # of the arms
    spare: Spare
    work: Work  # of the policy's lookahead
    decisions: (
        Ints  # rows of arm, plan, the next one due at the same pull; first and last due at a pull
    )
    rewards: Floats  # of the decisions
    # Rewards that have come and that are out, of the latter those that are not the plan's; pulls left of
    # the plan and of the one ahead; plans and plans ahead made; empty sets; decisions that are settled.
    counts: Ints
    quota: Ints  # the plan
    handed: Ints  # how much of it was handed out
    quota_ahead: Ints
    handed_ahead: Ints
    seen: Seen  # all rewards that have come
    one: Seen  # memory for a single one
    assumed: Seen  # the rewards that are out, as if they were average


@compilable
def fresh_queue(means: Floats, spare: Spare, work: Work, horizon: int) -> PendingQueue:
    """Return the memory of a run before its first plan."""
    arms = len(means)
    return PendingQueue(
        gaps_of(means),
        spare,
        work,
        np.full((horizon + 1, 5), NONE),
        np.zeros(horizon),
        np.zeros(9, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        np.zeros(arms, np.int64),
        Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms)),
        Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms)),
        Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms)),
    )


@compilable
def next_is_planned(counts: Ints) -> bool:
    """Is the next pull one of the plan? Not while a reward is out that is not the plan's."""
    return counts[STRAYS] == 0 and counts[LEFT] > 0


@compilable
def ask(queue: PendingQueue, pull: int) -> int:
    """Hand out a pull of the plan or of the one ahead; return its arm."""
    counts, decision = queue.counts, queue.decisions[pull]
    if next_is_planned(counts):
        arm = next_arm(queue.quota, queue.handed)
        decision[PLAN] = counts[PLANS]
        counts[LEFT] -= 1
    else:
        arm = next_arm(queue.quota_ahead, queue.handed_ahead)
        decision[PLAN] = EXTRA
        counts[LEFT_AHEAD] -= 1
        counts[STRAYS] += 1
    decision[ARM] = arm
    queue.assumed.pulls[arm] += 1
    counts[OUT] += 1
    return arm


@compilable
def next_arm(quota: Ints, handed: Ints) -> int:
    """Hand out the next pull of a plan that has one left: of the arm that has had least."""
    arm = 0
    least = MOST_PULLS
    for other in range(len(quota)):
        if handed[other] < quota[other] and handed[other] < least:
            arm, least = other, handed[other]
    handed[arm] += 1
    return arm


@compilable
def begin_plan(queue: PendingQueue) -> None:
    """Begin to hand out a new plan, with which nothing that is out has to do."""
    counts = queue.counts
    counts[LEFT] = started(queue.quota, queue.handed)
    counts[PLANS] += 1
    counts[STRAYS] = counts[OUT]


@compilable
def started(quota: Ints, handed: Ints) -> int:
    """Begin to hand out a plan; return the number of its pulls."""
    left = 0
    for arm in range(len(quota)):
        handed[arm] = 0
        left += quota[arm]
    if left < 1:
        raise ParameterError("the policy planned no pull; a plan holds at least one")
    return left


@compilable
def write_averages(seen: Seen, assumed: Seen, middle: float) -> None:
    """Write what the pulls that are out would have paid if each were average for its arm.

    Without data of an arm: the middle of the range of rewards; without a range the average of all.
    """
    total = 0
    rewards = 0.0
    squares = 0.0
    for arm in range(len(seen.pulls)):
        total += seen.pulls[arm]
        rewards += seen.sums[arm]
        squares += seen.squares[arm]
    for arm in range(len(seen.pulls)):
        out = assumed.pulls[arm]
        if seen.pulls[arm] > 0:
            assumed.sums[arm] = out * (seen.sums[arm] / seen.pulls[arm])
            assumed.squares[arm] = out * (seen.squares[arm] / seen.pulls[arm])
        elif not math.isnan(middle):
            assumed.sums[arm] = out * middle
            assumed.squares[arm] = out * (middle * middle)
        else:
            assumed.sums[arm] = out * (rewards / max(total, 1))
            assumed.squares[arm] = out * (squares / max(total, 1))


@compilable
def write_one(queue: PendingQueue, decision: int) -> int:
    """Write the reward of a decision where the policy reads it; return its arm."""
    arm, reward = queue.decisions[decision, ARM], queue.rewards[decision]
    queue.one.pulls[arm] = 1
    queue.one.sums[arm] = reward
    queue.one.squares[arm] = reward * reward
    return arm


@compilable
def clear_one(one: Seen, arm: int) -> None:
    """Clear what `write_one` wrote."""
    one.pulls[arm] = 0
    one.sums[arm] = 0.0
    one.squares[arm] = 0.0


@compilable
def send_out(queue: PendingQueue, decision: int, reward: float, due: int) -> None:
    """Note the reward of a decision, and before which pull it comes."""
    decisions = queue.decisions
    queue.rewards[decision] = reward
    if due >= len(decisions):
        return  # it never comes
    if decisions[due, FIRST] == NONE:
        decisions[due, FIRST] = decision
    else:
        decisions[decisions[due, LAST], FOLLOWING] = decision
    decisions[due, LAST] = decision


@compilable
def due_before(decisions: Ints, pull: int) -> int:
    """Count the rewards that come before a pull, and have not come yet."""
    count = 0
    decision = decisions[pull, FIRST]
    while decision != NONE:
        count += 1
        decision = decisions[decision, FOLLOWING]
    return count
