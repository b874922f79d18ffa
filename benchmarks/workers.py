"""Two workers against one: the runs of Figure 2d, each on a structure of its own (`make bench`).

As `structured-bandits reproduce` plays them, policy by policy, files included; compiled before.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from rows import Row, interleaved, write

from structured_bandits.experiments.paper.catalogue import experiments
from structured_bandits.experiments.runner import Plan, run_policy
from structured_bandits.simulation.workers import core_count

TOPIC = "workers"
RUNS = 100
REPETITIONS = 5


def play(workers: int) -> None:
    """Play all policies of the experiment into a fresh folder."""
    (experiment,) = experiments(("fig2d",), "equal-widths")
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(Path(folder), runs=RUNS, workers=workers)
        for name in experiment.specs:
            run_policy(experiment, name, plan)


def main() -> None:
    times = interleaved({"one": lambda: play(1), "two": lambda: play(2)}, REPETITIONS)
    note = f"{times['one']:.2f} s and {times['two']:.2f} s, {core_count()} cores"
    work = f"two workers against one, Figure 2d, {RUNS} runs"
    write(TOPIC, [Row(TOPIC, work, ">= 1.7", times["one"] / times["two"], "times", note)])


if __name__ == "__main__":
    main()
