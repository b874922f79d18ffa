"""What is proved of likelihood sets (docs/notes/mathematics.md 4.6), where it could fail."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import binomtest

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import figure1_right

SHOP = np.round(np.random.default_rng(11).uniform(0.01, 0.16, (6, 8)), 3)
RIGHT = figure1_right().cells.table


class Lost(NamedTuple):
    """How many runs lost the truth from the set, and its best arm from the race; what all runs lost."""

    truth: int
    arm: int
    regret: Any


def eliminate(table: Any, truth: int, n: int, runs: int, seed: int) -> Lost:
    """Play SAE with a look after each round, many runs side by side, as one would write it in NumPy."""
    rng = np.random.default_rng(seed)
    models, arms = table.shape
    best = table.argmax(axis=1)
    logs, pulled = np.zeros((runs, models)), np.zeros(runs, np.int64)
    active = np.tile(np.isin(np.arange(arms), best), (runs, 1))
    out, regret = np.zeros(runs, bool), np.zeros(runs)
    with np.errstate(divide="ignore"):
        ones, zeros = np.log(table), np.log1p(-table)
    while (pulled < n).any():
        for arm in range(arms):
            here = active[:, arm] & (pulled < n)
            hits = rng.random(runs) < table[truth, arm]
            logs[here] += np.where(hits[here, None], ones[:, arm], zeros[:, arm])
            pulled += here
            regret += here * (table[truth].max() - table[truth, arm])
        top = logs.max(axis=1, keepdims=True)
        total = top[:, 0] + np.log(np.exp(logs - top).mean(axis=1))
        inside = total[:, None] - logs < np.log(n)
        out |= ~inside[:, truth]
        found = np.zeros_like(active)
        for model in range(models):
            found[:, best[model]] |= inside[:, model]
        kept = active & found
        active = np.where(kept.any(axis=1)[:, None], kept, active)
    return Lost(int(out.sum()), int((~active[:, best[truth]]).sum()), regret)


@pytest.mark.parametrize(("table", "truth"), [(SHOP, 0), (SHOP, 3), (RIGHT, 0), (RIGHT, 2)])
def test_the_truth_is_lost_as_rarely_as_proved(table: Any, truth: int) -> None:
    """At n = 200 in at most one of 200 runs, whatever is looked at."""
    lost = eliminate(table, truth, 200, 20_000, seed=truth)
    assert lost.arm <= lost.truth
    assert lost.truth > 0, "and it is lost at times, so the test could fail"
    assert binomtest(lost.truth, 20_000, 1 / 200, alternative="greater").pvalue > 1e-6


@pytest.mark.parametrize("truth", [0, 3])
def test_the_library_loses_as_much(truth: int) -> None:
    structure = sb.FiniteStructure(SHOP)
    policy, world = sb.SAE(structure, 300), sb.Bernoulli(SHOP[truth])
    ours = sb.simulate(policy, world, 300, 4_000, seed=1, progress=False).regret["SAE"][:, -1]
    theirs = eliminate(SHOP, truth, 300, 4_000, seed=2).regret
    spread = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 4_000)
    assert abs(ours.mean() - theirs.mean()) < 4 * spread


def bound(table: Any, truth: int, horizon: int, **parameters: Any) -> Any:
    """Return the row of the bound."""
    structure = sb.FiniteStructure(table)
    policy = sb.SAE(structure, horizon, **parameters)
    return sb.analyse(structure, truth).bounds(horizon, {"it": policy}).iloc[0]


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_two_models(alpha: float) -> None:
    row = bound([[0.8, 0.3], [0.2, 0.7]], 0, 5_000, alpha=alpha)
    told, step, passed = mpf(0), mpf(0), mpf(1)
    for p, q in ((mpf("0.8"), mpf("0.2")), (mpf("0.3"), mpf("0.7"))):
        ones, zeros = mp.log(p / q), mp.log((1 - p) / (1 - q))
        told, step = told + p * ones + (1 - p) * zeros, step + max(ones, zeros)
        passed *= mp.sqrt(p * q) + mp.sqrt((1 - p) * (1 - q))
    rounds = 1 + (alpha * mp.log(5_000) + mp.log(2) + step) / told + 1 / (1 - passed)
    expected = mpf("0.5") * rounds + mpf("0.5") * mpf(5_000) ** (1 - alpha)
    assert (row["bound"], row["valid"]) == ("SAE, likelihood sets (4.6)", True)
    assert row["value"] == pytest.approx(float(expected), rel=1e-12)


def test_what_it_does_not_cover() -> None:
    table = [[0.8, 0.3], [0.2, 0.7]]
    structure = sb.FiniteStructure(table)
    bounds = sb.analyse(structure, 0).bounds
    for policy in (sb.SUCB(structure), sb.ASAE(structure), sb.SAE(structure, 100, looks="phase")):
        row = bounds(100, {"it": policy}).iloc[0]
        assert (row["bound"], row["valid"]) == ("none", False)
        assert "looks='round' alone" in row["why_not"]
    late = bounds(200, {"it": sb.SAE(structure, 100)}).iloc[0]
    assert "the policy was built for 100" in late["why_not"]
    assert "means of 0 or 1" in bound([[1.0, 0.3], [0.2, 0.7]], 0, 100)["why_not"]


@pytest.mark.parametrize("index", range(10))
def test_mean_regret_stays_below_the_bound(index: int) -> None:
    rng = np.random.default_rng([19, index])
    table = np.round(rng.uniform(0.05, 0.95, (rng.integers(2, 7), rng.integers(2, 5))), 2)
    structure, horizon, runs = sb.FiniteStructure(table), 2_000, 400
    for alpha in (1.0, 0.5):
        policy = sb.SAE(structure, horizon, alpha=alpha)
        row = sb.analyse(structure, 0).bounds(horizon, policy).iloc[0]
        assert row["valid"], row["why_not"]
        result = sb.simulate(policy, sb.Bernoulli(table[0]), horizon, runs, seed=index)
        regret = result.regret["SAE"][:, -1]
        assert regret.mean() - 4 * regret.std(ddof=1) / np.sqrt(runs) <= row["value"]
