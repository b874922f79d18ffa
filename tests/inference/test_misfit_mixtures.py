"""How likely rewards are if nothing is known, for whole tables, against numbers of 60 digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.misfit import Coins
from oracles.structures import exact

from structured_bandits.inference.misfit.reward_likelihood import (
    LARGE,
    Counts,
    RewardScale,
    log_mixture,
    log_mixtures,
)

UNIT = RewardScale(False, 0.0, 1.0, 0.5, np.empty(0))


@pytest.mark.parametrize("pulls", [1, 2, LARGE - 1, LARGE, LARGE + 1, 50, 10**4, 10**6, 10**9])
def test_coins_against_the_oracle(pulls: int) -> None:
    """No hits, no misses, some of both, and halves of them; on both sides of where the series begins."""
    rng = np.random.default_rng(pulls)
    some = np.concatenate([[0.0, 0.5, 1.0, pulls / 2, pulls - 0.5, pulls], rng.random(9) * pulls])
    hits = some[(some >= 0.0) & (some <= pulls)]
    found = log_mixtures(UNIT, Counts(hits, pulls - hits))
    expected = [float(Coins().log_mixture(0, pulls, exact(float(each)))) for each in hits]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14 + 1e-16 * pulls)


def test_of_what_was_not_seen_nothing_is_known() -> None:
    nothing = Counts(np.zeros((2, 3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(log_mixtures(UNIT, nothing), np.zeros((2, 3)))
    gaussian = RewardScale(True, 0.0, 1.0, 0.7, np.array([0.3, -1.0, 2.0]))
    np.testing.assert_array_equal(log_mixtures(gaussian, nothing), np.zeros((2, 3)))


def test_tables_have_the_numbers_of_single_arms() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 40, (2, 5, 3)).astype(float)
    for scale in (UNIT, RewardScale(True, 0.0, 1.0, 0.7, np.array([0.3, -1.0, 2.0]))):
        found = log_mixtures(scale, Counts(first, second))
        for (run, arm), value in np.ndenumerate(found):
            expected = log_mixture(scale, arm, first[run, arm], second[run, arm])
            assert math.isclose(value, expected, rel_tol=1e-12, abs_tol=1e-12)
