"""Broken plans of ModelTS are noticed by the comparison with pull-by-pull play.

Each mutant takes a step of the proof away (docs/notes/lookahead.md 20); a mutant that nobody notices would mean
that the comparison does not look where the proof matters. Only the corner of hits *and* misses hardly
ever matters in play: it counts for models between those of the leader, where Jensen's inequality leaves
room. That one, with all the others, is noticed by a look at the bound itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.model_cases import ModelCase, draw_model_case
from support.uniform_tapes import play_tape

import structured_bandits as sb
from structured_bandits.lookahead import model_ts, table_odds
from structured_bandits.lookahead.rejection_skip import NOT_WAITING, Thinning

CASES = 300
pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)


def sampler(case: ModelCase) -> sb.ModelTS:
    return sb.ModelTS(case.structure, prior=case.prior, temper=case.temper)


@pytest.fixture(scope="module")
def cases() -> list[tuple[ModelCase, list[int]]]:
    """Return cases with the arms of pull-by-pull play, which no plan can change."""
    drawn = [draw_model_case(5, index, hostile_for=sampler) for index in range(CASES)]
    return [
        (case, play_tape(sampler(case), case.rewards, case.uniforms, planning=False)[0].arms)
        for case in drawn
    ]


def noticed(cases: list[tuple[ModelCase, list[int]]]) -> bool:
    """Does planned play differ in some case, or take a uniform for what it is not?"""
    for case, arms in cases:
        try:
            played, _ = play_tape(sampler(case), case.rewards, case.uniforms, planning=True)
        except AssertionError:
            return True
        if played.arms != arms:
            return True
    return False


def bounds_hold() -> bool:
    """Are the odds inside what may come at most those at its corners, and slopes the steepest?"""
    rng = np.random.default_rng(6)
    heavy = np.arange(1)
    for _ in range(200):
        hit, miss, share = rng.normal(), rng.normal(), rng.uniform(0.3, 0.9)
        length = int(rng.integers(4, 12))
        misses = int(share * length)
        slopes = table_odds.Slopes(np.array([hit]), np.array([miss]), 0.0, 0.0, 0.0)
        belief: Any = SimpleNamespace(logs=np.zeros(1))
        odds = max(1.0, table_odds.heavy_odds(belief, slopes, heavy, length, misses))
        rise = max(0.0, length * table_odds.steepest(hit, miss, share))
        for z in range(misses + 1):
            for o in range(length - z + 1):
                if o * hit + z * miss > min(math.log(odds), rise) + 1e-9:
                    return False
    return True


def without_corner(
    real: Callable[..., float], left_out: Callable[[int, int], bool]
) -> Callable[..., float]:
    def odds_after(belief: Any, slopes: Any, heavy: Any, hits: int, misses: int) -> float:
        return 0.0 if left_out(hits, misses) else real(belief, slopes, heavy, hits, misses)

    return odds_after


CORNERS = {
    "hits only": lambda hits, misses: hits > 0 and misses == 0,
    "misses only": lambda hits, misses: hits == 0 and misses > 0,
    "hits and misses": lambda hits, misses: hits > 0 and misses > 0,
}

SLOPES = {
    "hits only": lambda hit, miss, share: max(miss * share, hit + (miss - hit) * share),
    "misses only": lambda hit, miss, share: max(hit, hit + (miss - hit) * share),
    "hits and misses": lambda hit, miss, share: max(hit, miss * share),
}


def forgetful(low: bool, high: bool) -> Callable[[Thinning, int], None]:
    """Return an `end_wait` that forgets what is known when a wait was cut, or when it ran out."""

    def end_wait(thinning: Thinning, pulls: int) -> None:
        ran_out = pulls == thinning.wait[0] + 1
        keep = thinning.wait[0] != NOT_WAITING and not (high if ran_out else low)
        thinning.known[0] = thinning.bound[0] if keep and not ran_out else 0.0
        thinning.known[1] = thinning.bound[0] if keep and ran_out else 1.0
        thinning.wait[0] = NOT_WAITING

    return end_wait


def test_what_is_not_broken_is_not_noticed(cases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_ts, "end_wait", forgetful(low=False, high=False))
    assert not noticed(cases)
    assert bounds_hold()


@pytest.mark.parametrize("factor", [0.2, 0.5])
def test_a_bound_that_is_too_small(
    cases: Any, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    monkeypatch.setattr(table_odds, "margin", lambda length: factor)
    assert noticed(cases)


@pytest.mark.parametrize("corner", CORNERS)
def test_a_corner_left_out(cases: Any, monkeypatch: pytest.MonkeyPatch, corner: str) -> None:
    broken = without_corner(table_odds.odds_after, CORNERS[corner])
    monkeypatch.setattr(table_odds, "odds_after", broken)
    assert not bounds_hold()
    assert corner == "hits and misses" or noticed(cases)


@pytest.mark.parametrize("slope", SLOPES)
def test_a_slope_left_out(cases: Any, monkeypatch: pytest.MonkeyPatch, slope: str) -> None:
    monkeypatch.setattr(table_odds, "steepest", SLOPES[slope])
    assert not bounds_hold()
    assert slope == "hits and misses" or noticed(cases)


def test_a_leader_that_may_lose_its_lead(cases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_odds, "MOST_ODDS", 2.0)
    assert noticed(cases)


@pytest.mark.parametrize(("low", "high"), [(True, False), (False, True), (True, True)])
def test_what_is_known_of_the_next_uniform_forgotten(
    cases: Any, monkeypatch: pytest.MonkeyPatch, low: bool, high: bool
) -> None:
    monkeypatch.setattr(model_ts, "end_wait", forgetful(low, high))
    assert noticed(cases)
