"""Intervals of the table cover, and a maximum is not taken for what made it one."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from structured_bandits.advice.estimates import mean_of, quantile_of, worst_of
from structured_bandits.advice.truths import NamedTruth
from structured_bandits.base.text_tables import plus_minus


def binomial(least: int, most: int, count: int, share: float) -> float:
    """Return the probability of `least` to `most` successes."""
    return sum(
        comb(count, k) * share**k * (1.0 - share) ** (count - k) for k in range(least, most + 1)
    )


@pytest.mark.parametrize("count", [72, 128, 500])
def test_ends_of_the_quantile_are_ranks_that_leave_a_fortieth_on_either_side(count: int) -> None:
    """With samples 1, 2, … the ends are ranks; one rank further in would leave too much."""
    ranks = np.random.default_rng(count).permutation(np.arange(1.0, count + 1.0))
    _, low, high = quantile_of(ranks)
    assert low is not None
    assert high is not None
    below, above = int(low), int(high)
    assert binomial(0, below - 1, count, 0.95) <= 0.025 < binomial(0, below, count, 0.95)
    assert binomial(above, count, count, 0.95) <= 0.025 < binomial(above - 1, count, count, 0.95)


def test_few_samples_have_no_upper_end() -> None:
    assert quantile_of(np.arange(71.0)).high is None
    assert quantile_of(np.arange(72.0)).high == 71.0


def test_intervals_of_skew_means_cover_and_those_of_few_even_ones_are_student_t() -> None:
    rng = np.random.default_rng(3)
    ends = [mean_of(rng.exponential(1.0, 64) ** 1.5) for _ in range(1500)]  # skewness 4.1
    mean = 1.3293403881791370  # gamma(2.5)
    below, above = (np.mean([mean < x.low for x in ends]), np.mean([mean > x.high for x in ends]))
    assert below < 0.03
    assert above < 0.06  # Student's t: 0.09
    even = mean_of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert even.low == pytest.approx(2.5 - 3.182446305 * np.sqrt(5 / 12))
    assert even.high == pytest.approx(2.5 + 3.182446305 * np.sqrt(5 / 12))


def test_a_single_run_has_no_interval() -> None:
    assert mean_of(np.array([3.0])) == (3.0, None, None)


def test_the_worst_truth_is_estimated_on_runs_that_did_not_choose_it() -> None:
    rng = np.random.default_rng(4)
    trials = [NamedTruth(str(number), np.zeros(2)) for number in range(8)]
    found = [
        worst_of(trials, [rng.exponential(1.0, 64) for _ in trials]).regret.value
        for _ in range(400)
    ]
    assert np.mean(found) == pytest.approx(1.0, abs=4 * np.std(found) / 20)  # all truths are alike
    clear = worst_of(trials, [np.full(64, float(number)) for number in range(8)])
    assert (clear.truth, clear.regret.value) == ("7", 7.0)


def test_intervals_decide_how_many_digits_are_shown() -> None:
    assert plus_minus(1234.5, 1222.0, 1246.9) == "1,234 ± 12"
    assert plus_minus(0.123, 0.1, 0.155) == "0.12 ± 0.03"
