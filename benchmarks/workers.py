"""Two workers against one: the runs of Figure 2d, each on a structure of its own (`make bench`).

As `structured-bandits reproduce` plays them, policy by policy, files included; compiled before.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

from rows import Row, interleaved, write

import structured_bandits as sb
from structured_bandits.experiments.paper.catalogue import experiments
from structured_bandits.experiments.paper.structures import draw_random
from structured_bandits.experiments.saved_runs import RunOptions, run_policy
from structured_bandits.simulation.blocks import draw_rng
from structured_bandits.simulation.compatibility import check_together
from structured_bandits.simulation.workers import core_count

TOPIC = "workers"
RUNS = 100
REPETITIONS = 5


def play(workers: int) -> None:
    """Play all policies of the experiment into a fresh folder."""
    (experiment,) = experiments(("fig2d",), "equal-widths")
    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(Path(folder), runs=RUNS, workers=workers)
        for name in experiment.specs:
            run_policy(experiment, name, options)


def draw() -> None:
    """Draw the structures of all runs and build their policies, as Python does while it plays."""
    (experiment,) = experiments(("fig2d",), "equal-widths")
    for name in experiment.specs:
        for run in range(RUNS):
            problem = draw_random(draw_rng(0, run))
            check_together(
                name, experiment.policy(name, problem), problem.world, experiment.horizon
            )


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    times = interleaved({"one": lambda: play(1), "two": lambda: play(2), "draw": draw}, REPETITIONS)
    one, two, drawing = (times[name] for name in ("one", "two", "draw"))
    note = f"{one:.2f} s and {two:.2f} s, {core_count()} cores"
    best = one / (drawing + (one - drawing) / 2.0)
    bound = f"it holds Python's lock: with it two workers can at best be {best:.2f} times as fast"
    write(
        TOPIC,
        [
            Row(
                TOPIC,
                f"two workers against one, Figure 2d, {RUNS} runs",
                ">= 1.7",
                one / two,
                "times",
                note,
            ),
            Row(
                TOPIC, "of one worker's time, drawing structures", "", drawing / one, "of it", bound
            ),
        ],
    )


if __name__ == "__main__":
    main()
