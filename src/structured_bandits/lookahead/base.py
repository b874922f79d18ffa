"""Lookahead: the arm of a policy's next pull found faster, and for how many pulls it is certain.

A lookahead is speed and nothing else. A policy's definition (`choose`, `update`) is complete without
one; then it is played pull by pull. With one, a simulation decides once for a whole *stretch* of pulls,
in which no rewards can change the choice, or none but those at which the stretch ends (`Streak`).

A lookahead consists of plain functions, all of which may be left out:

- `prepare(policy) -> tables`: once a policy, in plain Python; shared by runs and threads, never written;
- `memory(policy, tables) -> memory`: once a run; arrays, or what solvers keep, that only this run has;
- `quick_choose(policy, state, now, rng, work)`: the arm of `choose` for all data, by the same draws if
  nothing is known of them; a record that begins with `arm, empty` and goes on with what it found out;
- `stretch(policy, state, choice, now, rng, work) -> Streak`: called at once after the choice, if
  now.limit is above 1; its arm is that of the choice;
- `note(policy, state, outcome, work)`: called after each `update`;
- `quick_plan(policy, state, now, quota, rng, work) -> empty`: what `plan` would write, or more of
  it; only for policies that hold others, since it follows from the functions above.

`Work` belongs to whoever plays: no policy's state has any of it, so a live agent, which asks the
definition, and a snapshot know nothing of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.compilable import chosen, compilable
from structured_bandits.base.confidence import Data
from structured_bandits.base.records import PREPARED
from structured_bandits.errors import ParameterError
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.playing import choose, chooses, plan
from structured_bandits.protocols import Now, Outcome, Seen


class Work(NamedTuple):
    """What a lookahead works with in one run."""

    tables: Any  # facts about the policy, shared by all runs
    memory: Any  # of this run


def by_definition(policy: Any, state: Any, now: Now, rng: np.random.Generator, work: Work) -> Any:
    """Choose as the policy's definition says."""
    return choose(policy, state, now, rng)


def one_pull(
    policy: Any, state: Any, choice: Any, now: Now, rng: np.random.Generator, work: Work
) -> Streak:
    """Return one pull: nothing more is certain."""
    return certain_streak(choice.arm, 1, choice.empty)


def nothing_to_note(policy: Any, state: Any, outcome: Outcome, work: Work) -> None:
    """Note nothing."""


def no_memory(policy: Any, tables: Any) -> None:
    """Return no memory."""


def no_tables(policy: Any) -> None:
    """Return no tables."""


class Lookahead(NamedTuple):
    """The functions of a lookahead."""

    quick_choose: Callable[..., Any] = by_definition
    stretch: Callable[..., Streak] = one_pull
    note: Callable[..., None] = nothing_to_note
    memory: Callable[..., Any] = no_memory
    prepare: Callable[..., Any] = no_tables
    quick_plan: Callable[..., int] | None = None


NONE = Lookahead()
NO_WORK = Work(None, None)  # of a policy without a lookahead
#: By the exact class: a subclass may choose otherwise, and must not inherit a proof.
LOOKAHEADS: dict[type, Lookahead] = {}


def lookahead_of(module: Any) -> Lookahead:
    """Return the lookahead that a module holds, by the names of its functions."""
    found = {name: getattr(module, name, None) for name in Lookahead._fields}
    return Lookahead(**{name: each for name, each in found.items() if each is not None})


def register(kind: type, lookahead: Lookahead) -> None:
    """Let policies of exactly this class be played by a lookahead; each class has one at most.

    Compiled engines of the library's own policies are kept on disk, by what the library consists of. So
    a policy of the library has the lookahead that it is delivered with, and no other.
    """
    add_to(LOOKAHEADS, kind, lookahead, "a policy")


def add_to(table: dict[type, Any], kind: type, lookahead: Any, what: str) -> None:
    """Add the lookahead of a class of policies or cells, unless it has one or is the library's own."""
    if kind in table:
        raise ParameterError(f"{kind.__name__} has a lookahead already")
    if closed and kind.__module__.partition(".")[0] == __name__.partition(".")[0]:
        raise ParameterError(
            f"{kind.__name__} is {what} of the library, whose lookahead cannot be given from outside"
        )
    table[kind] = lookahead


