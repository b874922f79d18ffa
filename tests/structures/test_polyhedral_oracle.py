"""Random small polytopes against the oracle, which decides in fractions (naive_polyhedral.py).

The oracle was written from the definitions, without sight of the library. Polytopes have 0 to 3
parameters, are often lower-dimensional or touch each other, and arms often tie or coincide.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import polyhedral as naive
from support.boxes import best_arms, optimistic_arm
from support.play import play
from support.twins import by_programs

import structured_bandits as sb
from structured_bandits.base.confidence import Box, Data

CASES = 520
PLAYED = 40
pytestmark = pytest.mark.filterwarnings(
    "ignore::structured_bandits.MeansOutsideUnitIntervalWarning"
)
Rng = np.random.Generator


class Case(NamedTuple):
    structure: Any
    pieces: list[naive.Polytope]
    inside: np.ndarray  # the means of some model
    rng: Rng


def draw(index: int, most_arms: int = 4, gentle: bool = False) -> Case:
    """Pieces of one to three parameters in [0, 1] with further constraints around a given model."""
    rng = np.random.default_rng([41, index])
    arms = int(rng.integers(1, most_arms + 1))
    pieces = [_piece(rng, arms, gentle) for _ in range(int(rng.integers(1, 3)))]
    structure = by_programs(sb.PolyhedralStructure([sb.Polytope(*piece) for piece, _ in pieces]))
    piece, x = pieces[int(rng.integers(len(pieces)))]
    inside = np.array(piece.slopes).reshape(arms, -1) @ x + np.array(piece.intercepts)
    return Case(structure, [piece for piece, _ in pieces], inside, rng)


def _piece(rng: Rng, arms: int, gentle: bool) -> tuple[naive.Polytope, np.ndarray]:
    d = int(rng.choice([0, 1, 2, 2, 3]))
    fine = 4 if rng.random() < 0.5 else 64
    x = rng.integers(0, fine + 1, d) / fine
    slopes = rng.integers(-2, 3, (arms, d)) / 4
    intercepts = rng.integers(1, 8, arms) / 8
    if gentle:  # means are probabilities, and that of the first arm, often the best, never changes
        slopes = slopes / 2 * (np.arange(arms) > 0)[:, None]
        intercepts = np.append(0.5, rng.integers(5, 8, arms - 1) / 16)
    if arms > 1 and rng.random() < 0.15:  # two arms that coincide
        slopes[-1], intercepts[-1] = slopes[0], intercepts[0]
    more = int(rng.integers(0, 4))
    rows = np.vstack([np.eye(d), rng.integers(-2, 3, (more, d))])
    slack = rng.integers(0, 5, (2, more)) / 4 * (rng.random((2, more)) < 0.6)  # 0 0: an equation
    lower = np.append(np.zeros(d), rows[d:] @ x - slack[0])
    upper = np.append(np.ones(d), rows[d:] @ x + slack[1])
    lower[d:][rng.random(more) < 0.3] = -math.inf
    return naive.Polytope(slopes, intercepts, rows, lower, upper), x


def box(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """A box around a model, moved a little; some arms are free."""
    arms = len(case.inside)
    radius = case.rng.integers(1, 65, arms) / 128
    centre = case.inside + case.rng.integers(-64, 65, arms) / 257 * (case.rng.random(arms) < 0.7)
    free = case.rng.random(arms) < 0.25
    return np.where(free, -math.inf, centre - radius), np.where(free, math.inf, centre + radius)


@pytest.mark.parametrize("part", range(4))
def test_cells_boxes_and_fits(part: int) -> None:
    met: Counter[str] = Counter()
    for index in range(part, CASES, 4):
        case = draw(index)
        cells = case.structure.cells
        assert [(cell.piece, cell.arm) for cell in cells.cells] == naive.cells(case.pieces), index
        for _ in range(2):
            low, high = box(case)
            values = naive.highest(case.pieces, low, high)
            alive, found = best_arms(cells, low, high)
            assert alive == bool(values), index
            assert set(np.flatnonzero(found)) == set(values), index
            chosen = naive.optimistic_arm(case.pieces, low, high)
            assert optimistic_arm(cells, low, high) == (-1 if chosen is None else chosen), index
            limits, notes = Box(low, high), cells.fresh_notes()
            for cell, arm in enumerate(cells.best):
                if cells.fits(cell, limits, True, notes):
                    assert cells.span(cell, limits, notes)[1] <= float(values[arm]) + 1e-9, index
            met.update(met=bool(values), empty=not values)
        pulls = case.rng.integers(0, 5, len(case.inside))
        sums = np.array([case.rng.integers(0, count + 1) for count in pulls], dtype=float)
        assert cells.fitting_arm(Data(pulls, sums)) == naive.fitting_arm(
            case.pieces, pulls, sums
        ), index
    assert met["met"] > 60
    assert met["empty"] > 30


@pytest.mark.parametrize("part", range(4))
def test_distances(part: int) -> None:
    attained: Counter[bool] = Counter()
    for index in range(part, CASES, 4):
        case = draw(index)
        truth = case.inside
        distances = case.structure.distances(truth, 1e-9)
        arms = range(len(truth))
        for arm in case.structure.best_arms:
            weights = case.rng.choice([0.0, 0.25, 1.0], len(truth))
            equal = case.rng.random(len(truth)) < 0.3
            for optimistic, same in ((False, None), (True, None), (False, equal), (True, equal)):
                ours = distances.nearest(arm, weights, optimistic, same)
                flagged = () if same is None else np.flatnonzero(same).tolist()
                gap, reached = naive.nearest(case.pieces, truth, arm, weights, optimistic, flagged)
                assert ours.gap == pytest.approx(math.inf if gap is None else float(gap), abs=1e-8)
                assert ours.attained == reached, (index, arm, optimistic, flagged)
                attained[reached] += 1
            farthest = naive.farthest(case.pieces, truth, arm, weights)
            assert distances.farthest(arm, weights) == pytest.approx(float(farthest), abs=1e-8)
            for other in arms:
                models = distances.confusing(arm, other).models()
                assert bool(models) == naive.confusing(case.pieces, truth, arm, other), index
                if other != arm:
                    lead = naive.smallest_lead(case.pieces, arm, other)
                    assert distances.smallest_lead(arm, other) == pytest.approx(
                        float(lead), abs=1e-8
                    )
    assert min(attained.values()) > 100, attained


@pytest.mark.parametrize("family", ["gaussian", "bernoulli"])
def test_graves_lai(family: str) -> None:
    """Within the oracle's brackets; tied truths, where the infimum is not attained, are left out."""
    positive = several = 0
    for index in range(400):
        case = draw(2000 + index, gentle=True)
        analysis = sb.analyse(case.structure, case.inside)
        probable = case.structure.mean_ranges.min() >= 0.0
        if (analysis.gaps == 0.0).sum() > 1 or (family == "bernoulli" and not probable):
            continue
        low, high = naive.graves_lai(case.pieces, case.inside, analysis.best_arm, family)
        ours = analysis.lower_bound(family)
        assert low * (1.0 - 1e-6) - 1e-9 <= ours.constant <= high * (1.0 + 1e-6) + 1e-9, index
        positive += ours.constant > 0.0
        several += (ours.allocation > 1e-6).sum() > 1
    assert positive >= 40
    assert several >= 5


