"""How long theory takes on a large table, as ratios to one NumPy pass over it.

A pass is `table.sum()`: it reads every number once. All times are the least of several repetitions,
measured in turn, so that a busy machine disturbs both sides alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rows import Row, write

import structured_bandits as sb

TOPIC = "theory"
HORIZON = 100_000
REPEATS = 5


def draw_table(models: int, arms: int) -> np.ndarray:
    """Uniform means, half of them copied from the truth, the first model: hard to tell apart."""
    rng = np.random.default_rng(1)
    table = rng.random((models, arms))
    return np.where(rng.random(table.shape) < 0.5, table[0], table)


def least(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(models: int, arms: int) -> dict[str, float]:
    """Return seconds: one pass, a hardness query (the worst arm, all arms used), and the rest."""
    table = draw_table(models, arms)
    structure = sb.FiniteStructure(table)
    analysis = sb.analyse(structure, 0)
    alone = sb.analyse(sb.FiniteStructure(np.sort(table, axis=1)), 0)  # one arm is best in all
    crowded = int(np.bincount(structure.cells.best, minlength=arms).argmax())
    everything = range(arms)
    return {
        "one pass": least(lambda: table.sum()),
        "hardness over all models at once": least(lambda: alone.hardest(arms - 1, everything)),
        "hardness of the arm with most models": least(
            lambda: analysis.hardest(crowded, everything)
        ),
        "the same, optimistic": least(
            lambda: analysis.hardest(crowded, everything, optimistic=True)
        ),
        "hardness of every arm": least(
            lambda: [analysis.hardest(arm, everything) for arm in analysis.best_arms]
        ),
        "Gamma_*": least(lambda: analysis.gamma_star),
        "analyse(structure, truth)": least(lambda: sb.analyse(structure, 0)),
        "elimination, beta=3": least(lambda: analysis.elimination(HORIZON, 3.0)),
        "classes, beta=3": least(lambda: analysis.classes(HORIZON, 3.0)),
        "all bounds": least(lambda: analysis.bounds(HORIZON)),
    }


def queries(models: int, arms: int) -> int:
    """Return how many hardness queries an elimination at beta = 3 asks."""
    analysis = sb.analyse(sb.FiniteStructure(draw_table(models, arms)), 0)
    sets = analysis.elimination(HORIZON, 3.0)
    first = len(sets.active[0])
    return sum(2 * len(active) for active in sets.active) - first


def full() -> list[Row]:
    models, arms = 100_000, 50
    times = measure(models, arms)
    print(f"{models:,} models × {arms} arms, {models * arms * 8 / 1e6:.0f} MB")
    for name, seconds in times.items():
        print(f"  {name:<40} {seconds * 1e3:9.2f} ms  {seconds / times['one pass']:8.2f} passes")
    asked = queries(models, arms)
    each = times["elimination, beta=3"] / asked / times["one pass"]
    print(f"  elimination asks {asked} hardness queries: {each:.2f} passes each (aim: at most 5)")
    whole = sum(
        times[name] for name in ("analyse(structure, truth)", "elimination, beta=3", "Gamma_*")
    )
    whole += times["classes, beta=3"] + times["all bounds"]
    print(f"  a full analysis: {whole:.2f} s, {whole / times['one pass']:.0f} passes")
    note = f"a pass takes {1e3 * times['one pass']:.1f} ms"
    work = f"a hardness query inside an elimination of {asked} queries"
    return [
        Row(TOPIC, work, "<= 5", each, "passes", note),
        Row(TOPIC, "a full analysis, all bounds included", "", whole, "s", note),
    ]


def print_growth() -> None:
    print("growth (ms; in brackets: passes over that table)")
    for models, arms in ((1_000, 50), (10_000, 50), (100_000, 50), (100_000, 5), (10_000, 500)):
        times = measure(models, arms)
        shown = [
            f"{name.split(',')[0]} {times[name] * 1e3:.2f} ({times[name] / times['one pass']:.1f})"
            for name in ("hardness of every arm", "elimination, beta=3", "all bounds")
        ]
        print(
            f"  {models:>7,} × {arms:<4} one pass {times['one pass'] * 1e3:.3f}; "
            + "; ".join(shown)
        )


if __name__ == "__main__":
    rows = full()
    print_growth()
    write(TOPIC, rows)
