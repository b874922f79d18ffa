"""How long the paper's experiments take, and how much longer pull by pull (`make bench`).

The same policies, structures, horizons and runs, preset equal-widths, one core: once with plans, as
`make reproduce` does, and once with hand-written Numba loops that decide and draw one pull at a time
(pull_by_pull.py), a tenth of the runs and the time multiplied. WAGP and GreedyMLE decide every pull in
both and are left out.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from fresh_package import fresh_package
from oracles import pull_by_pull
from rows import Row, write

import structured_bandits as sb
from structured_bandits.experiments.paper.reproduce import experiments
from structured_bandits.experiments.paper.structures import draw_random
from structured_bandits.experiments.saved_runs import RunOptions, run_policy
from structured_bandits.experiments.settings import Experiment
from structured_bandits.experiments.worlds import Problem

TOPIC = "reproduce"
SHARE = 10  # one run in so many is played pull by pull


def loop(problem: Problem, spec: dict[str, Any], horizon: int) -> Callable[[Any], Any]:
    """Return the hand-written loop that plays a policy on a problem."""
    means, kind, alpha = problem.world.means, spec["kind"], spec["alpha"]
    if kind == "UCB":
        return lambda rng: pull_by_pull.ucb(means, horizon, alpha, rng)
    cells = problem.structure.cells
    finite = problem.structure.kind == "finite"
    tables = (cells.table,) if finite else (cells.at_start, cells.at_end)
    name = f"{kind.lower()}_{'finite' if finite else 'curves'}"
    extra = {"SUCB": (), "SAE": (spec.get("beta"),), "ASAE": (spec.get("beta"), spec.get("eta"))}
    play = getattr(pull_by_pull, name)
    return lambda rng: play(*tables, means, horizon, alpha, *extra[kind], rng)


def by_hand(experiment: Experiment, name: str) -> float:
    """Return the seconds that all runs would take pull by pull."""
    spec = experiment.specs[name]
    runs = experiment.runs // SHARE

    def play(run: int) -> None:
        problem = experiment.fixed or draw_random(np.random.default_rng([run, 7]))
        loop(problem, spec, experiment.horizon)(np.random.default_rng(run))

    play(0)  # compiles
    begin = time.perf_counter()
    for run in range(runs):
        play(run)
    return (time.perf_counter() - begin) * SHARE


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    chosen = [
        e for e in experiments((), "equal-widths") if e.figure == "regret" and "WAGP" not in e.specs
    ]
    planned = looped = 0.0
    parts: dict[str, tuple[float, float]] = {}
    print(
        f"{'':12} {'policy':8} {'planned':>9} {'by hand':>9}   (seconds for {chosen[0].runs} runs)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for experiment in chosen:
            for name in experiment.specs:
                run_policy(
                    experiment, name, RunOptions(Path(folder), runs=2, workers=1)
                )  # compiles
                begin = time.perf_counter()
                run_policy(experiment, name, RunOptions(Path(folder), workers=1))
                ours, theirs = time.perf_counter() - begin, by_hand(experiment, name)
                planned, looped = planned + ours, looped + theirs
                parts[f"{experiment.id} {name}"] = (ours, theirs)
                print(
                    f"{experiment.id:12} {name:8} {ours:9.2f} {theirs:9.2f}   {theirs / ours:8.1f}"
                )
    print(
        f"{'all':12} {'':8} {planned:9.2f} {looped:9.2f}   {looped / planned:8.1f}  (aim: at least 20)"
    )
    note = f"{planned:.2f} s planned, {looped:.1f} s by hand, one core; most of it "
    longest = sorted(parts, key=lambda part: -parts[part][0])[:3]
    note += ", ".join(
        f"{part} ({parts[part][0]:.2f} s, {parts[part][1] / parts[part][0]:.1f} times)"
        for part in longest
    )
    work = f"all regret experiments with plans against hand-written loops, {chosen[0].runs} runs"
    write(TOPIC, [Row(TOPIC, work, ">= 20", looped / planned, "times", note), *whole()])


def whole() -> list[Row]:
    """Time the command on a copy of the package, whose cache of compiled code is empty at first."""
    rows = []
    with fresh_package() as (folder, environment):
        for place, words in (("a", "compiling everything"), ("b", "from the cache")):
            command = [sys.executable, "-m", "structured_bandits", "reproduce"]
            begin = time.perf_counter()
            subprocess.run(
                [*command, "--out", f"{folder}/{place}"],
                env=environment,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            taken = time.perf_counter() - begin
            work = f"structured-bandits reproduce, both presets, {words}"
            rows.append(Row(TOPIC, work, "<= 60", taken, "s"))
    return rows


if __name__ == "__main__":
    main()
