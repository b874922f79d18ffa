"""How often does a right structure ring? 1,000 runs on each of 20 structures (part of `make soak`).

The level is 0.01, the looks are those of agents and guards, a run has 1,000 pulls of a policy that
follows the best average half of the time. More than 20 alarms in 1,000 runs have a probability below
0.002 if the level holds; that ends with exit code 1.

    PYTHONPATH=tests python tools/false_alarms.py [--runs N]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np
from support.misfits import Draw, coin, largest, made_for, normal, share
from tqdm import tqdm

import structured_bandits as sb

LEVEL, PULLS, MOST = 0.01, 1000, 0.02


def cases() -> Iterator[tuple[str, Any, Draw, float | None]]:
    """Yield name, structure, rewards of a truth in it and sigma of Gaussian ones: 20 of all kinds."""
    rng = np.random.default_rng(2027)
    for models, arms in ((2, 2), (6, 8), (12, 3), (40, 12)):
        table = np.round(rng.uniform(0.02, 0.98, (models, arms)), 3)
        structure, truth = sb.FiniteStructure(table), table[rng.integers(models)]
        yield f"table {models} × {arms}, coins", structure, coin(truth), None
        yield f"table {models} × {arms}, between 0 and 1", structure, share(truth), None
        yield f"table {models} × {arms}, Gaussian", structure, normal(truth), 0.5
    rates = np.round(rng.uniform(0.01, 0.16, (6, 8)), 3)
    yield "rates", sb.FiniteStructure(rates), coin(rates[3]), None
    yield "around rates", sb.around(rates, 0.01), coin(np.clip(rates[3] + 0.01, 0, 1)), None
    yield "mixtures of rates", sb.mixtures(rates), coin(rates.mean(axis=0)), None
    ends = np.round(rng.uniform(0.05, 0.95, (2, 4)), 3)
    curve = sb.CurveStructure([sb.Piece(0.0, 1.0, *map(tuple, ends.tolist()))])
    yield "curve", curve, coin(ends.mean(axis=0)), None
    yield "curve, Gaussian", curve, normal(ends.mean(axis=0)), 0.5
    yield "lipschitz", sb.lipschitz([0.0, 0.1, 0.3], 1.0), coin((0.5, 0.55, 0.4)), None
    yield "unimodal", sb.unimodal(4), coin((0.2, 0.5, 0.4, 0.3)), None
    halves = [sb.FiniteStructure([[0.5, 0.2], [0.3, 0.4]]), sb.FiniteStructure([[0.4], [0.6]])]
    yield "product", sb.product(halves), coin((0.3, 0.4, 0.6)), None


def alarm(place: int, run: int) -> bool:
    """Does this run of this case ring?"""
    _, structure, draw, sigma = list(cases())[place]
    test = made_for(structure, sigma)
    rng = np.random.default_rng([2028, place, run])
    return largest(test, draw, structure.n_arms, PULLS, rng) >= -math.log(LEVEL)


def main() -> int:
    """Play all cases, print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    names = [name for name, *_ in cases()]
    worst = 0.0
    with get_context("spawn").Pool() as pool:
        for place, name in enumerate(names):
            played = pool.imap_unordered(partial(alarm, place), range(runs), chunksize=20)
            rung = sum(tqdm(played, total=runs, desc=name, disable=None, leave=False))
            print(f"{name:32} {rung:4} of {runs} runs rang", flush=True)
            worst = max(worst, rung / runs)
    return 1 if worst > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
