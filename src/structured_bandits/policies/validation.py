"""Is this a policy, and can it play this structure? What is refused, is refused saying what to write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from structured_bandits.base.checks import parameters_of
from structured_bandits.errors import ParameterError
from structured_bandits.policies.playing import choose, chooses
from structured_bandits.protocols import Choice, Now
from structured_bandits.structures.base import Structure
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells

FORM = {
    "init": ("self",),
    "plan": ("self", "state", "now", "quota", "rng"),
    "observe": ("self", "state", "seen"),
    "choose": ("self", "state", "now", "rng"),
    "update": ("self", "state", "outcome"),
    "hear": ("self", "state", "seen"),
    "settle": ("self", "state", "seen"),
}
NEW_FORM = """\
    def choose(self, state, now, rng):  # before each pull; now.t pulls so far
        ...
        return sb.Choice(arm, 0)  # 1: no model fitted
    def update(self, state, outcome):  # outcome.arm, outcome.pulls, outcome.total, outcome.squares
or, for plans of several arms,
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
    if not _has(policy, "init", "choose") and not _has(policy, "init", "plan", "observe"):
        raise ParameterError(
            f"{name}: expected a policy such as sb.UCB(4), got {policy!r}, which lacks init and choose, "
            "or init, plan and observe"
        )
    if hasattr(policy, "streak") or hasattr(policy, "end_streak"):
        raise ParameterError(
            f"{name}: {type(policy).__name__} has the methods streak and end_streak. Since version 0.2 "
            f"a policy chooses, and for how long is said by a lookahead:\n{NEW_FORM}"
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
    if chooses(type(policy)):
        check_choice(name, choose(policy, policy.init(), now, rng), arms)
        return
    quota = np.zeros(arms, np.int64)
    check_plan(name, policy.plan(policy.init(), now, quota, rng), quota)


def check_choice(name: str, choice: Any, arms: int) -> None:
    """Raise unless this is a choice among so many arms."""
    whole = isinstance(choice, Choice) and isinstance(choice.arm, (int, np.integer))
    if not whole or not 0 <= choice.arm < arms:
        raise ParameterError(
            f"{name}: choose returned {choice!r}; expected sb.Choice(arm, 0) with an arm from 0 to "
            f"{arms - 1}"
        )


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


def _has(policy: Any, *methods: str) -> bool:
    return all(callable(getattr(policy, method, None)) for method in methods)


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


#: What structures are called that answer a question which others do not.
PLAYED = {
    "model_groups": "tables, with margins or without, curves and products of these",
    "table": "tables",
    "weighed_models": "tables and curves",
    "bounds_likelihood": "tables, with margins or without, curves, polytopes of at most 1,000 pieces, "
    "and products of these",
    "closest_parameter": "curves",
    "fitting_means": "tables, curves, polytopes and products of these",
}

MODEL_TS = "ModelTS(structure)"
SUCB = "SUCB(structure)"
TSC = "TSC(structure, alpha=0.5)"
BLIND = "ThompsonSampling(structure)"


def refusal(policy: str, structure: Any, question: str, able: Callable[[str], bool]) -> str:
    """Return the sentence; `able` says whether the policy of a name can play on the structure."""
    plays = PLAYED.get(question)
    why = (
        f"it plays {plays}"
        if plays
        else f"it asks for {question!r}, which such a structure does not answer"
    )
    others = [each for each in best_first(structure) if able(each.partition("(")[0])]
    return (
        f"{policy} cannot play on structure={structure!r}: {why}. "
        f"Take instead, best first: {', '.join(others)}"
    )


def best_first(structure: Any) -> tuple[str, ...]:
    """Return policies in the order of their regrets on structures of the kind (benchmarks/instead.py).

    Constraints on means and their differences (shapes, neighbours) leave so many models that optimism
    within them costs more than play that knows nothing of them.
    """
    cells = structure.cells
    if isinstance(cells, DifferenceCells) and (cells.highest > cells.lowest).any():
        return MODEL_TS, TSC, BLIND, SUCB
    return MODEL_TS, SUCB, TSC, BLIND
