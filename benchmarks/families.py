"""Families of random tables on which policies are compared: each table is drawn afresh.

Rows are models, columns arms, entries the probabilities of a reward of 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Table = Any  # models x arms
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
