"""ISAE beside ModelTS and IDS on six families of tables: `python benchmarks/isae.py [part…]`.

Each family has fresh tables; the first twelve truths of each are played in turn, 10,000 pulls a run. The
parts (all if none is named):

- `regret`: mean regret, its standard error over tables, the 99 % quantile and the largest of all runs;
- `late`: the same where each reward comes 50 pulls late;
- `tails`: of 2,000 runs of ISAE a family, how many lose over 20 and over 60 times the family's mean;
- `speed`: decision by decision, and a long run beside a loop in Numba.

Options: `--tables N` (24), `--seed N` (2026), `--runs N` of each truth (2).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import field_loops
import numpy as np
from families import FAMILIES, Draw

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right

PULLS = 10_000
TRUTHS = 12
LATE = 50
POLICIES: dict[str, Callable[[Any], Any]] = {
    "ISAE": sb.ISAE,
    "ISAE, drawn": lambda structure: sb.ISAE(structure, leader="drawn"),
    "ISAE, threshold": lambda structure: sb.ISAE(structure, rule="threshold"),
    "ModelTS": sb.ModelTS,
    "IDS": sb.IDS,
}


class Regrets(NamedTuple):
    """The regret of each run, in rows of one table each."""

    tables: list[Any]

    def text(self) -> str:
        """Return mean, standard error over tables, 99 % quantile and maximum."""
        means = np.array([table.mean() for table in self.tables])
        runs = np.concatenate(self.tables)
        error = means.std(ddof=1) / math.sqrt(len(means))
        return f"{means.mean():.1f}±{error:.1f} / {np.quantile(runs, 0.99):.0f} / {runs.max():.0f}"


def worlds(draw: Draw, tables: int, seed: int) -> list[tuple[Any, list[Any]]]:
    """Return structures, each with the means of its truths."""
    drawn = [draw(np.random.default_rng([seed, index])) for index in range(tables)]
    return [(sb.FiniteStructure(table), list(table[:TRUTHS])) for table in drawn]


def regrets(
    make: Callable[[Any], Any], cases: list[Any], runs: int, late: int | None = None
) -> Regrets:
    """Play a policy on all truths of all tables."""
    found = []
    for structure, truths in cases:
        policy, several = make(structure), []
        for number, means in enumerate(truths):
            world: Any = sb.Bernoulli(means)
            world = world if late is None else sb.Delayed(world, late)
            result = sb.simulate(
                policy, world, PULLS, runs, seed=number, engine="compiled", progress=False
            )
            several.append(next(iter(result.regret.values()))[:, -1])
        found.append(np.concatenate(several))
    return Regrets(found)


def print_regrets(options: Any, late: int | None = None) -> None:
    """Print a table of families by policies."""
    print(f"{options.tables} tables a family, {PULLS} pulls, rewards {late or 0} late")
    print("mean±error / 99 % / max".ljust(18), *(name.ljust(22) for name in POLICIES))
    for family, draw in FAMILIES.items():
        cases = worlds(draw, options.tables, options.seed)
        texts = [regrets(make, cases, options.runs, late).text() for make in POLICIES.values()]
        print(family.ljust(24), *(text.ljust(22) for text in texts), flush=True)


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


def timed(play: Callable[[], Any], repeats: int = 5) -> float:
    """Return the seconds of the fastest of some calls, after one that compiles."""
    play()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        play()
        times.append(time.perf_counter() - start)
    return min(times)


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
    parser = argparse.ArgumentParser(description="ISAE beside ModelTS and IDS")
    parser.add_argument("parts", nargs="*", default=["regret", "late", "tails", "speed"])
    parser.add_argument("--tables", type=int, default=24)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--runs", type=int, default=2)
    options = parser.parse_args()
    if "regret" in options.parts:
        print_regrets(options)
    if "late" in options.parts:
        print_regrets(options, LATE)
    if "tails" in options.parts:
        print_tails(options)
    if "speed" in options.parts:
        print_speed(options)


if __name__ == "__main__":
    main()