closed = False  # set once the library's own are registered


def close() -> None:
    """Let no further lookahead be registered for policies and cells of the library."""
    global closed
    closed = True


def found(kind: type) -> Lookahead:
    """Return the lookahead of a class; one that only chooses by definition if it has none."""
    return LOOKAHEADS.get(kind, NONE)


quick_choose = chosen(lambda kind: found(kind).quick_choose)
stretch = chosen(lambda kind: found(kind).stretch)
note = chosen(lambda kind: found(kind).note)
memory = chosen(lambda kind: found(kind).memory)


def planning_of(kind: type) -> Callable[..., int]:
    """Return what writes plans of policies of this class."""
    if (own := found(kind).quick_plan) is not None:
        return own
    if not chooses(kind):
        return as_planned
    return drawn_pull if getattr(kind, "randomised", False) else plan_certain


quick_plan = chosen(planning_of)


@compilable
def as_planned(
    policy: Any, state: Any, now: Now, quota: Ints, rng: np.random.Generator, work: Work
) -> int:
    """Plan as the policy's definition says."""
    return plan(policy, state, now, quota, rng)


@compilable
def drawn_pull(
    policy: Any, state: Any, now: Now, quota: Ints, rng: np.random.Generator, work: Work
) -> int:
    """Plan one pull: who follows plans may never come to the end of a wait that was drawn."""
    one = Now(now.t, 1, math.nan, math.nan)
    choice = quick_choose(policy, state, one, rng, work)
    quota[:] = 0
    quota[choice.arm] = 1
    return choice.empty


@compilable
def plan_certain(
    policy: Any, state: Any, now: Now, quota: Ints, rng: np.random.Generator, work: Work
) -> int:
    """Plan the part of a stretch that is certain whatever the rewards are; one pull if no model fits.

    Empty sets are counted pull by pull, and who follows a plan may not come to its end.
    """
    choice = quick_choose(policy, state, now, rng, work)
    quota[:] = 0
    quota[choice.arm] = 1
    if now.limit > 1 and choice.empty == 0:
        quota[choice.arm] = stretch(policy, state, choice, now, rng, work).surely
    return choice.empty


def tables_of(policy: Any) -> Any:
    """Return what the lookahead of a policy prepares, and keep it with the policy."""
    kept = getattr(policy, "__dict__", None)
    if kept is None or PREPARED not in kept:
        tables = found(type(policy)).prepare(policy)
        if kept is None:
            return tables
        kept[PREPARED] = tables
    return kept[PREPARED]


def fresh_work(policy: Any) -> Work:
    """Return what a run of the policy works with, before the first pull; in plain Python."""
    tables = tables_of(policy)
    return Work(tables, memory(policy, tables))


def resumed_work(policy: Any, state: Any) -> Work | None:
    """Return what a run that has learned this works with; in plain Python.

    None if a lookahead has to know results that the state does not hold: as `Data` in a field `data`, or
    as `Seen` in a field `heard`. (Squared rewards are unknown, nan, of the former.)
    """
    own, results = found(type(policy)), _results_of(state)
    remembers = own.memory is not no_memory or own.note is not nothing_to_note
    if results is None and remembers:
        return None
    work = fresh_work(policy)
    if results is not None:
        note_each(policy, state, results, work)
    return work


def _results_of(state: Any) -> Seen | None:
    """Return the pulls and sums that a state holds, None if it does not say so."""
    heard, data = getattr(state, "heard", None), getattr(state, "data", None)
    if isinstance(heard, Seen):
        return heard
    if isinstance(data, Data):
        return Seen(data.pulls, data.sums, np.full(len(data.pulls), math.nan))
    return None


@compilable
def note_each(policy: Any, state: Any, seen: Seen, work: Work) -> None:
    """Note the results of pulls of any arms, of which the policy was told."""
    for arm in range(len(seen.pulls)):
        if seen.pulls[arm] > 0:
            outcome = Outcome(arm, seen.pulls[arm], seen.sums[arm], seen.squares[arm])
            note(policy, state, outcome, work)
