"""Write twenty made-up tables of models, `tables/00.csv` to `tables/19.csv`, the same each time.

A table has six models (rows) of five arms (columns). The first model is the one that the sweep takes for
the truth. Where two arms are nearly as good as each other there is little to lose, so in each
model the best arm is ahead of the second by at least 0.05.
"""

from pathlib import Path

import numpy as np

TABLES, MODELS, ARMS = 20, 6, 5
AHEAD = 0.05


def models(rng: np.random.Generator) -> np.ndarray:
    """Draw means until the best arm of each model is ahead."""
    while True:
        means = rng.uniform(0.05, 0.95, size=(MODELS, ARMS)).round(3)
        best = np.sort(means, axis=1)
        if (best[:, -1] - best[:, -2] >= AHEAD).all():
            return means


if __name__ == "__main__":
    rng = np.random.default_rng(17)
    folder = Path(__file__).parent / "tables"
    folder.mkdir(exist_ok=True)
    for number in range(TABLES):
        rows = [",".join(map(str, row)) for row in models(rng).tolist()]
        (folder / f"{number:02d}.csv").write_text("\n".join(["a,b,c,d,e", *rows]) + "\n")
