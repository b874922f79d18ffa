"""Speed of the engine on Figure 1 right, as ratios from one run (`make bench`).

- The library against hand-written Numba loops, one pull at a time (pull_by_pull.py), same policy, same
  500,000 pulls, interleaved repetitions, medians. "engine" is many runs in one compiled call, per run;
  "simulate" is `sb.simulate` on one worker, with seeding and bookkeeping, per run.
- SAE at 10^12 pulls against SAE at 10^4.
- The time from starting Python to the first result, with an empty cache and with a full one.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pull_by_pull
from fresh_package import fresh_package

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.simulation.compiled import cached_runs
from structured_bandits.simulation.engine import Runs
from structured_bandits.simulation.generator import Seats, state_memory

HORIZON = 500_000
REPETITIONS = 15
STRUCTURE = figure1_right()
MEANS = STRUCTURE.cells.table
TRUTH = STRUCTURE.means(0)
WORLD = sb.Bernoulli(TRUTH)

Contest = tuple[Any, Callable[[np.random.Generator], Any], int, str]
CONTESTS: dict[str, Contest] = {  # policy, loop, library runs per repetition, aim
    "SAE": (
        sb.SAE(STRUCTURE, HORIZON),
        lambda rng: pull_by_pull.sae_finite(MEANS, TRUTH, HORIZON, 2.0, 1.0, rng),
        200,
        "150",
    ),
    "SUCB": (
        sb.SUCB(STRUCTURE),
        lambda rng: pull_by_pull.sucb_finite(MEANS, TRUTH, HORIZON, 2.0, rng),
        20,
        "40",
    ),
    "UCB": (
        sb.UCB(STRUCTURE),
        lambda rng: pull_by_pull.ucb(TRUTH, HORIZON, 2.0, rng),
        2,
        "1",
    ),
    "ASAE": (
        sb.ASAE(STRUCTURE, eta=0.01),
        lambda rng: pull_by_pull.asae_finite(MEANS, TRUTH, HORIZON, 2.0, 1.0, 0.01, rng),
        20,
        "-",
    ),
}


def play_many(policy: Any, horizon: int, count: int, rng: np.random.Generator) -> float:
    """Play runs in one compiled call, starts of the generator included; return plans per run."""
    tables = Runs(
        np.array([horizon]),
        np.zeros((count, 1)),
        np.zeros((count, 4), np.int64),
        np.zeros((count, 0), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
    )
    here = Seats(state_memory(rng), rng.integers(0, 2**63, (count, 4), dtype=np.uint64) | 1)
    cached_runs(policy, WORLD, horizon, True, rng, here, tables, np.zeros(1, np.int64))
    return float(tables.plans.mean())


def seconds(work: Callable[[], Any], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        work()
    return (time.perf_counter() - begin) / times


def contest(name: str) -> None:
    policy, loop, times, aim = CONTESTS[name]
    rng = np.random.default_rng(1)
    plans = play_many(policy, HORIZON, 20, rng)
    loop(rng)
    sb.simulate({name: policy}, WORLD, HORIZON, runs=2, workers=1)
    hand, engine, whole = [], [], []
    for repetition in range(REPETITIONS):
        hand.append(seconds(lambda: loop(rng), 1))
        engine.append(seconds(lambda: play_many(policy, HORIZON, times, rng), 1) / times)
        runs = 2 * times
        whole.append(
            seconds(
                lambda runs=runs, seed=repetition: sb.simulate(  # type: ignore[misc]
                    {name: policy}, WORLD, HORIZON, runs=runs, seed=seed, workers=1, checkpoints=1
                ),
                1,
            )
            / runs
        )
    loop_time, run_time, simulate_time = map(statistics.median, (hand, engine, whole))
    print(
        f"{name:5} {1e6 * loop_time:12,.0f} {1e6 * run_time:10,.0f} {1e6 * simulate_time:10,.0f}"
        f" {plans:9,.0f} {loop_time / run_time:10.1f} {loop_time / simulate_time:10.1f} {aim:>8}"
    )


def long_runs() -> None:
    rng = np.random.default_rng(2)
    short, long = sb.SAE(STRUCTURE, 10**4), sb.SAE(STRUCTURE, 10**12)
    times: dict[int, list[float]] = {10**4: [], 10**12: []}
    call = []
    for _ in range(REPETITIONS):
        call.append(seconds(lambda: play_many(short, 0, 1, rng), 20))
        for policy in (short, long):
            horizon = policy.horizon
            times[horizon].append(
                seconds(lambda p=policy, n=horizon: play_many(p, n, 200, rng), 1) / 200  # type: ignore[misc]
            )
    small, large = (statistics.median(times[n]) for n in (10**4, 10**12))
    print(
        f"SAE: {1e6 * small:.1f} µs for 10^4 pulls, {1e6 * large:.1f} µs for 10^12: "
        f"ratio {large / small:.2f} (aim: at most 2);\n"
        f"a call that plays nothing takes {1e6 * statistics.median(call):.0f} µs, shared by 200 runs"
    )


FIRST_RESULT = """
import structured_bandits as sb
s = sb.FiniteStructure([[0.8, 0.7], [0.6, 0.9]])
sb.simulate(sb.SAE(s, 1000), sb.Bernoulli([0.8, 0.7]), 1000, runs=1)
"""


def starts() -> None:
    """Time whole processes on a copy of the package, whose cache is empty at first."""
    with fresh_package() as (_, environment):
        command = [sys.executable, "-c", FIRST_RESULT]
        play = lambda: subprocess.run(command, env=environment, check=True)  # noqa: E731
        cold = seconds(play, 1)
        cached = statistics.median(seconds(play, 1) for _ in range(5))
    print(
        f"from starting Python to the first result: {cold:.1f} s compiling, "
        f"{cached:.2f} s from the cache (aim: under 1.5)"
    )


def main() -> None:
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}, "
        f"{os.cpu_count()} cores; Figure 1 right, {HORIZON:,} pulls, medians of {REPETITIONS}\n"
    )
    print("           microseconds a run                            times faster than the loop")
    print(f"{'':5} {'loop':>12} {'engine':>10} {'simulate':>10} {'plans':>9}", end="")
    print(f" {'engine':>10} {'simulate':>10} {'aim >=':>8}")
    for name in CONTESTS:
        contest(name)
    print()
    long_runs()
    starts()


if __name__ == "__main__":
    main()
