"""Mean regret beside the bounds of the theorems on 50 random structures (`make theorems`)."""

from __future__ import annotations

import math

import numpy as np
from support.theorems import BOUNDS, HORIZON, RUNS, STRUCTURES, regrets_and_bounds


def main() -> None:
    print(
        f"mean regret / bound, {RUNS} runs of {HORIZON:,} pulls on {STRUCTURES} random structures"
    )
    print("structure  " + "  ".join(f"{name:>18}" for name in BOUNDS))
    ratios: dict[str, list[float]] = {name: [] for name in BOUNDS}
    for index in range(STRUCTURES):
        found = regrets_and_bounds(index)
        cells = [f"{mean:8.1f} /{bound:8.0f}" for mean, _, bound in found.values()]
        print(f"{index:9}  " + "  ".join(f"{cell:>18}" for cell in cells))
        for name, (mean, _, bound) in found.items():
            ratios[name].append(bound / mean if mean else math.inf)
    print("bound over regret, least and median of the structures:")
    for name, values in ratios.items():
        print(f"  {name}: {min(values):.1f}, {np.median(values):.1f}")


if __name__ == "__main__":
    main()
