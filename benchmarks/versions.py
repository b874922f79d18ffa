"""Two versions of the library side by side, to see whether a change cost speed (`make versions OLD=…`).

Each version plays in a process of its own, only by what both understand: the public API. The rows are
played in turn, old and new, five times; what counts is the median of the ratios of neighbours, because
timings on a shared machine move by a third.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPETITIONS = 5
HERE = Path(__file__).parent
PAPER = {"alpha": 2.0, "confidence": "hoeffding"}  # the other checkout may have other defaults
FIRST = """
import structured_bandits as sb
s = sb.FiniteStructure([[0.8, 0.7], [0.6, 0.9]])
sb.simulate(sb.SAE(s, 1000, alpha=2.0, confidence="hoeffding"), sb.Bernoulli([0.8, 0.7]), 1000, runs=1)
"""


def rows() -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name; each takes a good part of a second."""
    import numpy as np

    import structured_bandits as sb
    from structured_bandits.experiments.paper.structures import (
        figure1_left,
        figure1_right,
        random_structure,
    )

    warnings.simplefilter("ignore")
    right, left = figure1_right(), figure1_left()
    drawn, truth = random_structure(np.random.default_rng(0))
    grid = sb.FiniteStructure([left.means(x) for x in np.linspace(0.0, 0.999, 300)])
    peaks = sb.unimodal(20)
    features = np.random.default_rng(1).random((20, 5))
    linear = sb.linear(features, bounds=(0.0, 0.4))
    ten = sb.Bernoulli(np.linspace(0.1, 0.9, 10))
    table = np.random.default_rng(2).random((20_000, 50))
    types = sb.FiniteStructure(table)

    def play(policy: Any, world: Any, horizon: int, runs: int) -> Callable[[], Any]:
        options: dict[str, Any] = {"runs": runs, "workers": 1, "checkpoints": 1}
        return lambda: sb.simulate({"P": policy}, world, horizon, **options)

    def live(policy: Any, means: Any, rewards: int) -> Callable[[], Any]:
        def ask_and_tell() -> None:
            rng = np.random.default_rng(3)
            agent = sb.Agent(policy)
            for number in rng.random(rewards):
                decision = agent.ask()
                agent.tell(decision.id, float(number < means[decision.arm]))

        return ask_and_tell

    def fresh_linear() -> None:  # afresh, since 0.1 carried what a run found over to the next
        for _ in range(10):
            policy = sb.SAE(sb.linear(features, bounds=(0.0, 0.4)), 10**5, **PAPER)
            play(policy, sb.Bernoulli(of_linear), 10**5, 1)()

    of_right, of_drawn = sb.Bernoulli(right.means(0)), drawn.means(truth).clip(0, 1)
    of_left, of_grid = sb.Bernoulli(left.means(0.3)), sb.Bernoulli(grid.means(90))
    of_peaks = np.interp(np.arange(20), [0, 12, 19], [0.1, 0.8, 0.3])
    of_linear = features @ np.full(5, 0.2)
    return {
        "UCB 10 arms, 10^4 pulls": play(sb.UCB(10), ten, 10_000, 1500),
        "UCB 10 arms, 10^6 pulls": play(sb.UCB(10), ten, 1_000_000, 50),
        "UCB 10 arms, 10^8 pulls": play(sb.UCB(10), ten, 100_000_000, 3),
        "SUCB Figure 1 right": play(sb.SUCB(right, **PAPER), of_right, 500_000, 1500),
        "SUCB 150 x 50": play(sb.SUCB(drawn, **PAPER), sb.Bernoulli(of_drawn), 50_000, 60),
        "SUCB grid of 300": play(sb.SUCB(grid, **PAPER), of_grid, 500_000, 300),
        "SUCB curves": play(sb.SUCB(left, **PAPER), of_left, 500_000, 1200),
        "SAE Figure 1 right": play(sb.SAE(right, 500_000, **PAPER), of_right, 500_000, 20_000),
        "ASAE Figure 1 right": play(sb.ASAE(right, **PAPER), of_right, 500_000, 5000),
        "SAE 150 x 50": play(sb.SAE(drawn, 50_000, **PAPER), sb.Bernoulli(of_drawn), 50_000, 1500),
        "ImprovedUCB": play(sb.ImprovedUCB(10, 10**6), ten, 10**6, 20_000),
        "WAGP": play(sb.WAGP(left), of_left, 20_000, 60),
        "GreedyMLE": play(sb.GreedyMLE(right), of_right, 50_000, 100),
        "SUCB unimodal": play(sb.SUCB(peaks, **PAPER), sb.Bernoulli(of_peaks), 5_000, 8),
        "SAE unimodal": play(sb.SAE(peaks, 10**6, **PAPER), sb.Bernoulli(of_peaks), 10**6, 600),
        "SUCB linear, programs": play(sb.SUCB(linear, **PAPER), sb.Bernoulli(of_linear), 2_000, 1),
        "SAE linear, fresh structures": fresh_linear,
        "Gaussian SAE": play(
            sb.SAE(right, 500_000, reward_range=None, sigma=0.5, **PAPER),
            sb.Gaussian(right.means(0), 0.5),
            500_000,
            20_000,
        ),
        "live SAE 150 x 50": live(sb.SAE(drawn, 10_000, **PAPER), of_drawn, 10_000),
        "live UCB 50 arms": live(sb.UCB(50), of_drawn, 5_000),
        "live SUCB 150 x 50": live(sb.SUCB(drawn, **PAPER), of_drawn, 2_000),
        "analysis 20,000 x 50": lambda: sb.analyse(types, 0).elimination(10**6),
        "first result from the cache": lambda: subprocess.run(
            [sys.executable, "-c", FIRST], check=True
        ),
    }


def contestant() -> None:
    """Time one row for each line that comes in."""
    work = rows()
    print(json.dumps(list(work)), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        work[line.strip()]()
        print(time.perf_counter() - begin, flush=True)


def start(source: Path) -> subprocess.Popen[str]:
    """Start a version of the library as a contestant."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "contestant"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


def ask(process: subprocess.Popen[str], row: str) -> float:
    assert process.stdin is not None
    process.stdin.write(f"{row}\n")
    process.stdin.flush()
    return float(listen(process))


def listen(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def main(old: Path) -> None:
    versions = {"old": start(old), "new": start(HERE.parent / "src")}
    names, _ = (listen(process) for process in versions.values())
    for row in names:  # compile
        for process in versions.values():
            ask(process, row)
    ratios: dict[str, list[float]] = {row: [] for row in names}
    for repetition in range(REPETITIONS):
        for row in names:
            order = ("old", "new") if repetition % 2 else ("new", "old")
            times = {name: ask(versions[name], row) for name in order}
            ratios[row].append(times["old"] / times["new"])
    print(
        f"speed of {HERE.parent / 'src'} over that of {old}: median of {REPETITIONS}, least, most"
    )
    for row, found in ratios.items():
        print(f"{row:30} {statistics.median(found):6.2f} {min(found):6.2f} {max(found):6.2f}")
    medians = [statistics.median(found) for found in ratios.values()]
    mean = math.exp(statistics.fmean(map(math.log, medians)))
    print(f"geometric mean {mean:.3f}, least {min(medians):.2f}")


if __name__ == "__main__":
    contestant() if sys.argv[1] == "contestant" else main(Path(sys.argv[1]))
