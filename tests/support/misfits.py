"""Runs of hostile policies under the e-value: how often does a right structure ring?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import structured_bandits as sb
from structured_bandits.inference.misfit.build import misfit_test
from structured_bandits.inference.misfit.e_value import (
    fresh_look_memory,
    fresh_watching,
    look_if_due,
    settle_pulls,
)

Rng = np.random.Generator
Draw = Callable[[int, int, Rng], float]  # the sum of some rewards of an arm


def made_for(
    structure: sb.Structure, sigma: float | None = None, low: float = 0.0, high: float = 1.0
) -> Any:
    """The test for rewards in a range, or Gaussian ones."""
    ends = (low, high) if sigma is None else (-math.inf, math.inf)
    return misfit_test(structure, *ends, 0.5 if sigma is None else sigma)


def largest(test: Any, draw: Draw, arms: int, pulls: int, rng: Rng) -> float:
    """The largest log E of a policy that follows the best average half of the time.

    Between two looks it stays with an arm.
    """
    watching, memory = fresh_watching(arms), fresh_look_memory(test)
    while watching.times[0] < pulls:
        averages = watching.sums / np.maximum(watching.pulls, 1)
        arm = int(averages.argmax()) if rng.random() < 0.5 else int(rng.integers(arms))
        count = int(watching.times[1] - watching.times[0])
        settle_pulls(watching, arm, count, draw(arm, count, rng))
        assert look_if_due(test, watching, memory)
    return float(watching.largest[0])


def coin(means: Any) -> Draw:
    return lambda arm, count, rng: float(rng.binomial(count, means[arm]))


def share(means: Any) -> Draw:
    """Rewards that are not 0/1: about half of them lie between."""

    def total(arm: int, count: int, rng: Rng) -> float:
        between = rng.binomial(count, 0.5)
        return float(between * means[arm] + rng.binomial(count - between, means[arm]))

    return total


def normal(means: Any) -> Draw:
    return lambda arm, count, rng: float(rng.normal(count * means[arm], 0.5 * math.sqrt(count)))
