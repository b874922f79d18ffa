"""Intervals for running means: how wide they are, and how often they miss while a policy learns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import binomtest

from structured_bandits.inference.running_mean import TILTS, running_mean_interval


def log_evidence(mean: Any, p: Any, count: int) -> Any:
    """Of all running means `mean` and true running means `p`, as the definition says, lives by tilts."""
    exponents = count * (
        mean[:, None] * TILTS - np.log(1 - p[:, None] + p[:, None] * np.exp(TILTS))
    )
    top = exponents.max(axis=1)
    return top + np.log(np.exp(exponents - top[:, None]).mean(axis=1))


@pytest.mark.parametrize(
    ("count", "half"), [(300, 0.0538), (3_000, 0.0171), (30_000, 0.0054), (300_000, 0.0017)]
)
def test_half_widths(count: int, half: float) -> None:
    """At a mean of .08: narrower than Hoeffding's interval for a single look from 300 rewards on."""
    low, high = running_mean_interval(0.08 * count, count, 0.05)
    assert 0.5 * (high - low) == pytest.approx(half, rel=0.02)
    assert 0.5 * (high - low) < math.sqrt(math.log(40.0) / 2.0 / count)


@pytest.mark.parametrize(("total", "count"), [(0.0, 40), (40.0, 40), (7.5, 20), (900.0, 10_000)])
def test_the_ends_are_where_the_evidence_is_enough(total: float, count: int) -> None:
    """With 40 digits."""
    low, high = running_mean_interval(total, count, 0.01)
    with mp.workdps(40):
        for end in (low, high):
            if end in (0.0, 1.0):
                continue
            terms = [
                mp.exp(mpf(x) * total - count * mp.log(1 - mpf(end) + mpf(end) * mp.exp(mpf(x))))
                for x in TILTS.tolist()
            ]
            assert float(mp.log(sum(terms) / len(terms))) == pytest.approx(
                math.log(100.0), rel=1e-9
            )
    assert low <= total / count <= high


def test_other_units_and_no_rewards() -> None:
    plain, scaled = (
        running_mean_interval(30.0, 200, 0.05),
        running_mean_interval(300.0, 200, 0.05, (0, 10)),
    )
    assert scaled == pytest.approx([10 * end for end in plain])
    assert running_mean_interval(0.0, 0, 0.05, (-1.0, 3.0)) == (-1.0, 3.0)


@pytest.mark.parametrize(
    "kind", ["constant", "a jump", "against the interval", "a policy that learns"]
)
def test_misses_under_peeking(kind: str) -> None:
    """2,000 lives of 3,000 rewards, looked at 130 times: at most the level misses its running mean."""
    rng, lives = np.random.default_rng(4), 2_000
    total, mean_sum, missed = np.zeros(lives), np.zeros(lives), np.zeros(lives, bool)
    wins, losses = np.ones((lives, 2)), np.ones((lives, 2))
    looks = set(np.unique(np.geomspace(1, 3_000, 130).astype(int)).tolist())
    for t in range(1, 3_001):
        if kind == "constant":
            p = np.full(lives, 0.1)
        elif kind == "a jump":
            p = np.full(lives, 0.02 if t < 1_000 else 0.2)
        elif kind == "against the interval":
            p = np.where(total < mean_sum, 0.3, 0.01)
        else:  # Thompson sampling on two arms
            arm = rng.beta(wins, losses).argmax(axis=1)
            p = np.array([0.05, 0.15])[arm]
        hit = rng.random(lives) < p
        if kind == "a policy that learns":
            wins[np.arange(lives), arm] += hit
            losses[np.arange(lives), arm] += ~hit
        total += hit
        mean_sum += p
        if t in looks:
            missed |= log_evidence(total / t, mean_sum / t, t) >= math.log(1 / 0.05)
    assert binomtest(int(missed.sum()), lives, 0.05, alternative="greater").pvalue > 1e-6
    assert missed.any() or kind == "a policy that learns"
