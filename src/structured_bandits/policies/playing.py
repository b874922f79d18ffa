"""How a policy is asked and told, whether it chooses before each pull or plans several.

A policy that chooses is any named tuple with `init` and `choose`; one without `update` learns pulls and
sums. So who plays policies calls these functions and not the methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import chosen, compilable, do_nothing
from structured_bandits.protocols import Choice, Now, Outcome, Seen


def chooses(kind: type) -> bool:
    """Are policies of this class played by `choose`, and not by `plan`?"""
    return bool(getattr(kind, "chooses", hasattr(kind, "choose")))


@compilable
def add_outcome(policy: Any, state: Any, outcome: Outcome) -> None:
    """Add the pulls and the sum of their rewards."""
    state.data.pulls[outcome.arm] += outcome.pulls
    state.data.sums[outcome.arm] += outcome.total


#: `choose(policy, state, now, rng)`: the arm of the next pull.
choose: Callable[[Any, Any, Now, np.random.Generator], Choice] = chosen(
    lambda kind: getattr(kind, "choose", None)
)
#: `update(policy, state, outcome)`: take in the results of some pulls of one arm.
update: Callable[[Any, Any, Outcome], None] = chosen(
    lambda kind: getattr(kind, "update", add_outcome)
)


@compilable
def plan_one(policy: Any, state: Any, now: Now, quota: Ints, rng: np.random.Generator) -> int:
    """Plan one pull, of the arm that is chosen; return whether no model fitted."""
    choice = choose(policy, state, now, rng)
    quota[:] = 0
    quota[choice.arm] = 1
    return choice.empty


@compilable
def update_each(policy: Any, state: Any, seen: Seen) -> None:
    """Take in results arm by arm."""
    for arm in range(len(seen.pulls)):
        if seen.pulls[arm] > 0:
            outcome = Outcome(arm, seen.pulls[arm], seen.sums[arm], seen.squares[arm])
            update(policy, state, outcome)


#: `plan(policy, state, now, quota, rng)`: write a plan into `quota`; return the empty sets met.
plan: Callable[[Any, Any, Now, Ints, np.random.Generator], int] = chosen(
    lambda kind: plan_one if chooses(kind) else getattr(kind, "plan", None)
)
#: `observe(policy, state, seen)`: take in the results of pulls of any arms.
observe: Callable[[Any, Any, Seen], None] = chosen(
    lambda kind: update_each if chooses(kind) else getattr(kind, "observe", None)
)
#: `expect(policy, state, pulls)`: hear how many pulls of each arm have rewards that are out.
expect: Callable[[Any, Any, Ints], None] = chosen(lambda kind: getattr(kind, "expect", do_nothing))


def no_moment(policy: Any, state: Any) -> int:
    """Return 0: nothing happens once."""
    return 0


#: `moment_of(policy, state)`: the pulls after which what happens once in a policy has happened, 0 if it
#: has not: the alarm of a guard, or that `BestArm` is certain.
moment_of: Callable[[Any, Any], int] = chosen(lambda kind: getattr(kind, "moment", no_moment))
#: `forget(policy, state)`: clear scratch memory that could decide the next plan.
forget: Callable[[Any, Any], None] = chosen(lambda kind: getattr(kind, "forget", do_nothing))
