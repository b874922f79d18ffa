"""The regret bound of ISAE's threshold rule (docs/notes/mathematics.md 2.22): its value, and where it could fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy.stats import binomtest

import structured_bandits as sb
from structured_bandits.theory.upper_bounds import _sum_of_powers


def bound(table: Any, truth: int, horizon: int, **parameters: Any) -> Any:
    """Return the row of the bound."""
    structure = sb.FiniteStructure(table)
    policy = sb.ISAE(structure, **parameters)
    return sb.analyse(structure, truth).bounds(horizon, {"it": policy}).iloc[0]


def coins(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """Return divergence, largest step and affinity of two coins."""
    ones, zeros = mp.log(p / q), mp.log((1 - p) / (1 - q))
    affinity = mp.sqrt(p * q) + mp.sqrt((1 - p) * (1 - q))
    return p * ones + (1 - p) * zeros, max(ones, zeros), affinity


def test_two_models() -> None:
    """One model to refute, by either arm; it is wrong, and its own best arm tells it."""
    row = bound([[0.8, 0.3], [0.2, 0.7]], 0, 5_000, rule="threshold")
    one, two = coins(mpf("0.8"), mpf("0.2")), coins(mpf("0.3"), mpf("0.7"))
    least, step, affinity = min(one[0], two[0]), max(one[1], two[1]), max(one[2], two[2])
    tests = (mp.log(5_001) + mp.log(2) + step) / least + 1 / (1 - affinity)
    expected = mpf("0.5") * (tests + 1 / (1 - affinity))
    assert (row["bound"], row["valid"]) == ("ISAE, threshold (2.22)", True)
    assert row["value"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("c", [1.0, 0.5])
def test_a_masked_decoy(c: float) -> None:
    """The other model's best arm pays the same in the truth, and cannot refute it."""
    row = bound([[0.6, 0.5], [0.3, 0.5]], 0, 1_000, rule="threshold", c=c, prior=[1, 3])
    divergence, step, affinity = coins(mpf("0.6"), mpf("0.3"))
    tests = (c * mp.log(1_001) + mp.log(4) + step) / divergence + 1 / (1 - affinity)
    expected = mpf("0.1") * (tests + sum(mpf(s) ** -c for s in range(2, 1_001)))
    assert row["valid"]
    assert row["value"] == pytest.approx(float(expected), rel=1e-12)


def test_what_it_does_not_cover() -> None:
    table = [[0.8, 0.3], [0.2, 0.7]]
    row = bound(table, 0, 100)
    assert (row["bound"], row["valid"]) == ("ISAE, value rule (2.22)", False)
    assert "the rest is O(log n)" in row["why_not"]
    gaussian = bound(table, 0, 100, rule="threshold", reward_range=None, sigma=0.5)
    assert (gaussian["valid"], gaussian["why_not"]) == (
        False,
        "the proof is for rewards in a range",
    )
    structure = sb.FiniteStructure(table)
    outside = sb.analyse(structure, [0.8, 0.4]).bounds(100, sb.ISAE(structure, rule="threshold"))
    assert "the truth is not a row of the table" in outside["why_not"].iloc[0]
    sure = bound([[1.0, 0.3], [0.2, 0.7]], 0, 100, rule="threshold")
    assert "means of 0 or 1" in sure["why_not"]


def test_the_part_of_the_value_rule() -> None:
    """One rival: a nat costs at most the largest gap over its divergence on the other arm."""
    row = bound([[0.8, 0.3], [0.2, 0.7]], 0, 5_000)
    per_nat = mpf("0.5") / min(coins(mpf("0.3"), mpf("0.7"))[0], coins(mpf("0.2"), mpf("0.8"))[0])
    expected = mpf("0.3") * per_nat * 2 * (mpf(1) / 100 + mp.log(1 + mpf(5_000) / 100))
    assert row["value"] == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("c", [1.0, 0.25])
def test_the_truth_leaves_the_set_as_rarely_as_proved(c: float) -> None:
    """At each time at most with probability (t + 1)^-c, whatever is pulled; some rules come near."""
    rng, runs = np.random.default_rng(1), 20_000
    table = np.array([[0.6, 0.5, 0.4], [0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.55, 0.5, 0.45]])
    logs = np.zeros((runs, 4))
    for t in range(1, 60):
        arms = table[logs.argmax(axis=1)].argmax(axis=1)  # greedy, on the likeliest model
        hits = rng.random(runs) < table[0, arms]
        means = table[:, arms].T
        logs += np.log(np.where(hits[:, None], means, 1.0 - means))
        out = np.log(np.exp(logs).mean(axis=1)) - logs[:, 0] >= c * np.log(t + 1)
        assert binomtest(int(out.sum()), runs, (t + 1) ** -c, alternative="greater").pvalue > 1e-6
        if c < 1.0 and t == 59:
            assert out.any(), "and it is not for nothing"


@pytest.mark.parametrize("index", range(12))
def test_mean_regret_stays_below_the_bound(index: int) -> None:
    """Random tables; some with masked decoys."""
    rng = np.random.default_rng([9, index])
    table = np.round(rng.uniform(0.05, 0.95, (rng.integers(2, 7), rng.integers(2, 5))), 2)
    if index % 2:
        table[1] = table[0]
        table[1, table[0].argmax()] = 0.03
    structure, horizon, runs = sb.FiniteStructure(table), 2_000, 400
    for c in (1.0, 0.5):
        policy = sb.ISAE(structure, rule="threshold", c=c)
        row = sb.analyse(structure, 0).bounds(horizon, policy).iloc[0]
        assert row["valid"], row["why_not"]
        result = sb.simulate(policy, sb.Bernoulli(table[0]), horizon, runs, seed=index)
        regret = result.regret["ISAE"][:, -1]
        assert regret.mean() - 4 * regret.std(ddof=1) / np.sqrt(runs) <= row["value"]


def test_models_that_nearly_coincide_and_very_long_horizons() -> None:
    """Found by an attack: a negative bound, and a sum of 10^12 terms."""
    near = [0.15393033735323966, 0.07823704671985163]
    other = [0.15393034032597117, 0.07823704969258312]
    table = [near, other, near[::-1]]
    assert bound(table, 0, 1_000, rule="threshold")["value"] > 1e9
    masked = [[0.6, 0.4, 0.2], [0.3, 0.4, 0.2], [0.1, 0.4, 0.6]]
    for c in (1.0, 0.5):
        long, longer = (
            bound(masked, 0, n, rule="threshold", c=c)["value"] for n in (10**6, 10**12)
        )
        assert longer > long
    sums = sum(s**-0.5 for s in range(2, 2_000_001))
    assert sums < _sum_of_powers(2_000_000, 0.5) < sums + 1e-3
