"""Playing a policy of the library on a tape, by either engine, with nothing around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb
from structured_bandits.simulation import engine
from structured_bandits.simulation.generator import Seats, state_memory


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

    def plan(self, state: Any, t: int, limit: int, quota: Any, rng: Any) -> int:
        empty: int = self.policy.plan(state, t, limit, quota, rng)
        self.longest = max(self.longest, int(quota.sum()))
        self.cut = quota.sum() > limit or quota.sum() == limit > 1
        return empty

    def observe(self, state: Any, pulls: Any, sums: Any) -> None:
        self.policy.observe(state, pulls, sums)


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
    plans, empty = run(policy, world, horizon, planning, rng, record, stop)
    return Played(arms.tolist(), int(plans), int(empty))


def compiled_run(
    policy: Any, world: Any, horizon: int, planning: bool, rng: Any, record: Any, stop: Any
) -> tuple[int, int]:
    """One run on the compiled engine, from where the generator stands."""
    from structured_bandits.simulation.compiled import cached_runs

    memory = state_memory(rng)
    counts = np.zeros((2, 1), np.int64)
    runs = engine.Runs(record.checkpoints, *(part[None, :] for part in record[1:]), *counts)
    here = Seats(memory, memory.words.copy()[None, :])
    cached_runs(policy, world, horizon, planning, rng, here, runs, stop)
    return int(counts[0, 0]), int(counts[1, 0])
