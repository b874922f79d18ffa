"""Random structures, reward tapes and parameters on which the library is compared with the oracles.

Means and parameters are multiples of powers of two, so that exact ties happen and both sides must
break them alike; a share of the cases has arbitrary floats instead. Truths are often outside the
structure (empty sets), alphas often small (models leave and come back).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from oracles.policies import Curves, Models

import structured_bandits as sb


@dataclass
class Case:
    """One structure in both encodings, a tape of 0/1 rewards and parameters."""

    structure: Any  # the library's
    oracle: Any  # the oracle's
    rewards: np.ndarray  # arms x horizon
    horizon: int
    alpha: float
    beta: float
    eta: float


def draw_case(seed: int, index: int, kind: str, full_size: bool) -> Case:
    """Return case `index`; the same numbers always give the same case."""
    rng = np.random.default_rng([seed, index, kind == "curves", full_size])
    draw = _finite if kind == "finite" else _curves
    structure, oracle, inside = draw(rng, full_size)
    arms = structure.n_arms
    truth = inside if rng.random() < 0.6 else rng.random(arms)
    horizon = 5000 if full_size else int(rng.integers(1, 400))
    return Case(
        structure,
        oracle,
        _tape(rng, np.clip(truth, 0.0, 1.0), horizon),
        horizon,
        alpha=float(rng.choice([0.03125, 0.125, 0.5, 1.0, 2.0])),
        beta=float(rng.choice([1.0, 1.5, 3.0])),
        eta=float(rng.choice([0.01, 0.1, 0.5, 1.0])),
    )


def _means(rng: np.random.Generator, shape: tuple[int, ...], dyadic: bool) -> np.ndarray:
    if not dyadic:
        return rng.random(shape)
    grid = int(rng.choice([4, 16, 64, 1024]))
    return rng.integers(0, grid + 1, shape) / grid


def _finite(
    rng: np.random.Generator, full_size: bool
) -> tuple[sb.FiniteStructure, Models, np.ndarray]:
    models, arms = (40, 12) if full_size else (int(rng.integers(1, 9)), int(rng.integers(1, 7)))
    table = _means(rng, (models, arms), dyadic=full_size or rng.random() < 0.85)
    if rng.random() < 0.3:  # models that differ from the first in few arms are hard to tell apart
        keep = rng.random((models, arms)) < 0.7
        table = np.where(keep, table[0], table)
    if models > 1 and rng.random() < 0.2:
        table[-1] = table[0]  # the same model twice
    return sb.FiniteStructure(table), Models(table.tolist()), table[int(rng.integers(models))]


def _curves(
    rng: np.random.Generator, full_size: bool
) -> tuple[sb.CurveStructure, Curves, np.ndarray]:
    pieces, arms = (8, 12) if full_size else (int(rng.integers(1, 5)), int(rng.integers(1, 6)))
    dyadic = full_size or rng.random() < 0.85
    place = 0.0
    plain = []
    for _ in range(pieces):
        place += float(rng.choice([0.0, 0.0, 0.25])) if plain else 0.0  # sometimes a gap
        after_point = bool(plain) and plain[-1][0] == plain[-1][1] == place
        is_point = rng.random() < 0.2 and not after_point
        if is_point and plain and plain[-1][1] == place:
            place += 0.125
        start, end = place, place if is_point else place + float(rng.choice([0.125, 0.25, 0.5]))
        if after_point and not is_point:
            start, end = start + 0.125, end + 0.125
        first = _means(rng, (arms,), dyadic)
        last = first.copy() if is_point else _means(rng, (arms,), dyadic)
        flat = rng.random(arms) < 0.25
        last[flat] = first[flat]
        plain.append((start, end, first.tolist(), last.tolist()))
        place = end
    structure = sb.CurveStructure([sb.Piece(*piece) for piece in plain])
    start, end, first, last = plain[int(rng.integers(pieces))]
    x = rng.random()
    inside = (1 - x) * np.array(first) + x * np.array(last)
    return structure, Curves(plain), inside


def _tape(rng: np.random.Generator, truth: np.ndarray, horizon: int) -> np.ndarray:
    """0/1 rewards with these means; sometimes runs of equal rewards, the worst of all luck."""
    rewards = (rng.random((len(truth), horizon)) < truth[:, None]).astype(np.int64)
    style = rng.random()
    if style < 0.15:
        rewards = np.repeat(rewards[:, ::7], 7, axis=1)[:, :horizon]
    elif style < 0.25:
        rewards = np.sort(rewards, axis=1)
    return rewards
