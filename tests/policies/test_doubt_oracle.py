"""ModelTS with trust below 1 plays what docs/notes/mathematics.md 2.18 says; its oracle against integrals."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from oracles import posteriors
from oracles.structures import Game, real
from scipy.integrate import quad
from scipy.stats import beta
from support.exactness import assert_met
from support.taped_contests import doubtful_model_ts
from support.uniform_tapes import DrawTape, play_draws

import structured_bandits as sb
from structured_bandits.inference.spike_and_slab import STRENGTHS


@pytest.mark.parametrize("strengths", [STRENGTHS, (100.0,), (4.0, 0.5)], ids=len)
def test_arms_are_those_of_the_definition(strengths: tuple[float, ...]) -> None:
    """On a tape of uniforms; trust nothing, something or much; arms are off or never."""
    met = sum((doubtful_model_ts(81, index, strengths) for index in range(100)), Counter[str]())
    assert_met(met, pulls=3000, switches=60, ties=100, tempered=20, never_off=20)
    assert_met(met, places_exact=500, places_some_off=500, places_near=1200)
    assert_met(met, arms_off=1400, played_off=400, played_exact=1000, played_near=800)
    assert met["near_ties_broken"] <= 1, met


@pytest.mark.parametrize("table", [[[0.1] * 3], [[0.7] * 7]], ids=["0.1", "0.7"])
def test_a_table_of_equal_entries_has_the_uniform_slab(table: list[list[float]]) -> None:
    """Though the variance of equal entries, computed in floats, is not 0 but 1e-34."""
    rng = np.random.default_rng(82)
    arms = len(table[0])
    rewards = rng.integers(0, 2, (arms, 40)).astype(float)
    uniforms = rng.random(40 * (1 + 2 * arms)).tolist()
    told: dict[str, Any] = {"trust": 0.25, "off": 0.5, "strengths": (4.0,)}
    trace = posteriors.doubtful_model_ts(table, rewards.tolist(), 40, uniforms, **told)
    policy = sb.ModelTS(sb.FiniteStructure(table), **told)
    played = play_draws(policy, rewards, 40, DrawTape(uniforms), planning=True)
    assert list(played.arms) == trace.arms


# -------------------------------------------------------------------------- the oracle itself

TABLE = [[0.625, 0.25, 0.5], [0.375, 0.5, 0.75], [0.5, 0.75, 0.25]]
TRUST, OFF, STRENGTHS_HERE, PRIOR = 0.5, 0.25, (8.0, 20.0), (1, 2, 3)
PULLS, SUMS = (6, 3, 9), (2, 2, 4)


def evidence(law: tuple[float, float], wins: float, losses: float) -> float:
    """The likelihood of the data of an arm if its mean has this Beta law, by integration."""
    found, error = quad(
        lambda mean: mean**wins * (1 - mean) ** losses * beta.pdf(mean, *law),
        0,
        1,
        epsabs=0,
        epsrel=1e-13,
        limit=500,
    )
    assert error < 1e-12 * found
    return float(found)


def integrated(temper: float) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of the places, and that of every arm to be off at each of them."""
    middle, spread = float(np.mean(TABLE)), float(np.var(TABLE))
    size = middle * (1 - middle) / (2 * spread) - 1
    weights, offs = [], []
    levels = [
        (TRUST**2, None, 0.0),
        (2 * TRUST * (1 - TRUST), None, OFF),
        *(((1 - TRUST) ** 2 / len(STRENGTHS_HERE), k, OFF) for k in STRENGTHS_HERE),
    ]
    for weight, strength, off in levels:
        for row, prior in zip(TABLE, PRIOR, strict=True):
            likelihood, chances = weight * prior, []
            for mean, pulls, total in zip(row, PULLS, SUMS, strict=True):
                wins, losses = temper * total, temper * (pulls - total)
                spike = mean**wins * (1 - mean) ** losses
                if strength is not None:
                    spike = evidence((strength * mean, strength * (1 - mean)), wins, losses)
                slab = off * evidence((size * middle, size * (1 - middle)), wins, losses)
                likelihood *= (1 - off) * spike + slab
                chances.append(slab / ((1 - off) * spike + slab))
            weights.append(likelihood)
            offs.append(chances)
    return np.array(weights) / sum(weights), np.array(offs)


@pytest.mark.parametrize("temper", [1.0, 0.5])
def test_posterior_of_places_is_that_of_integrals(temper: float) -> None:
    """As floats and exactly, though the oracle knows nothing of integrals."""
    game = Game.after(PULLS, SUMS)
    places = posteriors.Places(TABLE, game, TRUST, OFF, STRENGTHS_HERE, PRIOR, temper)
    weights, offs = integrated(temper)
    assert weights.max() < 0.5  # the data leave many places open
    assert places.relative() == pytest.approx(weights, rel=1e-12)
    parts = [places.split(p) for p in range(len(weights))]
    exactly = np.array([float(real(rational) * number) for _, rational, number in parts])
    assert exactly / exactly.sum() == pytest.approx(weights, rel=1e-12)
    for p, chances in enumerate(offs):
        assert [places.off_chance(p, i) for i in range(3)] == pytest.approx(chances, rel=1e-12)
        shares = [places.shares(p, i) for i in range(3)]
        assert [float(b / (a + b)) for a, b in shares] == pytest.approx(chances, rel=1e-12)


def test_whether_an_arm_is_off_is_settled_exactly() -> None:
    """Off at uniforms below the chance, by however little; not at the chance itself."""
    game, step = Game.after(PULLS, SUMS), Fraction(1, 2**80)
    places = posteriors.Places(TABLE, game, TRUST, OFF, STRENGTHS_HERE, PRIOR)
    spike, slab = places.shares(4, 2)
    chance = slab / (spike + slab)
    found = [places.is_off(4, 2, u) for u in (chance - step, chance, chance + step)]
    assert (found, game.trace.ties) == ([True, False, False], 1)
