"""Families of random tables on which policies are compared: each table is drawn afresh.

Rows are models, columns arms, entries the probabilities of a reward of 1. The first twelve truths of
each table are played in turn, 10,000 pulls a run. Printed are the mean regret, its standard error over
tables, the 99 % quantile and the largest of all runs.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb

PULLS = 10_000
TRUTHS = 12
Table = Any  # models x arms
Make = Callable[[Any], Any]  # a policy from a structure
Draw = Callable[[np.random.Generator], Table]


def rates_6x8(rng: np.random.Generator) -> Table:
    """A shop: six types of customers, eight offers."""
    return rng.uniform(0.01, 0.16, (6, 8))


def rates_40x12(rng: np.random.Generator) -> Table:
    """A larger shop."""
    return rng.uniform(0.01, 0.16, (40, 12))


def uniform_20x6(rng: np.random.Generator) -> Table:
    """Twenty models that differ much."""
    return rng.uniform(0.05, 0.95, (20, 6))


def decoys_13x8(rng: np.random.Generator) -> Table:
    """A row, and twelve in which another arm is best and one more is bad."""
    base = rng.uniform(0.1, 0.9, 8)
    rows = [base]
    for _ in range(12):
        row = base.copy()
        better, worse = rng.choice(8, 2, replace=False)
        row[better] = min(0.98, base.max() + 0.2 * rng.random() + 0.005)
        row[worse] = base[worse] * 0.3 + 0.02
        rows.append(row)
    return np.array(rows)


def near_twins_12x6(rng: np.random.Generator) -> Table:
    """Six pairs of rows, equal but for one arm, which crosses the best of the others by .02 to .05."""
    rows = []
    for _ in range(6):
        row = rng.uniform(0.2, 0.8, 6)
        best = row.argmax()
        other = (best + 1 + rng.integers(5)) % 6
        step = rng.uniform(0.02, 0.05)
        row[other] = row[best] - step * rng.uniform(0.3, 0.7)
        twin = row.copy()
        twin[other] += step
        rows += [row, twin]
    return np.array(rows)


def one_arm_9x10(rng: np.random.Generator) -> Table:
    """Arm 0 is best in row 0, arm j in row j; the last arm is bad and tells all rows apart."""
    low, high = rng.uniform(0.35, 0.48, 8), 0.5 + rng.uniform(0.01, 0.12, 8)
    base = np.concatenate([[0.5], low, [0.02]])
    rows = [base]
    for other in range(8):
        row = base.copy()
        row[1 + other] = high[other]
        row[-1] = 0.02 + rng.uniform(0.05, 0.33)
        rows.append(row)
    return np.array(rows)


FAMILIES: dict[str, Draw] = {
    "rates 6×8": rates_6x8,
    "rates 40×12": rates_40x12,
    "uniform 20×6": uniform_20x6,
    "decoys 13×8": decoys_13x8,
    "near-twins 12×6": near_twins_12x6,
    "one arm 9×10": one_arm_9x10,
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


def regrets(make: Make, cases: list[Any], runs: int, late: int | None = None) -> Regrets:
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


def print_regrets(policies: dict[str, Make], options: Any, late: int | None = None) -> None:
    """Print a table of families by policies."""
    print(f"{options.tables} tables a family, {PULLS} pulls, rewards {late or 0} late")
    print("mean±error / 99 % / max".ljust(18), *(name.ljust(22) for name in policies))
    for family, draw in FAMILIES.items():
        cases = worlds(draw, options.tables, options.seed)
        texts = [regrets(make, cases, options.runs, late).text() for make in policies.values()]
        print(family.ljust(24), *(text.ljust(22) for text in texts), flush=True)


def timed(play: Callable[[], Any], repeats: int = 5) -> float:
    """Return the seconds of the fastest of some calls, after one that compiles."""
    play()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        play()
        times.append(time.perf_counter() - start)
    return min(times)


def options_of(description: str, parts: list[str]) -> Any:
    """Return what the command line asks for: some of these parts, all if it names none."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("parts", nargs="*", default=parts)
    parser.add_argument("--tables", type=int, default=24)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--runs", type=int, default=2)
    return parser.parse_args()
