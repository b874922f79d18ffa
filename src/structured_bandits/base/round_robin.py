"""The order in which a plan is played: one pull per arm and round, arms rising.

See docs/notes/lookahead.md 15.
"""

from __future__ import annotations

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import compilable


@compilable
def first_pulls(quota: Ints, count: int, pulled: Ints) -> int:
    """Write how often each arm is among the first `count` pulls of a plan; return their number.

    `quota` may be `pulled` itself: the plan is then cut to its first `count` pulls. Costs a few
    passes over the arms, however long the plan is.
    """
    arms = len(quota)
    total = 0
    for arm in range(arms):
        total += quota[arm]
        pulled[arm] = quota[arm]
    if total <= count:
        return total
    rounds = 0  # full rounds that fit
    left = count  # pulls beyond them
    while True:
        playing = 0
        shortest = total
        for arm in range(arms):
            if quota[arm] > rounds:
                playing += 1
                shortest = min(shortest, quota[arm])
        step = min(shortest - rounds, left // playing)
        whole = step == shortest - rounds
        rounds += step
        left -= step * playing
        if not whole or left == 0:
            break
    for arm in range(arms):
        if quota[arm] > rounds:
            pulled[arm] = rounds
            if left > 0:
                pulled[arm] += 1
                left -= 1
    return count


@compilable
def write_order(quota: Ints, order: Ints) -> None:
    """Write the arms of a plan in the order in which they are pulled."""
    place = 0
    turn = 0
    while place < len(order):
        for arm in range(len(quota)):
            if quota[arm] > turn and place < len(order):
                order[place] = arm
                place += 1
        turn += 1
