"""The loops of every simulation: plan, play, observe; for plans of any arms, and for streaks of one.

They cost per plan, not per pull. Plain Python runs them as they stand, for policies that cannot be
compiled and as the reference; `structured_bandits.simulation.compiled` compiles these very functions.
All memory is taken in `run`, none in `play`: counting references to arrays is most of the cost of a
short plan, and compiled code that takes no memory can do without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.arrays import Floats, Ints
from structured_bandits.compilable import compilable
from structured_bandits.environments.base import StoppingWorld, WorldLike
from structured_bandits.errors import ParameterError
from structured_bandits.planning.round_robin import first_pulls, write_order
from structured_bandits.planning.streaks import Streak, StreakLike
from structured_bandits.policies.base import PolicyLike
from structured_bandits.simulation.generator import Seats, take_seat


class RunRecord(NamedTuple):
    """Where a run is written down."""

    checkpoints: Ints  # rising numbers of pulls
    regret: Floats  # at each checkpoint
    pulls: Ints  # of each arm
    arms: Ints  # of each pull; of length 0 if not wanted


class Runs(NamedTuple):
    """Where many runs are written down: the same with a row for each run, and what `run` returns."""

    checkpoints: Ints
    regret: Floats
    pulls: Ints
    arms: Ints
    plans: Ints
    empty: Ints


class Table(NamedTuple):
    """What `play` works with, a number for each arm."""

    gaps: Floats
    quota: Ints
    part: Ints
    sums: Floats


@compilable
def fresh_table(means: Floats) -> Table:
    """Return the memory for `play` in a world with these means."""
    return Table(
        means.max() - means,
        np.zeros(len(means), np.int64),
        np.zeros(len(means), np.int64),
        np.zeros(len(means)),
    )


def run(
    policy: PolicyLike,
    world: WorldLike,
    horizon: int,
    planning: bool,
    rng: np.random.Generator,
    record: RunRecord,
    stop: Ints,
) -> tuple[int, int]:
    """Play one run from the start; return the number of plans and of empty confidence sets."""
    table = fresh_table(world.means)
    return play(policy, policy.init(), world, horizon, planning, rng, record, table, stop)


def run_many(
    policy: PolicyLike,
    world: WorldLike,
    horizon: int,
    planning: bool,
    rng: np.random.Generator,
    seats: Seats,
    runs: Runs,
    stop: Ints,
) -> None:
    """Play many runs, each from its own start of the generator."""
    for place in range(len(seats.starts)):
        take_seat(seats.memory, seats.starts[place])
        record = RunRecord(
            runs.checkpoints, runs.regret[place], runs.pulls[place], runs.arms[place]
        )
        plans, empty = run(policy, world, horizon, planning, rng, record, stop)
        runs.plans[place] = plans
        runs.empty[place] = empty


def play(policy: Any, *run: Any) -> tuple[int, int]:
    """Plan, play and observe until the horizon, by the loop for this policy; both take the same."""
    return loop_for(type(policy))(policy, *run)


def loop_for(kind: type) -> Callable[..., tuple[int, int]]:
    """Return the loop for policies of this class: streak by streak if it offers that."""
    streaks = offers(kind, "streak", "plan") and offers(kind, "end_streak", "observe")
    return play_streaks if streaks else play_plans


def offers(kind: type, method: str, instead: str) -> bool:
    """Does a class offer a method, and not overwrite what it would be used instead of?"""
    for parent in kind.__mro__:
        if callable(vars(parent).get(method)):
            return True
        if instead in vars(parent):
            return False
    return False


def play_plans(
    policy: PolicyLike,
    state: Any,
    world: WorldLike,
    horizon: int,
    planning: bool,
    rng: np.random.Generator,
    record: RunRecord,
    table: Table,
    stop: Ints,
) -> tuple[int, int]:
    """Play plans of any arms until `horizon` pulls are made or stop[0] is set.

    Return their number and that of empty confidence sets. Pseudo-regret at the checkpoints, also
    inside a plan, is computed from whole numbers of pulls, so nothing accumulates.
    """
    t = 0
    reached = 0  # checkpoints passed
    plans = 0
    empty = 0
    while t < horizon and stop[0] == 0:
        empty += policy.plan(state, t, horizon - t if planning else 1, table.quota, rng)
        length = first_pulls(table.quota, horizon - t, table.quota)
        if length < 1:
            raise ParameterError("the policy planned no pull; a plan holds at least one")
        while reached < len(record.checkpoints) and record.checkpoints[reached] <= t + length:
            first_pulls(table.quota, record.checkpoints[reached] - t, table.part)
            total = 0.0
            for arm in range(len(table.gaps)):
                total += table.gaps[arm] * (record.pulls[arm] + table.part[arm])
            record.regret[reached] = total
            reached += 1
        if len(record.arms) > 0:
            write_order(table.quota, record.arms[t : t + length])
        for arm in range(len(table.gaps)):
            table.sums[arm] = 0.0
            if table.quota[arm] > 0:
                table.sums[arm] = world.draw(arm, record.pulls[arm], table.quota[arm], rng)
                record.pulls[arm] += table.quota[arm]
        policy.observe(state, table.quota, table.sums)
        t += length
        plans += 1
    return plans, empty


def play_streaks(
    policy: StreakLike,
    state: Any,
    world: WorldLike,
    horizon: int,
    planning: bool,
    rng: np.random.Generator,
    record: RunRecord,
    table: Table,
    stop: Ints,
) -> tuple[int, int]:
    """Play streaks of one arm, with the numbers of `play_plans` but no pass over the arms."""
    t = 0
    reached = 0
    plans = 0
    empty = 0
    while t < horizon and stop[0] == 0:
        streak = policy.streak(state, t, horizon - t if planning else 1, rng)
        arm = streak.arm
        length, total = draw_streak(world, streak, record.pulls[arm], horizon - t, rng)
        if length < 1:
            raise ParameterError("the policy planned no pull; a plan holds at least one")
        record.pulls[arm] += length
        t += length
        while reached < len(record.checkpoints) and record.checkpoints[reached] <= t:
            beyond = t - record.checkpoints[reached]
            regret = 0.0
            for other in range(len(table.gaps)):
                regret += table.gaps[other] * (
                    record.pulls[other] - (beyond if other == arm else 0)
                )
            record.regret[reached] = regret
            reached += 1
        if len(record.arms) > 0:
            record.arms[t - length : t] = arm
        policy.end_streak(state, arm, length, total)
        plans += 1
        empty += streak.empty
    return plans, empty


def draw_streak(
    world: Any, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Play a streak of an arm with `pulls` pulls, at most `most` of it; return pulls and their sum."""
    return drawing_for(type(world))(world, streak, pulls, most, rng)


def drawing_for(kind: type) -> Callable[..., tuple[int, float]]:
    """Return how worlds of this class play a streak."""
    return draw_until_misses if offers(kind, "draw_until", "draw") else draw_certain


def draw_until_misses(
    world: StoppingWorld, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Stop after the misses, unless all pulls might be."""
    length = min(streak.length, most)
    if streak.misses + 1 >= length:
        return length, world.draw(streak.arm, pulls, length, rng)
    return world.draw_until(streak.arm, pulls, length, streak.misses, rng)


def draw_certain(
    world: WorldLike, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> tuple[int, float]:
    """Draw what is certain."""
    length = min(streak.surely, most)
    return length, world.draw(streak.arm, pulls, length, rng)
