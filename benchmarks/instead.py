"""Which policy plays best where ModelTS cannot: `python benchmarks/instead.py [runs] [pulls] [family…]`.

What policies say when they are given a structure on which they cannot play
(policies/validation.py) names others, best first; this is where the order comes from. Each run draws a
structure and its truth afresh and pays rewards of 0 and 1. Printed are mean regrets with their standard
errors, and over all families the mean of the logarithm of regret / regret of Thompson sampling, which
knows nothing, as a ratio.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import structured_bandits as sb

BLIND = "ThompsonSampling"
Drawn = tuple[Any, np.ndarray]


def linear(rng: np.random.Generator) -> Drawn:
    """Ten arms with three features each."""
    features = rng.uniform(0.0, 1.0 / 3.0, (10, 3))
    return sb.linear(features, bounds=(0.0, 1.0)), features @ rng.random(3)


def unimodal(rng: np.random.Generator) -> Drawn:
    """Eight arms in a row with a peak anywhere."""
    steps = rng.uniform(0.02, 0.12, 8)
    away = np.abs(np.arange(8) - rng.integers(8))
    return sb.unimodal(8), 0.9 - np.cumsum(steps)[away]


def lipschitz(rng: np.random.Generator) -> Drawn:
    """Ten arms in a row; neighbours differ by at most 0.1."""
    steps = rng.uniform(-0.1, 0.1, 10)
    means = np.cumsum(steps)
    return sb.lipschitz(np.arange(10), 0.1), means - means.mean() + 0.5


def known_best_mean(rng: np.random.Generator) -> Drawn:
    """Eight arms, the best of which has a mean of 0.6."""
    means = rng.uniform(0.2, 0.55, 8)
    means[rng.integers(8)] = 0.6
    return sb.known_best_mean(8, 0.6), means


def prices(rng: np.random.Generator) -> Drawn:
    """Eight prices; demand falls with the price and is concave. Rewards are parts of the highest."""
    at = np.linspace(0.3, 1.0, 8)
    demand = 0.9 - rng.uniform(0.1, 0.8) * np.linspace(0.0, 1.0, 8) ** rng.uniform(1.0, 3.0)
    falling = sb.intersection([sb.monotone(8, decreasing=True), sb.concave(8)])
    return sb.scaled(falling, at), demand * at


def mixtures(rng: np.random.Generator) -> Drawn:
    """Eight arms and four types of visitors, who come mixed."""
    table = rng.uniform(0.1, 0.9, (4, 8))
    return sb.mixtures(table), rng.dirichlet(np.ones(4)) @ table


def around(rng: np.random.Generator, margin: float = 0.05) -> Drawn:
    """A table of six rows and eight arms, known up to margins."""
    table = rng.uniform(0.1, 0.9, (6, 8))
    truth = table[rng.integers(6)] + rng.uniform(-margin, margin, 8)
    return sb.around(table, margin), truth


def low_rates(rng: np.random.Generator) -> Drawn:
    """The same with rates of a few per cent."""
    table = rng.uniform(0.02, 0.16, (6, 8))
    truth = table[rng.integers(6)] + rng.uniform(-0.01, 0.01, 8)
    return sb.around(table, 0.01), truth


def table(rng: np.random.Generator) -> Drawn:
    """A table of six rows and eight arms."""
    means = rng.uniform(0.1, 0.9, (6, 8))
    return sb.FiniteStructure(means), means[rng.integers(6)]


def curve(rng: np.random.Generator) -> Drawn:
    """Six arms on a line of parameters."""
    ends = rng.uniform(0.1, 0.9, (2, 6))
    structure = sb.CurveStructure([sb.Piece(0.0, 1.0, ends[0], ends[1])])
    return structure, structure.means(rng.random())


FAMILIES: tuple[Callable[[np.random.Generator], Drawn], ...] = (
    unimodal,
    lipschitz,
    known_best_mean,
    around,
    low_rates,
    prices,
    linear,
    mixtures,
    table,
    curve,
)
POLICIES: dict[str, Callable[[Any], Any]] = {
    "SUCB": lambda structure: sb.SUCB(structure, alpha=0.5, confidence="kl"),
    "UCBC": lambda structure: sb.UCBC(structure, alpha=0.5, confidence="kl"),
    "KLUCBC": lambda structure: sb.KLUCBC(structure, alpha=0.5),
    "TSC": lambda structure: sb.TSC(structure, alpha=0.5),
    BLIND: sb.ThompsonSampling,
    "IMED": sb.IMED,
    "KLUCB": sb.KLUCB,
}


def policies_of(structure: Any) -> dict[str, Callable[[Any], Any]]:
    """Return the policies that play on a structure, those that need single models among them."""
    found = dict(POLICIES)
    if structure.kind in ("finite", "curves", "boxes"):
        found["ModelTS"] = sb.ModelTS
        found["ModelTS trust=0.5"] = partial(sb.ModelTS, trust=0.5)
    if structure.kind == "finite":
        found["IDS"] = sb.IDS
    return found


def play(family: Callable[[np.random.Generator], Drawn], name: str, rng: Any) -> Any:
    """Draw a case and one policy for it."""
    structure, truth = family(rng)
    return {name: policies_of(structure)[name](structure)}, sb.Bernoulli(truth)


def main(runs: int, pulls: int, wanted: list[str]) -> None:
    """Play and print, family by family."""
    behind: dict[str, list[float]] = {}
    for family in FAMILIES:
        if wanted and family.__name__ not in wanted:
            continue
        found: dict[str, tuple[float, float, float]] = {}
        for name in policies_of(family(np.random.default_rng(0))[0]):
            start = time.perf_counter()
            result = sb.simulate_random(
                partial(play, family, name), pulls, runs=runs, checkpoints=1, workers=1
            )
            regret = result.regret[name][:, -1]
            error = regret.std(ddof=1) / np.sqrt(runs)
            found[name] = regret.mean(), error, time.perf_counter() - start
            print(
                f"{family.__name__:16} {name:24} {found[name][0]:.1f}", file=sys.stderr, flush=True
            )
        print(f"{family.__name__}: {family.__doc__}")
        for name, (mean, error, seconds) in sorted(found.items(), key=lambda each: each[1][0]):
            behind.setdefault(name, []).append(np.log(mean / found[BLIND][0]))
            print(f"  {name:24} {mean:7.1f} ± {error:4.1f}   {seconds:6.1f} s", flush=True)
    print("regret / that of Thompson sampling, geometric mean over the families")
    for name, logs in sorted(behind.items(), key=lambda each: np.mean(each[1])):
        print(f"  {name:24} {np.exp(np.mean(logs)):.2f} ({len(logs)} families)")


if __name__ == "__main__":
    numbers = [*map(int, sys.argv[1:3]), *[40, 2_000][len(sys.argv[1:3]) :]]
    main(numbers[0], numbers[1], sys.argv[3:])
