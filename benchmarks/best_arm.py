"""How soon is `BestArm` certain on structures that are no tables, and what does a look cost?

    PYTHONPATH=tests python benchmarks/best_arm.py times           characteristic times
    PYTHONPATH=tests python benchmarks/best_arm.py pulls LIVES […] pulls until certain at level 0.05
    PYTHONPATH=tests python benchmarks/best_arm.py sup             one supremum, beside a loop by hand

Instances and what is known of them from programs written apart: tests/support/identification.py.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

import numpy as np
from numba import njit
from support.identification import INSTANCES, Instance

import structured_bandits as sb
from structured_bandits.inference.barrier import PRESSURE, climb, highest_in
from structured_bandits.inference.evidence import CellEvidence, evidence_on
from structured_bandits.simulation.compiled import compile_kernels
from structured_bandits.structures.reward_ranges import Rewards

MOST, SEED = 1_000_000, 2032


def times() -> None:
    """Print T* beside the known one, and which shares of pulls it takes."""
    for name, each in INSTANCES.items():
        began = time.perf_counter()
        analysis = sb.analyse(each.make(), each.means)
        how: Any = ("bernoulli",) if each.sigma is None else ("gaussian", each.sigma)
        found = analysis.identification(*how)
        took = time.perf_counter() - began
        print(f"{name:22} {found.time:12.4f} known {each.time:10.3f}   {took:5.1f} s", flush=True)


def pulls(lives: int, names: list[str]) -> None:
    """Print the mean pulls until it was certain, and how often it was wrong."""
    for name, each in INSTANCES.items():
        if names and name not in names:
            continue
        began = time.perf_counter()
        gaussian = each.sigma is not None
        world: Any = (
            sb.Gaussian(each.means, sigma=each.sigma) if gaussian else sb.Bernoulli(each.means)
        )
        found = sb.identify(each.make(), world, horizon=MOST, runs=lives, seed=SEED)
        took = (time.perf_counter() - began) / lives
        error = found.pulls.std(ddof=1) / math.sqrt(lives)
        known, its_error = each.pulls
        most = 1.15 * known + 2.0 * math.hypot(error, its_error)
        print(
            f"{name:22} {found.mean:9,.0f} ± {error:6,.0f}   known {known:9,.0f} ± {its_error:6,.0f}, "
            f"at most {most:9,.0f}   {found.wrong.sum()} wrong   {took:.2f} s a life",
            flush=True,
        )


@njit
def by_hand(
    slopes: Any, shift: Any, walls: Any, ends: Any, ones: Any, zeros: Any, inner: Any
) -> float:
    """Return the highest log-likelihood of coins in a polytope: Newton's method with a barrier.

    Written for this comparison: dense arrays of NumPy, as one writes it first with Numba.
    """
    place, mu, least = inner.copy(), 1.0, PRESSURE / len(ends)
    while True:
        for _ in range(60):
            means, slack = slopes @ place + shift, ends - walls @ place
            rise = ones / means - zeros / (1.0 - means)
            fall = ones / means**2 + zeros / (1.0 - means) ** 2
            gradient = slopes.T @ rise - walls.T @ (mu / slack)
            bend = (slopes.T * fall) @ slopes + (walls.T * (mu / slack**2)) @ walls
            step = np.linalg.solve(bend, gradient)
            decrement = gradient @ step
            if decrement <= 1e-2 * mu:
                break
            share = 1.0
            ahead = walls @ step
            for wall in range(len(ends)):
                if ahead[wall] > 0.0:
                    share = min(share, 0.95 * slack[wall] / ahead[wall])
            now = (ones * np.log(means) + zeros * np.log(1.0 - means)).sum() + mu * np.log(
                slack
            ).sum()
            for _ in range(40):
                trial = place + share * step
                means, slack = slopes @ trial + shift, ends - walls @ trial
                if means.min() > 0.0 and means.max() < 1.0 and slack.min() > 0.0:
                    then = (ones * np.log(means) + zeros * np.log(1.0 - means)).sum()
                    if then + mu * np.log(slack).sum() >= now + 0.1 * share * decrement:
                        break
                share *= 0.5
            place = place + share * step
        if mu <= least:
            means = slopes @ place + shift
            return (ones * np.log(means) + zeros * np.log(1.0 - means)).sum()
        mu = max(least, 0.05 * mu)


def sup() -> None:
    """Print the microseconds of one supremum, ours and by hand, in turn."""
    compile_kernels()
    print("one supremum over a cell, µs          ours   by hand   ratio   without Numba")
    for name, each in INSTANCES.items():
        if each.sigma is not None or name.startswith("unimodal"):
            continue
        ours, hand, plain = measured(each)
        print(f"{name:32} {ours:9.1f} {hand:9.1f} {ours / hand:7.2f} {plain:13.1f}", flush=True)


def measured(each: Instance) -> tuple[float, float, float]:
    """Return the median times of a supremum over the cells of other arms, after 5,000 pulls in turn."""
    evidence: Any = evidence_on(each.make(), Rewards(0.5, 0.0, 1.0))
    assert isinstance(evidence, CellEvidence)
    count = 5_000 // len(each.means)
    hits = np.random.default_rng(SEED).binomial(count, each.means).astype(float)
    models, best = evidence.models, int(np.argmax(each.means))
    counts = models.counts(np.full(len(hits), count), hits)
    cells = [number for number, cell in enumerate(models.cells) if cell.arm != best]
    regions = [models._region(("cell", number, None), hits >= 0.0) for number in cells]
    ways: dict[str, list[float]] = {"ours": [], "hand": [], "plain": []}
    compiled = climb.compiled
    for turn in range(6):
        for way, found in ways.items():
            climb.compiled = None if way == "plain" else compiled
            began = time.perf_counter()
            for region in regions:
                if way == "hand":
                    by_hand(*region[:4], *counts, region.inner)
                else:
                    highest_in(region, *counts, 0.0)
            if turn:
                found.append((time.perf_counter() - began) / len(regions) * 1e6)
    climb.compiled = compiled
    return (*(float(np.median(found)) for found in ways.values()),)  # type: ignore[return-value]


if __name__ == "__main__":
    what = sys.argv[1:] or ["times"]
    if what[0] == "pulls":
        pulls(int(what[1]), what[2:])
    else:
        {"times": times, "sup": sup}[what[0]]()
