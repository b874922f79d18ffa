"""What doubt in a table costs and saves: `python benchmarks/doubt.py [tables] [family…]`.

Random tables of three families, 10,000 pulls each; the truth is a row, or the table is wrong in one of
six ways. How much regret has ModelTS with several values of `trust`, and at trust 0.5 of `off`, in units
of that of blind Thompson sampling? Prints all cells and writes docs/guides/doubt.csv, from which `python
docs/measure_wrong.py --draw` draws the frontier: regret where the table is right against the most that
it is where it is wrong. With 500 tables it takes an hour and a half on one core.
"""

from __future__ import annotations

import csv
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from families import rates_6x8, uniform_20x6

import structured_bandits as sb

HORIZON, SEED = 10_000, 2027
BLIND = "blind"
RIGHT = "right"
POLICIES: dict[str, dict[str, Any]] = {
    "trust 1": {},
    "trust 0.75": {"trust": 0.75},
    "trust 0.5": {"trust": 0.5},
    "trust 0": {"trust": 0.0},
    "trust 0.5, off 0.01": {"trust": 0.5, "off": 0.01},
    "trust 0.5, off 0.03": {"trust": 0.5, "off": 0.03},
    "trust 0.5, off 0.3": {"trust": 0.5, "off": 0.3},
}
OUT = Path(__file__).parent.parent / "docs" / "guides" / "doubt.csv"


def rates_24x10(rng: np.random.Generator) -> np.ndarray:
    """Many types, rates up to 0.3."""
    return rng.uniform(0.01, 0.3, (24, 10))


FAMILIES = {"rates 6×8": rates_6x8, "rates 24×10": rates_24x10, "uniform 20×6": uniform_20x6}


def worst_is_best(table: np.ndarray, row: int, rng: np.random.Generator) -> np.ndarray:
    """The worst arm of a row is better than its best one by a quarter."""
    means = table[row].copy()
    means[means.argmin()] = min(0.97, 1.25 * means.max())
    return means


def best_is_bad(table: np.ndarray, row: int, rng: np.random.Generator) -> np.ndarray:
    """The best arm of a row has three tenths of its mean."""
    means = table[row].copy()
    means[means.argmax()] *= 0.3
    return means


def noisy(size: float, table: np.ndarray, row: int, rng: np.random.Generator) -> np.ndarray:
    """All means are off by normal noise."""
    return (table[row] + rng.normal(0.0, size, table.shape[1])).clip(0.002, 0.98)


def mixed(table: np.ndarray, row: int, rng: np.random.Generator) -> np.ndarray:
    """The average of three rows."""
    return table[rng.choice(len(table), 3, replace=False)].mean(axis=0)


def no_row(table: np.ndarray, row: int, rng: np.random.Generator) -> np.ndarray:
    """Entries of the table in no order."""
    return rng.permutation(table.ravel())[: table.shape[1]]


TRUTHS: dict[str, Any] = {
    RIGHT: lambda table, row, rng: table[row],
    "worst arm is best": worst_is_best,
    "best arm is bad": best_is_bad,
    "off by 0.02": partial(noisy, 0.02),
    "off by 0.05": partial(noisy, 0.05),
    "mix of three rows": mixed,
    "no row": no_row,
}


def draw(family: str, way: str, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    """Draw a table, policies for it, and a truth; a table does not depend on the way it is wrong."""
    table = FAMILIES[family](rng)
    means = TRUTHS[way](table, int(rng.integers(len(table))), rng)
    structure = sb.FiniteStructure(table)
    policies: dict[str, Any] = {
        name: sb.ModelTS(structure, **values) for name, values in POLICIES.items()
    }
    return {**policies, BLIND: sb.ThompsonSampling(structure)}, sb.Bernoulli(means)


def cells(family: str, way: str, tables: int) -> list[dict[str, Any]]:
    """Play; return a record for each policy."""
    played = sb.simulate_random(
        partial(draw, family, way), HORIZON, runs=tables, seed=SEED, checkpoints=1, progress=False
    )
    regrets = {name: regret[:, -1] for name, regret in played.regret.items()}
    blind = regrets[BLIND]
    rows = []
    for name, regret in regrets.items():
        ratio = regret.mean() / blind.mean()
        error = (regret - ratio * blind).std(ddof=1) / np.sqrt(tables) / blind.mean()
        numbers = {
            "mean": regret.mean(),
            "error": regret.std(ddof=1) / np.sqrt(tables),
            "q95": np.quantile(regret, 0.95),
            "most": regret.max(),
            "ratio": ratio,
            "ratio error": error,
        }
        shown = {key: f"{value:.4g}" for key, value in numbers.items()}
        rows.append({"family": family, "truth": way, "policy": name, "tables": tables, **shown})
    return rows


def save(family: str, rows: list[dict[str, Any]]) -> None:
    """Write the rows of a family into the file, those of others stay."""
    with OUT.open(newline="", encoding="utf-8") as file:
        known = list(csv.DictReader(file))
    others = [row for row in known if row["family"] != family]
    found = [*others, *(row for row in rows if row["family"] == family)]
    order = list(FAMILIES)
    with OUT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(sorted(found, key=lambda row: order.index(row["family"])))


def main(tables: int, families: list[str]) -> None:
    """Play, print and write, cell by cell."""
    rows: list[dict[str, Any]] = []
    for family in families or FAMILIES:
        for way in TRUTHS:
            start = time.perf_counter()
            rows += (found := cells(family, way, tables))
            print(f"\n{family}, {way} ({tables} tables, {time.perf_counter() - start:.0f} s)")
            print(f"  {'':22}{'regret':>18}{'95 %':>8}{'most':>8}{'/ blind':>20}")
            for row in found:
                regret = f"{row['mean']} ± {row['error']}"
                ratio = f"{row['ratio']} ± {row['ratio error']}"
                print(f"  {row['policy']:22}{regret:>18}{row['q95']:>8}{row['most']:>8}{ratio:>20}")
            sys.stdout.flush()
        if tables >= 500:
            save(family, rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, sys.argv[2:])