@pytest.mark.parametrize("part", range(2))
def test_played_arms(part: int) -> None:
    """SUCB, SAE and GreedyMLE pull by pull; near ties are counted apart, and are few."""
    near = 0
    for index in range(part, PLAYED, 2):
        case = draw(1000 + index, most_arms=3)
        horizon = 40
        truth = np.clip(case.inside, 0.0, 1.0)[:, None]
        tape = (case.rng.random((len(truth), horizon)) < truth).astype(int)
        alpha, beta = float(case.rng.choice([0.125, 0.5, 2.0])), float(case.rng.choice([1.0, 3.0]))
        for policy, trace in (
            (
                sb.SUCB.paper(case.structure, alpha=alpha),
                naive.sucb(case.pieces, tape, horizon, alpha),
            ),
            (
                sb.SAE.paper(case.structure, horizon, alpha=alpha, beta=beta),
                naive.sae(case.pieces, tape, horizon, alpha, beta),
            ),
            (sb.GreedyMLE(case.structure), naive.greedy(case.pieces, tape, horizon)),
        ):
            for planning in (True, False):
                played = play(policy, tape, horizon, compiled=False, planning=planning)
                if played.arms != trace.arms:
                    assert trace.closest < 1e-8, (index, type(policy).__name__)
                    near += 1
    assert near <= 2
