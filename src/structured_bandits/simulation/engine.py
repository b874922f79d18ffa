"""The loops of every simulation: choose, play, update; or plan, play, observe for plans of any arms.

A policy that chooses one arm is played stretch by stretch: its lookahead says for how many pulls the
choice is certain. So the loops cost per decision, not per pull. Plain Python runs them as they stand,
for policies that cannot be compiled and as the reference; `structured_bandits.simulation.compiled`
compiles these very functions.
All memory is taken in `run`, none in `play`: counting references to arrays is most of the cost of a
short stretch, and compiled code that takes no memory can do without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.base.compilable import chosen, compilable
from structured_bandits.base.round_robin import first_pulls, write_order
from structured_bandits.errors import ParameterError
from structured_bandits.lookahead.base import (
    Work,
    fresh_work,
    memory,
    note,
    note_each,
    quick_choose,
    quick_plan,
    stretch,
    tables_of,
)
from structured_bandits.lookahead.streaks import Streak, certain_streak
from structured_bandits.policies.playing import chooses, moment_of, observe, update
from structured_bandits.protocols import (
    CountingWorld,
    Now,
    Outcome,
    Paid,
    PolicyLike,
    Seen,
    Stop,
    StoppingWorld,
    WorldLike,
)
from structured_bandits.simulation.changing import (
    changes,
    following,
    fresh_steps,
    run_changing,
)
from structured_bandits.simulation.delayed import comes_late, middle_reward, play_late, run_late
from structured_bandits.simulation.generator import RunStarts, set_generator
from structured_bandits.simulation.pending_queue import Spare, fresh_queue
from structured_bandits.simulation.run_spec import Game, RunRecord, Runs, gaps_of, record_of


class Table(NamedTuple):
    """What `play` works with, a number for each arm."""

    gaps: Floats
    quota: Ints
    part: Ints
    seen: Seen
    work: Work  # of the policy's lookahead


def game_of(
    policy: Any, world: Any, horizon: int, planning: bool, rng: np.random.Generator, stop: Any
) -> Game:
    """Return what a policy is played in, with all that follows from the policy."""
    middle, tables = middle_reward(policy), tables_of(policy)
    return Game(world, horizon, planning, rng, stop, middle, tables)


@compilable
def fresh_table(means: Floats, work: Work) -> Table:
    """Return the memory for `play` in a world with these means."""
    arms = len(means)
    quota = np.zeros(arms, np.int64)
    seen = Seen(quota, np.zeros(arms), np.zeros(arms))  # what is played is the plan
    return Table(gaps_of(means), quota, np.zeros(arms, np.int64), seen, work)


def run(policy: PolicyLike, game: Game, record: RunRecord) -> tuple[int, int, int]:
    """Play one run from the start; return how many plans and empty sets there were, and the alarm."""
    return run_in(game.world, policy, game, record)


@compilable
def run_at_once(
    world: WorldLike, policy: PolicyLike, game: Game, record: RunRecord
) -> tuple[int, int, int]:
    """Play one run in a world whose rewards come at once."""
    state = policy.init()
    work = Work(game.tables, memory(policy, game.tables))
    plans, empty = play(policy, state, game, record, fresh_table(world.means, work))
    return plans, empty, moment_of(policy, state)


def run_for(kind: type) -> Callable[..., tuple[int, int, int]]:
    """Return what plays one run in worlds of this class."""
    if changes(kind):
        return run_changing
    return run_late if comes_late(kind) else run_at_once


#: Play one run in a world: by the rule for rewards that are out if its rewards come late, and pull by
#: pull if its means change.
run_in = chosen(run_for)


def run_many(policy: PolicyLike, game: Game, starts: RunStarts, runs: Runs) -> None:
    """Play many runs, each from its own start of the generator."""
    for place in range(len(starts.words)):
        set_generator(starts.memory, starts.words[place])
        plans, empty, alarm = run(policy, game, record_of(runs, place))
        runs.plans[place] = plans
        runs.empty[place] = empty
        runs.alarms[place] = alarm


def play(policy: Any, *run: Any) -> tuple[int, int]:
    """Play until the horizon, by the loop for this policy; both take the same."""
    return loop_for(type(policy))(policy, *run)


def loop_for(kind: type) -> Callable[..., tuple[int, int]]:
    """Return the loop for policies of this class."""
    return play_choices if chooses(kind) else play_plans


def loop_and_memory(policy: Any, game: Game) -> tuple[Callable[..., tuple[int, int]], Any]:
    """Return the loop for a policy in a world, and fresh memory for it, from plain Python."""
    means, work = game.world.means, fresh_work(policy)
    if changes(type(game.world)):
        return following(type(policy)), fresh_steps(len(means), game.horizon, work)
    if comes_late(type(game.world)):
        spare = Spare(policy.init(), memory(policy, work.tables))
        return play_late, fresh_queue(means, spare, work, game.horizon)
    return loop_for(type(policy)), fresh_table(means, work)


def play_plans(
    policy: PolicyLike, state: Any, game: Game, record: RunRecord, table: Table
) -> tuple[int, int]:
    """Play plans of any arms until `horizon` pulls are made or stop[0] is set.

    Return their number and that of empty confidence sets. Pseudo-regret at the checkpoints, also
    inside a plan, is computed from whole numbers of pulls, so nothing accumulates.
    """
    horizon, quota, seen = game.horizon, table.quota, table.seen
    t = 0
    reached = 0  # checkpoints passed
    plans = 0
    empty = 0
    while t < horizon and game.stop[0] == 0:
        now = Now(t, horizon - t if game.planning else 1, math.nan, math.nan)
        empty += quick_plan(policy, state, now, quota, game.rng, table.work)
        length = first_pulls(quota, horizon - t, quota)
        if length < 1:
            raise ParameterError("the policy planned no pull; a plan holds at least one")
        while reached < len(record.checkpoints) and record.checkpoints[reached] <= t + length:
            first_pulls(quota, record.checkpoints[reached] - t, table.part)
            total = 0.0
            for arm in range(len(table.gaps)):
                total += table.gaps[arm] * (record.pulls[arm] + table.part[arm])
            record.regret[reached] = total
            reached += 1
        if len(record.arms) > 0:
            write_order(quota, record.arms[t : t + length])
        for arm in range(len(table.gaps)):
            seen.sums[arm] = 0.0
            seen.squares[arm] = 0.0
            if quota[arm] > 0:
                paid = game.world.draw(arm, record.pulls[arm], quota[arm], game.rng)
                seen.sums[arm] = paid.total
                seen.squares[arm] = paid.squares
                record.pulls[arm] += quota[arm]
                record.sums[arm] += paid.total
        observe(policy, state, seen)
        note_each(policy, state, seen, table.work)
        t += length
        plans += 1
    return plans, empty


def play_choices(
    policy: Any, state: Any, game: Game, record: RunRecord, table: Table
) -> tuple[int, int]:
    """Play stretches of one arm, with the numbers of `play_plans` but no pass over the arms."""
    horizon, work = game.horizon, table.work
    counted = counted_range(game.world)
    t = 0
    reached = 0
    plans = 0
    empty = 0
    while t < horizon and game.stop[0] == 0:
        now = Now(t, horizon - t if game.planning else 1, counted[0], counted[1])
        choice = quick_choose(policy, state, now, game.rng, work)
        arm = choice.arm
        streak = certain_streak(arm, 1, choice.empty)
        if now.limit > 1:
            streak = stretch(policy, state, choice, now, game.rng, work)
        paid = draw_streak(game.world, streak, record.pulls[arm], horizon - t, game.rng)
        length = paid.pulls
        if length < 1:
            raise ParameterError("the lookahead found no pull to be certain; one always is")
        record.pulls[arm] += length
        record.sums[arm] += paid.total
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
        outcome = Outcome(arm, length, paid.total, paid.squares)
        update(policy, state, outcome)
        note(policy, state, outcome, work)
        plans += 1
        empty += streak.empty
    return plans, empty


def draw_streak(
    world: Any, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> Paid:
    """Play a streak of an arm with `pulls` pulls, at most `most` of it."""
    return drawing_for(type(world))(world, streak, pulls, most, rng)


def drawing_for(kind: type) -> Callable[..., Paid]:
    """Return how worlds of this class play a streak."""
    if counts_gains(kind):
        return draw_while_few
    stops = getattr(kind, "stops", hasattr(kind, "draw_until")) and hasattr(kind, "most_paid")
    return draw_until_misses if stops else draw_certain


def counts_gains(kind: type) -> bool:
    """Can worlds of this class stop at gains as well as at misses?"""
    can = all(hasattr(kind, name) for name in ("draw_while", "least_paid", "most_paid"))
    return bool(getattr(kind, "counts_gains", can)) and can


def paid_range(world: CountingWorld) -> tuple[float, float]:
    """Return the least and the highest reward of a world that counts misses and gains."""
    return world.least_paid(), world.most_paid()


def no_range(world: WorldLike) -> tuple[float, float]:
    """Return no range: this world does not count gains."""
    return math.nan, math.nan


#: The range of rewards in which a world counts misses and gains, or nan.
counted_range = chosen(lambda kind: paid_range if counts_gains(kind) else no_range)


@compilable
def draw_certain(
    world: WorldLike, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> Paid:
    """Draw what is certain."""
    return world.draw(streak.arm, pulls, min(streak.surely, most), rng)


@compilable
def draw_until_misses(
    world: StoppingWorld, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> Paid:
    """Stop after the misses, unless all pulls might be.

    What is certain is drawn if the highest reward is not high enough, or more than misses is counted.
    """
    limited = streak.gains < streak.length or streak.earned != 0.0
    if limited or streak.hit > world.most_paid():
        return draw_certain(world, streak, pulls, most, rng)
    length = min(streak.length, most)
    if streak.misses + 1 >= length:
        return world.draw(streak.arm, pulls, length, rng)
    return world.draw_until(streak.arm, pulls, length, streak.misses, rng)


def draw_while_few(
    world: CountingWorld, streak: Streak, pulls: int, most: int, rng: np.random.Generator
) -> Paid:
    """Stop after the misses, of which hits may earn more, or after the gains."""
    _, _, length, misses, _, hit, gains, spare, earned = streak
    if gains < length or (earned != 0.0 and hit <= world.most_paid()):
        stop = Stop(min(length, most), misses, gains, spare, earned)
        return world.draw_while(streak.arm, pulls, stop, rng)
    return draw_until_misses(world, streak, pulls, most, rng)
