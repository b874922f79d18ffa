"""Is this a policy? What is handed in instead of one is refused, saying what to write."""

from __future__ import annotations

from typing import Any

import numpy as np

from structured_bandits.base.checks import parameters_of
from structured_bandits.errors import ParameterError
from structured_bandits.planning.streaks import Streak
from structured_bandits.protocol import Now
from structured_bandits.structures.base import Structure

FORM = {
    "init": ("self",),
    "plan": ("self", "state", "now", "quota", "rng"),
    "observe": ("self", "state", "seen"),
    "streak": ("self", "state", "now", "rng"),
    "end_streak": ("self", "state", "outcome"),
    "hear": ("self", "state", "seen"),
    "settle": ("self", "state", "seen"),
}
NEW_FORM = """\
    def plan(self, state, now, quota, rng):  # now.t pulls so far; plan at most now.limit
        ...
        return 0  # the number of empty confidence sets met
    def observe(self, state, seen):  # seen.pulls, seen.sums, seen.squares of each arm"""


def check_policy(name: str, policy: Any) -> None:
    """Raise unless `policy` has the methods of a policy, with the parameters that they have now."""
    if isinstance(policy, type):
        raise ParameterError(
            f"{name}: expected a policy such as sb.UCB(4), got the class {policy.__name__}; build one: "
            f"sb.{policy.__name__}(structure, …)"
        )
    if isinstance(policy, Structure):
        raise ParameterError(
            f"{name}: expected a policy, got a structure; build one on it: sb.SUCB(structure)"
        )
    if isinstance(policy, (list, set, str)) or type(policy) is tuple:
        raise ParameterError(
            f"{name}: expected one policy, got {type(policy).__name__} {policy!r}; several are "
            'simulated by name: sb.simulate({"first": policy, …}, …)'
        )
    if not all(callable(getattr(policy, method, None)) for method in ("init", "plan", "observe")):
        raise ParameterError(
            f"{name}: expected a policy such as sb.UCB(4), got {policy!r}, which lacks init, plan or "
            "observe"
        )
    if getattr(policy, "in_order", False) and not (
        hasattr(policy, "hear") and hasattr(policy, "settle")
    ):
        raise ParameterError(
            f"{name}: {type(policy).__name__} says in_order = True, so it needs the methods "
            "hear(self, state, seen) and settle(self, state, seen)"
        )
    for method, wanted in FORM.items():
        _check_form(name, type(policy), method, wanted)


def check_first_plan(name: str, policy: Any, arms: int) -> None:
    """Raise unless a fresh policy makes a plan; in plain Python, where errors show the line."""
    rng = np.random.Generator(np.random.PCG64(0))
    now = Now(0, 1)
    if getattr(policy, "streaks", False):
        streak = policy.streak(policy.init(), now, rng)
        if not isinstance(streak, Streak):
            raise ParameterError(f"{name}: streak returned {streak!r}; expected a Streak")
        return
    quota = np.zeros(arms, np.int64)
    check_plan(name, policy.plan(policy.init(), now, quota, rng), quota)


def check_plan(name: str, empty: Any, quota: Any) -> None:
    """Raise unless this is a plan: what `plan` returned, and what it wrote."""
    if not isinstance(empty, (int, np.integer)):
        raise ParameterError(
            f"{name}: plan returned {empty!r}; it returns the number of empty confidence sets that "
            "it met: end it with `return 0` if it has none"
        )
    if not quota.any():
        raise ParameterError(f"{name}: the policy planned no pull; a plan holds at least one")
    if quota.min() < 0:
        raise ParameterError(f"{name}: plan wrote {quota} into quota; no arm has less than 0 pulls")


def _check_form(name: str, kind: type, method: str, wanted: tuple[str, ...]) -> None:
    function = getattr(kind, method, None)
    if function is None:
        return
    found = parameters_of(function)
    if found != wanted:
        raise ParameterError(
            f"{name}: {kind.__name__}.{method}({', '.join(found)}) is not the form "
            f"{method}({', '.join(wanted)}). Since version 0.2 records carry what is known:\n{NEW_FORM}"
        )
