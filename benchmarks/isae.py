"""ISAE beside ModelTS and IDS on six families of tables: `python benchmarks/isae.py [part…]`.

The parts (all if none is named) are `regret` (benchmarks/families.py), `late`, the same where rewards
come 50 pulls late, `tails`, how many of 2,000 runs of ISAE a family lose over 20 and over 60 times the
family's mean, and `speed`, decision by decision, and long runs beside a loop in Numba.

Options: `--tables N` (24), `--seed N` (2026), `--runs N` of each truth (2).
"""

from __future__ import annotations

import math
from typing import Any

import field_loops
import numpy as np
from families import FAMILIES, Make, options_of, print_regrets, regrets, timed, worlds

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right

LATE = 50
POLICIES: dict[str, Make] = {
    "ISAE": sb.ISAE,
    "ISAE, drawn": lambda structure: sb.ISAE(structure, leader="drawn"),
    "ISAE, threshold": lambda structure: sb.ISAE(structure, rule="threshold"),
    "ModelTS": sb.ModelTS,
    "IDS": sb.IDS,
}


def print_tails(options: Any) -> None:
    """Print how many of 2,000 runs lose many times the mean."""
    for family, draw in FAMILIES.items():
        cases = worlds(draw, options.tables, options.seed + 1)
        each = math.ceil(2_000 / sum(len(truths) for _, truths in cases))
        runs = np.concatenate(regrets(sb.ISAE, cases, each).tables)[:2_000]
        over = [(runs > times * runs.mean()).sum() for times in (20, 60)]
        high = np.quantile(runs, 0.99)
        print(
            f"{family:18}mean {runs.mean():5.1f}, 99 % {high:4.0f}, max {runs.max():5.0f}; "
            f"of {len(runs)} runs {over[0]} above 20 times the mean, {over[1]} above 60 times",
            flush=True,
        )


def print_speed(options: Any) -> None:
    """Print microseconds a decision beside IDS, and long runs beside the loop by hand."""
    for family, draw in FAMILIES.items():
        structure, truths = worlds(draw, 1, options.seed)[0]
        per: dict[str, float] = {}
        for name in ("ISAE", "IDS"):
            policy = POLICIES[name](structure)

            def play(policy: Any = policy, means: Any = truths[0]) -> Any:
                return sb.simulate(
                    policy,
                    sb.Bernoulli(means),
                    2_000,
                    10,
                    planning=False,
                    workers=1,
                    progress=False,
                )

            per[name] = timed(play) / 20_000 * 1e6
        ratio = per["IDS"] / per["ISAE"]
        print(f"{family:18}ISAE {per['ISAE']:6.2f} µs, IDS {per['IDS']:7.2f} µs: {ratio:.1f} times")
    shop = FAMILIES["rates 6×8"](np.random.default_rng(11))
    print_speed_beside_a_loop("Figure 1 right", figure1_right().cells.table, 500_000)
    print_speed_beside_a_loop("shop", shop, 10_000)


def print_speed_beside_a_loop(name: str, table: Any, pulls: int, runs: int = 20) -> None:
    """Print how many times faster long runs are than a loop in Numba."""
    structure = sb.FiniteStructure(table)
    policy, world = sb.ISAE(structure), sb.Bernoulli(structure.means(0))
    before, rng = field_loops.isae_arguments(structure.cells.table), np.random.default_rng(1)
    ours = timed(lambda: sb.simulate(policy, world, pulls, runs, workers=1, progress=False)) / runs
    theirs = timed(lambda: field_loops.isae(*before, world.means, pulls, rng), 3)
    print(
        f"{name}, {pulls:,} pulls: {ours * 1e3:.2f} ms a run, by hand {theirs * 1e3:.1f} ms: "
        f"{theirs / ours:.1f} times"
    )


def main() -> None:
    """Print the parts that are asked for."""
    options = options_of("ISAE beside ModelTS and IDS", ["regret", "late", "tails", "speed"])
    if "regret" in options.parts:
        print_regrets(POLICIES, options)
    if "late" in options.parts:
        print_regrets(POLICIES, options, LATE)
    if "tails" in options.parts:
        print_tails(options)
    if "speed" in options.parts:
        print_speed(options)


if __name__ == "__main__":
    main()
