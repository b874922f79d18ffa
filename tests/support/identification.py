"""Structures of all kinds with a truth, whose characteristic times two other programs agree on.

The times were computed apart from the library, by cutting planes with bounds from both sides, as far as
they are printed; `pulls` are the mean pulls, with their standard error, that a loop written apart took
until it was certain at level 0.05.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import structured_bandits as sb


class Instance(NamedTuple):
    """A structure, a truth in it, and what is known of them."""

    make: Callable[[], Any]
    means: Any
    time: float
    pulls: tuple[float, float]
    sigma: float | None = None  # of Gaussian rewards


def _linear() -> dict[str, Instance]:
    rng = np.random.default_rng(1)
    sphere = rng.normal(size=(20, 5))
    sphere /= np.linalg.norm(sphere, axis=1, keepdims=True)
    topics = rng.dirichlet(np.full(5, 0.6), size=20)
    level = rng.normal(size=(20, 5))
    level /= np.linalg.norm(level, axis=1, keepdims=True)
    level[:, 0] = 1.0
    coins: dict[str, Any] = {"reward_range": (0, 1)}
    return {
        "linear sphere": Instance(
            lambda: sb.linear(sphere, bounds=(-1, 1), reward_range=(-9, 9)),
            sphere @ [0.6, -0.5, 0.4, 0.3, -0.2],
            154.0416,
            (3403, 143),
            1.0,
        ),
        "linear topics": Instance(
            lambda: sb.linear(topics, bounds=(0, 1), **coins),
            topics @ [0.02, 0.08, 0.15, 0.22, 0.30],
            3922.62,
            (123_000, 6_000),
        ),
        "linear level": Instance(
            lambda: sb.linear(level, bounds=(-1, 1), low=0.0, high=1.0, **coins),
            level @ [0.45, 0.15, -0.12, 0.1, 0.08],
            1527.14,
            (39_700, 2_100),
        ),
    }


def _mixtures() -> dict[str, Instance]:
    rng = np.random.default_rng(11)
    found = {}
    for name, shape, ends, weights, time, pulls in (
        ("mixtures 4 × 10", (4, 10), (0.02, 0.3), (0.4, 0.3, 0.2, 0.1), 20.85663, (155, 11)),
        (
            "mixtures 6 × 12",
            (6, 12),
            (0.02, 0.2),
            (0.35, 0.05, 0.25, 0.15, 0.1, 0.1),
            1210.85,
            (20_200, 1_100),
        ),
        ("mixtures 3 × 10", (3, 10), (0.2, 0.8), (0.2, 0.5, 0.3), 2293.71, (22_800, 1_100)),
    ):
        table = np.round(rng.uniform(*ends, shape), 3)
        found[name] = Instance(
            lambda table=table: sb.mixtures(table), np.array(weights) @ table, time, pulls
        )
    return found


def _shapes() -> dict[str, Instance]:
    fine, coarse, arms = np.linspace(0, 1, 20), np.linspace(0, 1, 12), np.arange(15)
    row = lambda: sb.unimodal(15)  # noqa: E731
    return {
        "lipschitz, a wall": Instance(
            lambda: sb.lipschitz(fine, 1.0), 0.8 - abs(fine - 0.63), 754.6, (15_200, 1_100)
        ),
        "lipschitz, inside": Instance(
            lambda: sb.lipschitz(coarse, 1.0),
            0.75 - 0.6 * abs(coarse - 0.63),
            1056.56,
            (17_500, 800),
        ),
        "lipschitz, two hills": Instance(
            lambda: sb.lipschitz(coarse, 3.0),
            0.3 + 0.25 * np.sin(3 * np.pi * coarse) + 0.08 * coarse,
            1200.0,
            (19_200, 1_000),
        ),
        "unimodal tent": Instance(row, 0.9 - 0.8 * abs(arms - 9) / 9, 176.730, (2_770, 121)),
        "unimodal rates": Instance(
            row, 0.02 + 0.1 * np.exp(-(((arms - 4) / 3) ** 2)), 10727.5, (211_000, 8_000)
        ),
        "unimodal flat": Instance(
            row, np.where(arms == 10, 0.3, 0.25 - 0.012 * abs(arms - 10)), 597.672, (10_200, 400)
        ),
        "unimodal edge": Instance(row, 0.7 - 0.04 * arms, 1087.43, (17_500, 800)),
    }


INSTANCES: dict[str, Instance] = {**_linear(), **_mixtures(), **_shapes()}
