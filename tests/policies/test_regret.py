"""Regret of the library against pull-by-pull loops written by someone who had not seen it.

1,000 runs on each side, independent seeds, two-sample |z| < 4 (with 32 comparisons, a false alarm in
about one of 500 changes of seed; the seeds are fixed). The curves are exact on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracles import pull_by_pull

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_left, figure1_right

RUNS = 500
Loop = Callable[[np.random.Generator], Any]


def z_score(policy: Any, truth: Any, horizon: int, loop: Loop) -> float:
    gaps = truth.max() - truth
    how: dict[str, Any] = {"seed": 1, "checkpoints": 1, "workers": 1, "misfit": False}
    played = sb.simulate({"P": policy}, sb.Bernoulli(truth), horizon, runs=RUNS, **how)
    ours = played.regret["P"][:, -1]
    rng = np.random.default_rng(2)
    theirs = np.array([gaps @ loop(rng) for _ in range(RUNS)])
    spread = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / RUNS)
    if spread == 0.0:
        return 0.0 if ours.mean() == theirs.mean() else float("inf")
    return float((ours.mean() - theirs.mean()) / spread)


def finite_contest(
    structure: sb.FiniteStructure, truth: Any, horizon: int
) -> dict[str, tuple[Any, Loop]]:
    means = structure.cells.table
    loops = pull_by_pull
    return {
        "UCB": (sb.UCB(structure), lambda rng: loops.ucb(truth, horizon, 2.0, rng)),
        "SUCB": (
            sb.SUCB.paper(structure),
            lambda rng: loops.sucb_finite(means, truth, horizon, 2.0, rng),
        ),
        "SAE": (
            sb.SAE.paper(structure, horizon),
            lambda rng: loops.sae_finite(means, truth, horizon, 2.0, 1.0, rng),
        ),
        "ASAE": (
            sb.ASAE.paper(structure, eta=0.1),
            lambda rng: loops.asae_finite(means, truth, horizon, 2.0, 1.0, 0.1, rng),
        ),
    }


def curve_contest(
    structure: sb.CurveStructure, truth: Any, horizon: int
) -> dict[str, tuple[Any, Loop]]:
    first, last = structure.cells.at_start, structure.cells.at_end
    loops = pull_by_pull
    return {
        "UCB": (sb.UCB(structure), lambda rng: loops.ucb(truth, horizon, 2.0, rng)),
        "SUCB": (
            sb.SUCB.paper(structure),
            lambda rng: loops.sucb_curves(first, last, truth, horizon, 2.0, rng),
        ),
        "SAE": (
            sb.SAE.paper(structure, horizon),
            lambda rng: loops.sae_curves(first, last, truth, horizon, 2.0, 1.0, rng),
        ),
        "ASAE": (
            sb.ASAE.paper(structure, eta=0.1),
            lambda rng: loops.asae_curves(first, last, truth, horizon, 2.0, 1.0, 0.1, rng),
        ),
    }


@pytest.mark.parametrize("policy", ["UCB", "SUCB", "SAE", "ASAE"])
@pytest.mark.parametrize(("informative", "x"), [(True, 0.0), (True, 0.5), (False, 0.5)])
def test_figure1_left(informative: bool, x: float, policy: str) -> None:
    structure = figure1_left(informative)
    truth = structure.means(0.33 * x)
    ours, loop = curve_contest(structure, truth, 10_000)[policy]
    assert abs(z_score(ours, truth, 10_000, loop)) < 4


@pytest.mark.parametrize("policy", ["UCB", "SUCB", "SAE", "ASAE"])
def test_figure1_right(policy: str) -> None:
    horizon = 50_000 if policy == "UCB" else 500_000
    structure = figure1_right()
    ours, loop = finite_contest(structure, structure.means(0), horizon)[policy]
    assert abs(z_score(ours, structure.means(0), horizon, loop)) < 4


@pytest.mark.parametrize("policy", ["UCB", "SUCB", "SAE", "ASAE"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_random_structures(seed: int, policy: str) -> None:
    structure = sb.FiniteStructure(np.random.default_rng(seed).random((20, 8)))
    truth = structure.means(0)
    ours, loop = finite_contest(structure, truth, 5000)[policy]
    assert abs(z_score(ours, truth, 5000, loop)) < 4
