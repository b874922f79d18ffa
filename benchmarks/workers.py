"""Two workers against one: the runs of Figure 2d, each on a structure of its own (`make bench`).

As `structured-bandits reproduce` plays them, policy by policy, files included; compiled before. Every
repetition has a seed of its own, so that all structures are drawn on the clock. Beside it, in seconds of
the processor, which others on the machine disturb less: what two workers take in sum over what one
takes, and the part of one worker's time that is not spent in compiled code. A worker may have to wait
for Python's lock then. If it were held for all of that part p, and workers came to it at random, two of
them would be 2 / (1 + p^2) times as fast as one, since each would find the other one there with
probability p. Arithmetic on whole arrays lets go of the lock, so they wait less.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from itertools import count
from pathlib import Path
from typing import Any

from rows import Row, interleaved, seconds, write

import structured_bandits as sb
from structured_bandits.experiments.paper.reproduce import experiments
from structured_bandits.experiments.saved_runs import RunOptions, run_policy
from structured_bandits.simulation import compiled
from structured_bandits.simulation.workers import core_count

TOPIC = "workers"
RUNS = 100
REPETITIONS = 9
SEEDS = count()


def play(workers: int) -> None:
    """Play all policies of the experiment into a fresh folder."""
    (experiment,) = experiments(("fig2d",), "equal-widths")
    seed = next(SEEDS)
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(Path(folder), runs=RUNS, workers=workers, seed=seed)
        for name in experiment.specs:
            run_policy(experiment, name, options)


def outside() -> float:
    """Return which part of one worker's time is not spent in compiled code."""
    runs, inside = compiled.library_runs, []

    def timed(*arguments: Any) -> None:
        inside.append(seconds(lambda: runs(*arguments), time.thread_time))

    compiled.library_runs = timed
    try:
        whole = seconds(lambda: play(1), time.process_time)
    finally:
        compiled.library_runs = runs
    return 1.0 - sum(inside) / whole


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    times = interleaved({"one": lambda: play(1), "two": lambda: play(2)}, REPETITIONS)
    one, two = times["one"], times["two"]
    sums = interleaved(
        {"one": lambda: play(1), "two": lambda: play(2)}, REPETITIONS, True, time.process_time
    )
    part = min(outside() for _ in range(REPETITIONS))
    expected = 2.0 / (1.0 + part * part)
    waiting = f"if Python's lock were held for all of it: two workers {expected:.2f} times as fast"
    work = f"two workers against one, Figure 2d, {RUNS} runs"
    note = f"{one:.2f} s and {two:.2f} s, {core_count()} cores"
    write(
        TOPIC,
        [
            Row(TOPIC, work, ">= 1.8", one / two, "times", note),
            Row(
                TOPIC, "processor seconds of two, over those of one", "", sums["two"] / sums["one"]
            ),
            Row(TOPIC, "of one worker's time, outside compiled code", "", part, "of it", waiting),
        ],
    )


if __name__ == "__main__":
    main()
