"""What it saves to expect changes, and what it costs: `python benchmarks/switching.py [runs]`.

20,000 pulls on the table of a shop and on Figure 1 right of the paper. At moments drawn without
replacement from 200 to 19,800 the true model becomes another one, drawn evenly. Printed are mean regrets
against the best arm of the moment, with standard errors; then the time of `ModelTS(switching=True)` in
units of a hand-written Numba loop that does the same.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import Any

import numba
import numpy as np

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right
from structured_bandits.inference.switching import HAZARDS

PULLS, CHANGES, SEED = 20_000, (0, 1, 5, 20), 2028
TABLES = {
    "shop, 6 × 8": np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3),
    "Figure 1 right": figure1_right().cells.table,
}


def draw(table: np.ndarray, changes: int, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    """Draw when the model changes and to which; return policies and the world."""
    at = np.sort(rng.choice(np.arange(200, PULLS - 200), changes, replace=False))
    rows = [int(rng.integers(len(table)))]
    for _ in at:
        others = [row for row in range(len(table)) if row != rows[-1]]
        rows.append(int(rng.choice(others)))
    structure = sb.FiniteStructure(table)
    arms = structure.n_arms
    policies: dict[str, Any] = {
        "ModelTS, switching=True": sb.ModelTS(structure, switching=True),
        "ModelTS, switching=0.001": sb.ModelTS(structure, switching=0.001),
        "ModelTS": sb.ModelTS(structure),
        "Thompson sampling, discount 0.9995": sb.ThompsonSampling(arms, discount=0.9995),
        "Thompson sampling, discount 0.999": sb.ThompsonSampling(arms, discount=0.999),
        "KLUCB, window 4,000": sb.KLUCB(arms, window=4000),
        "KLUCB, window 1,000": sb.KLUCB(arms, window=1000),
        "Thompson sampling": sb.ThompsonSampling(arms),
    }
    return policies, sb.Piecewise(table[rows], at)


def regrets(runs: int) -> None:
    """Play and print."""
    for name, table in TABLES.items():
        columns = [
            sb.simulate_random(
                partial(draw, table, changes), PULLS, runs, seed=SEED, checkpoints=1, progress=False
            ).regret
            for changes in CHANGES
        ]
        print(f"\n{name}: regret after {PULLS:,} pulls with so many changes, {runs} runs")
        print(f"{'':36}" + "".join(f"{changes:>14}" for changes in CHANGES))
        for policy in columns[0]:
            ends = [column[policy][:, -1] for column in columns]
            shown = [f"{each.mean():.0f} ± {each.std(ddof=1) / runs**0.5:.0f}" for each in ends]
            print(f"{policy:36}" + "".join(f"{text:>14}" for text in shown), flush=True)


@numba.njit
def by_hand(table: Any, best: Any, hazards: Any, means: Any, pulls: int, seed: int) -> float:
    """The filter as one would write it for a single experiment."""
    np.random.seed(seed)  # noqa: NPY002  of Numba
    models, kinds = len(table), len(hazards)
    weights = np.full((kinds, models), 1.0 / (kinds * models))
    top, lost = means.max(), 0.0
    for _ in range(pulls):
        mark = np.random.random()  # noqa: NPY002
        arm = best[models - 1]
        for model in range(models):
            for kind in range(kinds):
                mark -= weights[kind, model]
            if mark < 0.0:
                arm = best[model]
                break
        reward = np.random.random() < means[arm]  # noqa: NPY002
        total = 0.0
        for kind in range(kinds):
            for model in range(models):
                chance = table[model, arm] if reward else 1.0 - table[model, arm]
                weights[kind, model] *= chance
                total += weights[kind, model]
        for kind in range(kinds):
            mass = weights[kind].sum() / total
            for model in range(models):
                kept = (1.0 - hazards[kind]) * weights[kind, model] / total
                weights[kind, model] = kept + hazards[kind] * mass / models
        lost += top - means[arm]
    return lost


def speed() -> None:
    """Print how many times as fast as the loop by hand a run is; both compiled before."""
    for name, table in TABLES.items():
        structure, hazards = sb.FiniteStructure(table), np.array(HAZARDS)
        policies = {"switching": sb.ModelTS(structure, switching=True)}
        world, best = sb.Piecewise([table[0]], []), table.argmax(axis=1)
        times: list[list[float]] = [[], []]
        for number in range(8):
            start = time.perf_counter()
            sb.simulate(
                policies, world, PULLS, 20, seed=number, checkpoints=1, progress=False, workers=1
            )
            middle = time.perf_counter()
            for run in range(20):
                by_hand(table, best, hazards, table[0], PULLS, 100 * number + run)
            if number:
                times[0].append(middle - start)
                times[1].append(time.perf_counter() - middle)
        ours, theirs = (float(np.median(each)) / 20 * 1e3 for each in times)
        print(f"{name}: {ours:.2f} ms a run, by hand {theirs:.2f} ms: {theirs / ours:.2f} times")


if __name__ == "__main__":
    regrets(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
    speed()
