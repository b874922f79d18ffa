"""What bounds the speed of SUCB and UCB: a profile of their plans (`make bench`).

A run is recorded on the Python engine, plan by plan. Its plans are then replayed by a policy that does
not think: what this takes is the engine and the rewards, the rest of a plan is the decision. And no
policy that decides exactly can do with fewer plans than it changes its arm.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from engine import play_many
from numba import njit
from peers import MEANS
from policies import TRUTH, grid_of_figure_1_left
from rows import Row, interleaved, write

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)
from structured_bandits.lookahead import base as lookahead
from structured_bandits.lookahead.streaks import Streak
from structured_bandits.policies.playing import choose, update
from structured_bandits.simulation import compiled, engine  # noqa: F401  registers what is compiled

TOPIC = "bounds"
ROUNDS = 200  # times a recorded run is replayed


class Recorder(NamedTuple):
    """A policy whose streaks are kept."""

    policy: Any
    streaks: list[Streak]

    def init(self) -> Any:
        """Return a fresh state."""
        return self.policy.init()

    def choose(self, state: Any, now: sb.Now, rng: Any) -> sb.Choice:
        """Return what the policy pulls next."""
        return choose(self.policy, state, now, rng)

    def update(self, state: Any, outcome: sb.Outcome) -> None:
        """Tell the policy."""
        update(self.policy, state, outcome)


def recorded_stretch(
    recorder: Recorder, state: Any, choice: Any, now: sb.Now, rng: Any, work: Any
) -> Streak:
    """Let the policy's lookahead say for how long, and keep it."""
    streak: Streak = lookahead.stretch(recorder.policy, state, choice, now, rng, work)
    recorder.streaks.append(streak)
    return streak


class Place(NamedTuple):
    """Where a replay stands."""

    number: Any


class Replay(NamedTuple):
    """Plays recorded streaks, over and over."""

    streaks: Any  # streaks x fields that are whole numbers
    credits: Any  # streaks x (spare, earned)

    def init(self) -> Place:
        """Return the first place."""
        return Place(np.zeros(1, np.int64))

    def choose(self, state: Place, now: sb.Now, rng: Any) -> sb.Choice:
        """Return the arm of the next recorded streak."""
        return sb.Choice(self.streaks[state.number[0], 0], 0)

    def update(self, state: Place, outcome: sb.Outcome) -> None:
        """Go on to the next."""
        state.number[0] = (state.number[0] + 1) % len(self.streaks)


def replayed_stretch(
    replay: Replay, state: Place, choice: Any, now: sb.Now, rng: Any, work: Any
) -> Streak:
    """Return the next recorded streak."""
    row = replay.streaks[state.number[0]]
    spare, earned = replay.credits[state.number[0]]
    return Streak(row[0], row[1], row[2], row[3], row[4], -math.inf, row[5], spare, earned)


lookahead.register(
    Recorder,
    lookahead.Lookahead(
        quick_choose=lambda recorder, *asked: lookahead.quick_choose(recorder.policy, *asked),
        stretch=recorded_stretch,
        note=lambda recorder, *told: lookahead.note(recorder.policy, *told),
        memory=lambda recorder, tables: lookahead.memory(recorder.policy, tables),
        prepare=lambda recorder: lookahead.tables_of(recorder.policy),
    ),
)
lookahead.register(Replay, lookahead.Lookahead(stretch=replayed_stretch))
play_replay = njit(_nrt=False)(engine.play_choices)


def record(policy: Any, world: Any, horizon: int) -> tuple[Replay, int]:
    """Return what plays the streaks of a run again, and how often it changes its arm."""
    recorder = Recorder(policy, [])
    notes = fresh_record(world, horizon)
    rng = np.random.default_rng(1)
    game = engine.game_of(recorder, world, horizon, True, rng, np.zeros(1, np.int64))
    engine.run(recorder, game, notes)
    streaks = np.array([(*each[:5], each.gains) for each in recorder.streaks])
    credits = np.array([(each.spare, each.earned) for each in recorder.streaks])
    return Replay(streaks, credits), int((np.diff(streaks[:, 0]) != 0).sum())


def fresh_record(world: Any, horizon: int) -> engine.RunRecord:
    """Return the tables of a run."""
    pulls = np.zeros(len(world.means), np.int64)
    sums = np.zeros(len(world.means))
    return engine.RunRecord(np.array([horizon]), np.zeros(1), pulls, sums, np.zeros(0, np.int64))


def profile(name: str, policy: Any, world: Any, horizon: int, runs: int) -> list[Row]:
    """Return what a plan of the policy takes, and what of it is not the decision."""
    replay, changes = record(policy, world, horizon)
    rng = np.random.default_rng(2)
    most = ROUNDS * horizon

    def again() -> int:
        notes, table = fresh_record(world, most), engine.fresh_table(world.means, lookahead.NO_WORK)
        game = engine.game_of(replay, world, most, True, rng, np.zeros(1, np.int64))
        return int(play_replay(replay, replay.init(), game, notes, table)[0])

    times = interleaved(
        {"plans": lambda: play_many(policy, horizon, runs, rng, world), "replay": again}, 5
    )
    replayed = times["replay"] / again()
    plans = play_many(policy, horizon, runs, rng, world)
    each = times["plans"] / runs / plans
    return [
        Row(TOPIC, f"{name}: a plan", "", 1e9 * each, "ns", f"{plans:,.0f} plans a run"),
        Row(
            TOPIC,
            f"{name}: the part of it for engine and rewards",
            "",
            1e9 * replayed,
            "ns",
            f"the decision takes {1e9 * (each - replayed):,.0f} ns",
        ),
        Row(
            TOPIC,
            f"{name}: changes of arm in a recorded run",
            "",
            changes,
            "changes",
            f"of {len(replay.streaks):,} plans; every change needs one",
        ),
    ]


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    right = figure1_right()
    drawn, truth = random_structure(np.random.default_rng(0))
    grid = grid_of_figure_1_left()
    works = (
        ("UCB1, 10^4 pulls", sb.UCB(len(MEANS)), MEANS, 10**4, 200),
        ("SUCB, Figure 1 right", sb.SUCB.paper(right), right.means(0), 500_000, 200),
        (
            "SUCB, a random structure of 150 × 50",
            sb.SUCB.paper(drawn),
            drawn.means(truth),
            200_000,
            20,
        ),
        ("SUCB, grid", sb.SUCB.paper(grid), figure1_left().means(TRUTH), 10**6, 50),
    )
    rows = [
        row
        for name, policy, means, horizon, runs in works
        for row in profile(name, policy, sb.Bernoulli(means), horizon, runs)
    ]
    write(TOPIC, rows)


if __name__ == "__main__":
    main()
