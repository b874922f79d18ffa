"""The structures of the paper's Figure 1 and of its random experiments (Section 6, Appendix F)."""

from __future__ import annotations

from functools import partial

import numpy as np

from structured_bandits.environments.bernoulli import Bernoulli
from structured_bandits.experiments.drawn_once import DrawnOnce
from structured_bandits.experiments.paper.hard_models import hard_draws
from structured_bandits.experiments.worlds import Named, Problem, RandomProblems
from structured_bandits.structures.curves.structure import Closed, CurveStructure, Piece
from structured_bandits.structures.finite.structure import FiniteStructure


def _as_in_the_paper(what: str, count: int) -> tuple[str, ...]:
    """Return the names of arms or models: the paper counts from 1."""
    return tuple(f"{what} {number}" for number in range(1, count + 1))


def figure1_left(informative: bool = True) -> CurveStructure:
    """Return the structure of Figure 1 left: three arms, three regions of one parameter.

    The true model lies in the first region, [0, 0.33). Arm 2 tells the regions apart; with
    `informative=False` its mean is 0.8 everywhere (Figure 2b). Regions are half-open, so that ties on
    their borders belong to one of them (errata, I-33).
    """
    middle = 0.2 if informative else 0.8
    return CurveStructure(
        [
            Piece(0.0, 0.33, [0.85, 0.8, 0.6], [0.8, 0.8, 0.8]),
            Piece(0.33, 0.66, [0.8, middle, 0.86], [0.4, middle, 0.86]),
            Piece(0.66, 1.0, [0.4, 0.8, 0.8], [0.4, 0.8, 0.6], closed="both"),
        ],
        arms=_as_in_the_paper("arm", 3),
    )


def figure1_right() -> FiniteStructure:
    """Return the structure of Figure 1 right: four arms, four models; the first is the true one.

    Arm 2 of the fourth model has mean 0.92, as drawn, not 0.2, as printed (errata, I-2).
    """
    return FiniteStructure(
        [
            [0.8, 0.7, 0.6, 0.5],
            [0.8, 0.7, 0.84, 0.1],
            [0.8, 0.4, 0.6, 0.88],
            [0.8, 0.92, 0.6, 0.5],
        ],
        arms=_as_in_the_paper("arm", 4),
        models=_as_in_the_paper("model", 4),
    )


def figure1_right_as_curves() -> CurveStructure:
    """Return Figure 1 right as drawn: four regions of a parameter, with constant means on each.

    For policies that need a parameter; the true model is any in [0, 0.25).
    """
    table = figure1_right().cells.table
    ends = [0.0, 0.25, 0.5, 0.75, 1.0]
    closed: tuple[Closed, ...] = ("left", "left", "left", "both")
    return CurveStructure(
        [
            Piece(ends[row], ends[row + 1], table[row], table[row], closed[row])
            for row in range(len(table))
        ],
        arms=_as_in_the_paper("arm", 4),
    )


def random_structure(rng: np.random.Generator, clip: bool = False) -> tuple[FiniteStructure, int]:
    """Draw a structure as in Figure 2d, 150 models of 50 arms; return it and its true model.

    100 models have independent uniform means and one of them is true. 50 hard models copy it, but
    another arm is raised to 0 to 0.2 above the best mean and a second arm falls to a tenth. What the
    paper leaves open (errata, I-11): the first arm is never the true best one, the second is any
    other, and means above 1 stay unless `clip`.
    """
    arms, easy, hard = 50, 100, 50
    table = np.empty((easy + hard, arms))
    table[:easy] = rng.random((easy, arms))
    truth = int(rng.integers(easy))
    best = int(table[truth].argmax())
    table[easy:] = table[truth]
    models = np.arange(easy, easy + hard)
    draws = hard_draws(rng, best, arms, hard)
    table[models, draws.lowered] /= 10.0
    table[models, draws.raised] = table[truth, best] + 0.2 * draws.heights
    if clip:
        table = table.clip(0.0, 1.0)
    return FiniteStructure(table), truth


def draw_random(rng: np.random.Generator) -> Problem:
    """Draw a random structure and its true model as a problem."""
    structure, truth = random_structure(rng)
    return Problem(structure, truth, Bernoulli(structure.means(truth)))


#: What experiment files may name.
STRUCTURES: Named = {
    "paper:figure1-left": figure1_left,
    "paper:figure1-left-flat": partial(figure1_left, informative=False),
    "paper:figure1-right": figure1_right,
    "paper:figure1-right-curves": figure1_right_as_curves,
    "paper:random": RandomProblems(DrawnOnce(draw_random)),
}
