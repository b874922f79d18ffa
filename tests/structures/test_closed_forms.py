"""Closed forms stand in for linear programs because both give the same answers.

Constraints on means and differences (unstructured, monotone, Lipschitz, unimodal, known best mean and
random ones) and products are asked by their closed form and, as a twin, by linear programs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.boxes import best_arms, optimistic_arm
from support.play import play
from support.twins import by_programs

import structured_bandits as sb
from structured_bandits.base.confidence import Box
from structured_bandits.structures.polyhedral.difference_cells import DifferenceCells
from structured_bandits.structures.polyhedral.polytope import means_with
from structured_bandits.structures.polyhedral.product import ProductCells

Rng = np.random.Generator
GRID = 16


def dyadic(rng: Rng, *shape: int) -> np.ndarray:
    return rng.integers(0, GRID + 1, shape) / GRID


def random_differences(rng: Rng) -> Any:
    """A few pieces with random bounds on means and on differences of two means, none empty."""
    arms = int(rng.integers(1, 6))
    pieces = []
    for _ in range(int(rng.integers(1, 4))):
        inside = dyadic(rng, arms)
        low = np.maximum(0.0, inside - dyadic(rng, arms) * (rng.random(arms) < 0.7))
        high = np.minimum(1.0, inside + dyadic(rng, arms) * (rng.random(arms) < 0.7))
        rows = np.zeros((int(rng.integers(0, 5)) if arms > 1 else 0, arms))
        for row in rows:
            one, two = rng.choice(arms, 2, replace=False)
            row[one], row[two] = 2.0, -2.0
        slack = dyadic(rng, len(rows)) * (rng.random(len(rows)) < 0.7)
        pieces.append(means_with(low, high, rows, upper=rows @ inside + slack))
    return sb.PolyhedralStructure(pieces)


def random_product(rng: Rng) -> Any:
    """Two or three groups of random kinds."""
    kinds: list[Callable[[], Any]] = [
        lambda: sb.FiniteStructure(dyadic(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)))),
        lambda: sb.CurveStructure(
            [sb.Piece(0, 1, dyadic(rng, 2), dyadic(rng, 2), closed="both")],
        ),
        lambda: sb.unimodal(3),
        lambda: sb.linear(dyadic(rng, 3, 2), bounds=(0.0, 0.5)),
        lambda: random_differences(rng),
    ]
    picked = rng.choice(len(kinds), int(rng.integers(2, 4)))
    return sb.product([kinds[kind]() for kind in picked])


KINDS: dict[str, Callable[[Rng], Any]] = {
    "unstructured": lambda rng: sb.unstructured(int(rng.integers(1, 7))),
    "lipschitz": lambda rng: sb.lipschitz(dyadic(rng, 5), float(rng.choice([0.0, 0.25, 1.0]))),
    "plane": lambda rng: sb.lipschitz(dyadic(rng, 4, 2), 0.5),
    "monotone": lambda rng: sb.monotone(4, decreasing=bool(rng.random() < 0.5)),
    "unimodal": lambda rng: sb.unimodal(int(rng.integers(1, 7))),
    "tree": lambda rng: sb.unimodal(5, [(0, 1), (1, 2), (1, 3), (3, 4)]),
    "cycle": lambda rng: sb.unimodal(4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    "known best": lambda rng: sb.known_best_mean(int(rng.integers(1, 5)), 0.75),
    "random": random_differences,
    "capped": lambda rng: sb.intersection(
        sb.lipschitz(dyadic(rng, 4), 1.0), sb.Constraint({2: 1, 1: -1}, at_most=0.125)
    ),
    "product": random_product,
}


def draw(kind: str, index: int) -> tuple[Any, Rng]:
    rng = np.random.default_rng([31, index, *kind.encode()])
    return KINDS[kind](rng), rng


def ask(structure: Any, low: Any, high: Any) -> tuple[Any, ...]:
    alive, found = best_arms(structure.cells, low, high)
    return alive, found, optimistic_arm(structure.cells, low, high)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answers(kind: str) -> None:
    """Active arms, emptiness and optimism, in boxes around models and around nothing."""
    met: Counter[bool] = Counter()
    for index in range(40):
        structure, rng = draw(kind, index)
        twin = by_programs(structure)
        assert set(structure.best_arms) == set(twin.cells.best.tolist()), index
        for _ in range(10):
            arms = structure.n_arms
            centre = rng.random(arms)
            if rng.random() < 0.7:
                cell = twin.cells.cells[int(rng.integers(len(twin.cells.cells)))]
                free = np.full(arms, math.inf)
                inner = cell.polytope.means(cell.slack(Box(-free, free)).x[:-1])
                centre = inner + 0.1 * rng.normal(size=arms)
            radius = 10.0 ** rng.uniform(-1.5, 0.2, arms)
            low = np.where(rng.random(arms) < 0.2, -math.inf, centre - radius)
            high = np.where(low == -math.inf, math.inf, centre + radius)
            answer = ask(structure, low, high)
            assert answer == ask(twin, low, high), (index, low, high)
            met[answer[0]] += 1
    assert min(met[True], met[False]) >= 20, met


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "product"])
def test_the_same_spans(kind: str) -> None:
    """The least and the highest mean of the best arm in each cell, the basis of planning."""
    compared = 0
    for index in range(25):
        structure, rng = draw(kind, 1000 + index)
        twin = by_programs(structure)
        cells = structure.cells
        assert isinstance(cells, DifferenceCells)
        assert list(cells.best) == list(twin.cells.best)
        for _ in range(4):
            centre, radius = rng.random(structure.n_arms), rng.uniform(0.1, 1.0, structure.n_arms)
            box, notes = Box(centre - radius, centre + radius), twin.cells.fresh_notes()
            fits = False
            for cell in range(len(cells.best)):
                fits = cells.fits(cell, box, fits, cells.fresh_notes())
                span = (math.inf, -math.inf)
                if fits:
                    span = cells.span(cell, box, cells.fresh_notes())
                meets = twin.cells.fits(cell, box, True, notes)
                assert meets == (span[0] <= span[1])
                if meets:
                    assert twin.cells.span(cell, box, notes) == pytest.approx(span, abs=1e-9)
                    compared += 1
    assert compared > 25


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_arms_are_played(kind: str) -> None:
    """Planned and compiled by the closed form, planned and pull by pull by programs."""
    for index in range(8):
        structure, rng = draw(kind, 2000 + index)
        twin = by_programs(structure)
        compiled = isinstance(structure.cells, DifferenceCells)
        horizon = 150
        rewards = (
            rng.random((structure.n_arms, horizon)) < rng.random((structure.n_arms, 1))
        ).astype(int)
        alpha = float(rng.choice([0.125, 0.5, 2.0]))
        for policy, other in (
            (sb.SUCB.paper(structure, alpha=alpha), sb.SUCB.paper(twin, alpha=alpha)),
            (
                sb.SAE.paper(structure, horizon, alpha=alpha),
                sb.SAE.paper(twin, horizon, alpha=alpha),
            ),
            (sb.ASAE.paper(structure, alpha=alpha), sb.ASAE.paper(twin, alpha=alpha)),
        ):
            exact = play(policy, rewards, horizon, compiled=compiled, planning=True)
            for ours, planning in ((policy, False), (other, True), (other, False)):
                played = play(ours, rewards, horizon, compiled=False, planning=planning)
                assert played.arms == exact.arms, (index, type(policy).__name__, planning)
                assert planning or played.empty >= exact.empty


def test_products_use_their_closed_form() -> None:
    kinds = Counter(type(draw("product", index)[0].cells) for index in range(80))
    assert kinds[ProductCells] >= 10
    assert kinds[DifferenceCells] >= 5
