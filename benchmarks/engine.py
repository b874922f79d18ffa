"""Speed of the engine, and what surrounds it (`make bench`).

- `sb.simulate` on one worker beside many runs in one compiled call: what seeding, e-values, tables and
  the result cost, in seconds of the processor.
- The time from starting Python to the first result, with an empty cache and with a full one.

`play_many`, many runs in one compiled call, is what the other benchmarks time.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from fresh_package import fresh_package
from rows import Row, interleaved, seconds, write

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.simulation.compiled import library_runs
from structured_bandits.simulation.engine import game_of
from structured_bandits.simulation.generator import RunStarts, state_memory
from structured_bandits.simulation.run_spec import Runs

TOPIC = "engine"
HORIZON = 500_000
REPETITIONS = 15
STRUCTURE = figure1_right()
WORLD = sb.Bernoulli(STRUCTURE.means(0))


def play_many(
    policy: Any, horizon: int, count: int, rng: np.random.Generator, world: Any = WORLD
) -> float:
    """Play runs in one compiled call, starts of the generator included; return plans per run."""
    tables = Runs(
        np.array([horizon]),
        np.zeros((count, 1)),
        np.zeros((count, len(world.means)), np.int64),
        np.zeros((count, len(world.means))),
        np.zeros((count, 0), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros((count, 0), np.int64),
    )
    starts = RunStarts(state_memory(rng), rng.integers(0, 2**63, (count, 4), dtype=np.uint64) | 1)
    game = game_of(policy, world, horizon, True, rng, np.zeros(1, np.int64))
    library_runs(policy, game, starts, tables)
    return float(tables.plans.mean())


def overhead() -> list[Row]:
    """Time `sb.simulate` beside the engine alone; the shortest runs have an aim."""
    rng = np.random.default_rng(1)
    sae = sb.SAE.paper(STRUCTURE, HORIZON)
    rows = []
    for name, policy, runs, aim in (
        ("SAE", sae, 2000, "<= 2"),
        ("SAE", sae, 20_000, "<= 2"),
        ("SUCB", sb.SUCB.paper(STRUCTURE), 500, ""),
        ("UCB", sb.UCB(STRUCTURE), 20, ""),
    ):
        play = lambda p=policy, n=runs: play_many(p, HORIZON, n, rng)  # noqa: E731
        simulate = _simulation(name, policy, runs)
        contestants = {"engine": play, "simulate": simulate}
        times = interleaved(contestants, REPETITIONS, clock=time.process_time)
        engine, whole = (1e6 * times[key] / runs for key in ("engine", "simulate"))
        note = f"a run: engine {engine:,.1f} µs, simulate {whole:,.1f} µs"
        work = f"sb.simulate over the engine alone, {name}, {runs:,} runs of {HORIZON:,} pulls"
        rows.append(Row(TOPIC, work, aim, whole / engine, "times", note))
    return rows


def _simulation(name: str, policy: Any, runs: int) -> Callable[[], Any]:
    return lambda: sb.simulate({name: policy}, WORLD, HORIZON, runs=runs, workers=1, checkpoints=1)


FIRST_RESULT = """
import structured_bandits as sb
s = sb.FiniteStructure([[0.8, 0.7], [0.6, 0.9]])
sb.simulate(sb.SAE(s, 1000), sb.Bernoulli([0.8, 0.7]), 1000, runs=1)
"""


def starts() -> list[Row]:
    """Time whole processes on a copy of the package, whose cache is empty at first."""
    with fresh_package() as (_, environment):
        command = [sys.executable, "-c", FIRST_RESULT]
        play = lambda: subprocess.run(command, env=environment, check=True)  # noqa: E731
        cold = seconds(play)
        cached = statistics.median(seconds(play) for _ in range(5))
    return [
        Row(TOPIC, "from starting Python to the first result, compiling", "", cold, "s"),
        Row(TOPIC, "from starting Python to the first result, cached", "< 1.5", cached, "s"),
    ]


def main() -> None:
    write(TOPIC, [*overhead(), *starts()])


if __name__ == "__main__":
    main()
