"""The numbers called "measured" in errata.md, from the library (about two minutes).

python docs/errata_numbers.py
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right

RIGHT, LEFT, PLAIN = figure1_right(), figure1_left(), figure1_left(informative=False)


def mean(structure: Any, parameter: float, policy: Any, horizon: int, runs: int) -> str:
    world = sb.Bernoulli(structure.means(parameter))
    result = sb.simulate({"P": policy}, world, horizon, runs=runs, checkpoints=1)
    row = result.summary().loc["P"]
    return f"{row['mean']:.1f} ({row['low']:.1f} to {row['high']:.1f})"


def counters() -> None:
    print("I-4: ASAE on L, n = 10,000, eta = 0.1, 1,000 runs: regret with period / total counters")
    regret: dict[tuple[float, str, str, str], float] = {}
    for x, clock, counter, end in product(
        (0.0, 0.5), ("length", "time"), ("period", "total"), ("truncate", "finish_phase")
    ):
        policy = sb.ASAE.paper(LEFT, eta=0.1, reading=sb.Reading("recompute", clock, counter, end))  # type: ignore[arg-type]
        world = sb.Bernoulli(LEFT.means(0.33 * x))
        result = sb.simulate({"P": policy}, world, 10_000, runs=1000, checkpoints=1)
        regret[x, clock, counter, end] = float(result.regret["P"].mean())
    for x, clock, end in product((0.0, 0.5), ("length", "time"), ("truncate", "finish_phase")):
        one, other = (regret[x, clock, counter, end] for counter in ("period", "total"))
        print(f"  x = {x}, {clock}, {end}: {one:.1f} / {other:.1f}, ratio {other / one:.2f}")
    for x, clock in product((0.0, 0.5), ("length", "time")):
        four = [
            regret[x, clock, c, e]
            for c in ("period", "total")
            for e in ("truncate", "finish_phase")
        ]
        print(f"  x = {x}, {clock}: largest / smallest of the four {max(four) / min(four):.2f}")


def right() -> None:
    print("I-6, I-12, I-27, I-32: Figure 1 right, n = 500,000, 1,000 runs")
    policies = {"SAE": sb.SAE.paper(RIGHT, 500_000)}
    policies |= {f"SUCB, c = {c}": sb.SUCB.paper(RIGHT, alpha=c) for c in (1, 2, 4)}
    world = sb.Bernoulli(RIGHT.means(0))
    result = sb.simulate(policies, world, 500_000, runs=1000, checkpoints=1)
    for name in policies:
        pulls = result.pulls[name]
        print(
            f"  {name}: regret {result.regret[name].mean():.1f}, pulls of arms 2 to 4 "
            f"{np.round(pulls.mean(axis=0)[1:], 1)}, arm 4 pulled in "
            f"{100 * (pulls[:, 3] > 0).mean():.1f} % of the runs"
        )


def widths() -> None:
    print("I-12: L' at x = 0, n = 10,000, 1,000 runs: regret")
    print("  SAE", mean(PLAIN, 0.0, sb.SAE.paper(PLAIN, 10_000), 10_000, 1000))
    for c in (2, 4):
        print(f"  UCB, c = {c}", mean(PLAIN, 0.0, sb.UCB(PLAIN, alpha=c), 10_000, 1000))


def positions() -> None:
    print("I-13: SAE on L, n = 10,000, 1,000 runs: regret")
    for x in (0.0, 0.5, 0.9):
        print(f"  x = {x}:", mean(LEFT, 0.33 * x, sb.SAE.paper(LEFT, 10_000), 10_000, 1000))


if __name__ == "__main__":
    counters()
    right()
    widths()
    positions()
