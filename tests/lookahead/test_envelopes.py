"""Envelopes lie above the densities, and draws by them have the law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betainc, betaincc
from scipy.stats import beta, kstest

from structured_bandits.lookahead.rejection_envelopes import (
    Betas,
    Envelopes,
    accepted_mean,
    fresh_envelopes,
    mean_beyond,
    most_misses,
    raise_envelope,
    write_lower_tail,
    write_upper_tail,
)


def envelope_at(envelopes: Envelopes, mean: Any) -> Any:
    """Return the logarithm of the envelope of arm 0."""
    return envelopes.heights[0] - envelopes.slopes[0] * np.abs(mean - envelopes.level[0])


def one_arm(a: float, b: float, level: float) -> tuple[Envelopes, Betas]:
    envelopes = fresh_envelopes(1)
    envelopes.level[0] = level
    return envelopes, Betas(np.array([a]), np.array([b]))


def random_law(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Return a, b, mean and deviation of a law; whole counts and others, few and many."""
    counts = 10.0 ** rng.uniform(0.5, 6.0)
    share = rng.random()
    a, b = 1.0 + counts * share, 1.0 + counts * (1.0 - share)
    if rng.random() < 0.5:
        a, b = float(round(a)), float(round(b))
    mean = a / (a + b)
    return a, b, mean, math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))


def test_upper_tails() -> None:
    rng = np.random.default_rng(1)
    made = 0
    for _ in range(500):
        a, b, mean, deviation = random_law(rng)
        level = mean + rng.uniform(0.0, 8.0) * deviation
        if not 0.0 < level < 1.0:
            continue
        envelopes, betas = one_arm(a, b, level)
        log_mass = write_upper_tail(envelopes, betas, 0)
        if log_mass == math.inf:
            continue
        made += 1
        means = np.minimum(level + deviation * np.linspace(0.0, 10.0, 60), 1.0)
        assert (beta.logpdf(means, a, b) <= envelope_at(envelopes, means) + 1e-8).all()
        assert math.isclose(
            log_mass, envelopes.heights[0] - math.log(envelopes.slopes[0]), abs_tol=1e-9
        )
        if log_mass < 0.0:
            assert math.isclose(envelopes.masses[0], math.exp(log_mass))
            assert betaincc(a, b, level) <= envelopes.masses[0]
    assert made > 300


def test_lower_tails_hold_for_all_rewards_within_the_misses() -> None:
    rng = np.random.default_rng(2)
    made = 0
    for _ in range(800):
        a, b, mean, deviation = random_law(rng)
        level = mean - rng.uniform(0.2, 8.0) * deviation
        if not 0.0 < level < 1.0:
            continue
        envelopes, betas = one_arm(a, b, level)
        most = most_misses(level, a, b)
        misses = float(math.floor(most * rng.choice([0.3, 0.9, 1.0])))
        if misses < 1.0 or write_lower_tail(envelopes, betas, 0, misses) == math.inf:
            continue
        made += 1
        means = np.maximum(level - deviation * np.linspace(0.0, 10.0, 60), 1e-300)
        bound = envelope_at(envelopes, means) + 1e-8
        for zeros in (0.0, 0.5 * misses, 0.77 * misses, misses):
            for ones in (0.0, 0.5, 1.0, 0.1 * (a + b), 10.0 * (a + b)):
                assert (beta.logpdf(means, a + ones, b + zeros) <= bound).all()
    assert made > 300


def test_an_envelope_for_misses_is_no_wider_than_it_need_be() -> None:
    """At the level, with all misses and no ones, it is the density."""
    envelopes, betas = one_arm(90.0, 12.0, 0.8)
    assert write_lower_tail(envelopes, betas, 0, 3.0) < 0.0
    assert math.isclose(envelopes.heights[0], beta.logpdf(0.8, 90.0, 15.0), abs_tol=1e-8)
    assert math.isclose(envelopes.slopes[0], 89.0 / 0.8 - 14.0 / 0.2)


@pytest.mark.parametrize(("a", "b"), [(0.9, 4.0), (4.0, 0.9), (0.5, 0.5)])
def test_laws_whose_logarithm_is_not_concave_have_none(a: float, b: float) -> None:
    envelopes, betas = one_arm(a, b, 0.5)
    assert write_upper_tail(envelopes, betas, 0) == math.inf
    assert write_lower_tail(envelopes, betas, 0, 1.0) == math.inf


LAWS = {"few": (3.0, 9.0, 0.45), "many": (700.0, 300.0, 0.725), "at the end": (1.0, 4.0, 0.6)}


@pytest.mark.parametrize("name", LAWS)
def test_proposals_that_are_accepted_have_the_law_beyond_the_level(name: str) -> None:
    """Upper tails of a law, and the same mirrored with a few rewards since the envelope was made."""
    a, b, level = LAWS[name]
    for side in (1.0, -1.0):
        envelopes, betas = one_arm(a, b, level)
        if side < 0.0:
            envelopes, betas = one_arm(b, a, 1.0 - level)
            assert write_lower_tail(envelopes, betas, 0, 1.0) < 0.0
            betas.a[0] += 2.0
            betas.b[0] += 1.0
        else:
            assert write_upper_tail(envelopes, betas, 0) < 0.0
        rng, tries = np.random.default_rng(17), 40_000
        drawn = np.array([accepted_mean(envelopes, betas, 0, side, rng) for _ in range(tries)])
        accepted = drawn[~np.isnan(drawn)]
        law = beta(betas.a[0], betas.b[0])
        edge = envelopes.level[0]
        tail = law.sf(edge) if side > 0.0 else law.cdf(edge)
        chance = tail / envelopes.masses[0]
        error = math.sqrt(chance * (1.0 - chance) / tries)
        assert abs(len(accepted) / tries - chance) <= 4.0 * error
        part = (law.sf(accepted) if side > 0.0 else law.cdf(accepted)) / tail
        assert kstest(part, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_means_given_their_side(side: float) -> None:
    betas = Betas(np.array([5.0]), np.array([3.0]))
    rng = np.random.default_rng(3)
    drawn = np.array([mean_beyond(0.6, betas, 0, side, rng) for _ in range(10_000)])
    below = float(betainc(5.0, 3.0, 0.6))
    shares = beta.cdf(drawn, 5.0, 3.0)
    part = (shares - below) / (1.0 - below) if side > 0.0 else shares / below
    assert kstest(part, "uniform").pvalue > 1e-3


def test_a_raised_envelope_is_one() -> None:
    envelopes, betas = one_arm(900.0, 10.0, 0.5)
    write_lower_tail(envelopes, betas, 0, 1.0)
    assert envelopes.masses[0] < 1e-100
    raise_envelope(envelopes, 0, 1e-15)
    assert envelopes.masses[0] == 1e-15
    mass, _ = quad(lambda mean: math.exp(envelope_at(envelopes, mean)), 0.47, 0.5)
    assert math.isclose(mass, 1e-15, rel_tol=1e-6)
    raise_envelope(envelopes, 0, 1e-20)
    assert envelopes.masses[0] == 1e-15
