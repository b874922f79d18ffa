"""What trust in a table costs and saves: `python benchmarks/trust.py [tables]`.

Random tables, 10,000 pulls each; the truth is a row plus normal noise of size epsilon. How much regret
has posterior sampling that believes the table (trust 1), that asks how far to trust it, and Thompson
sampling that is blind to it? Mean regret, its standard error and the largest, for each epsilon, and how
trust 1/2 compares with blind play. With 200 tables this takes ten minutes of one core.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb

HORIZON = 10_000
NOISE = (0.0, 0.02, 0.05, 0.1)
TRUST = {"trust 1": 1.0, "trust .8": 0.8, "trust .5": 0.5, "trust 1/7": 1 / 7}
BLIND = "blind"
AIM_RIGHT, AIM_WRONG = 0.5, 1.25  # the most that trust 1/2 should have, in regrets of blind play


class Family(NamedTuple):
    """Tables of independent uniform means."""

    models: int
    arms: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.models} models × {self.arms} arms, means {self.low:g} to {self.high:g}"


FAMILIES = (Family(20, 6, 0.1, 0.9), Family(6, 8, 0.01, 0.16))


def blind_thompson(arms: int) -> Any:
    """Return Thompson sampling with uniform priors: two pseudo-counts behind a mean of 1/2."""
    return sb.UncertainModelTS(sb.FiniteStructure([[0.5] * arms]), trust=0.0, strengths=2)


def draw(family: Family, noise: float, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    """Draw a table and a truth near its first row; noise of any size leaves the table the same."""
    table = rng.uniform(family.low, family.high, (family.models, family.arms))
    truth = table[0] + noise * rng.normal(size=family.arms)
    structure = sb.FiniteStructure(table)
    policies = {name: sb.UncertainModelTS(structure, trust) for name, trust in TRUST.items()}
    policies[BLIND] = blind_thompson(family.arms)
    return policies, sb.Bernoulli(truth.clip(0.0, 1.0))


def measure(family: Family, noise: float, tables: int) -> dict[str, Any]:
    """Return the regret of each policy on each table."""
    cell = sb.simulate_random(partial(draw, family, noise), HORIZON, runs=tables, checkpoints=1)
    return {name: regret[:, -1] for name, regret in cell.regret.items()}


def deviation(values: Any) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def ratio(ours: Any, theirs: Any) -> tuple[float, float]:
    """Return the ratio of two means of paired values, and its standard error."""
    quotient = ours.mean() / theirs.mean()
    return float(quotient), deviation(ours - quotient * theirs) / float(theirs.mean())


def main(tables: int) -> None:
    for family in FAMILIES:
        cells = [measure(family, noise, tables) for noise in NOISE]
        print(f"\n{family}; {tables} tables, {HORIZON:,} pulls: mean ± standard error (largest)")
        print(f"{'':10}" + "".join(f"{f'noise {noise:g}':>22}" for noise in NOISE))
        for name in [*TRUST, BLIND]:
            shown = [
                f"{cell[name].mean():.1f} ± {deviation(cell[name]):.1f} ({cell[name].max():.0f})"
                for cell in cells
            ]
            print(f"{name:10}" + "".join(f"{text:>22}" for text in shown))
        print("trust .5 in regrets of blind play:")
        for noise, cell in zip(NOISE, cells, strict=True):
            quotient, error = ratio(cell["trust .5"], cell[BLIND])
            aim = AIM_WRONG if noise else AIM_RIGHT
            verdict = "met" if quotient <= aim else "missed"
            print(f"  noise {noise:<5g} {quotient:.2f} ± {error:.2f}, aim {aim:g}: {verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
