"""Playing a policy of the library on a tape, by either engine, with nothing around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb
from structured_bandits.simulation import engine
from structured_bandits.simulation.generator import RunStarts, state_memory


class Played(NamedTuple):
    arms: list[int]
    plans: int
    empty: int


@dataclass
class Spy:
    """Passes everything on to a policy and notes what its plans were like."""

    policy: Any
    longest: int = 0  # pulls of the longest plan
    cut: bool = False  # did the horizon end the last plan?

    def init(self) -> Any:
        return self.policy.init()

    def plan(self, state: Any, now: sb.Now, quota: Any, rng: Any) -> int:
        empty: int = self.policy.plan(state, now, quota, rng)
        self.longest = max(self.longest, int(quota.sum()))
        self.cut = quota.sum() > now.limit or quota.sum() == now.limit > 1
        return empty

    def observe(self, state: Any, seen: sb.Seen) -> None:
        self.policy.observe(state, seen)


def play(
    policy: Any, rewards: Any, horizon: int, compiled: bool, planning: bool, seed: int = 0
) -> Played:
    world = sb.Tape(rewards)
    arms = np.zeros(horizon, np.int64)
    pulls = np.zeros(len(rewards), np.int64)
    record = engine.RunRecord(np.array([horizon]), np.zeros(1), pulls, arms)
    rng = np.random.Generator(np.random.PCG64(seed))
    stop = np.zeros(1, np.int64)
    run: Any = compiled_run if compiled else engine.run
    plans, empty = run(policy, engine.Game(world, horizon, planning, rng, stop), record)
    return Played(arms.tolist(), int(plans), int(empty))


def compiled_run(policy: Any, game: engine.Game, record: Any) -> tuple[int, int]:
    """One run on the compiled engine, from where the generator stands."""
    from structured_bandits.simulation.compiled import library_runs

    memory = state_memory(game.rng)
    counts = np.zeros((2, 1), np.int64)
    runs = engine.Runs(record.checkpoints, *(part[None, :] for part in record[1:]), *counts)
    library_runs(policy, game, RunStarts(memory, memory.words.copy()[None, :]), runs)
    return int(counts[0, 0]), int(counts[1, 0])
