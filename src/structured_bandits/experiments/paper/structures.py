"""The structures of the paper's Figure 1 and of its random experiments (Section 6, Appendix F)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from structured_bandits.base.arrays import Floats, Ints
from structured_bandits.experiments.worlds import NamedStructures, Problem, RandomProblems
from structured_bandits.structures.curves.structure import Closed, CurveStructure, Piece
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.worlds.bernoulli import Bernoulli

HALF, LOW_HALF = np.uint64(32), np.uint64((1 << 32) - 1)
UNUSED, UNIT = np.uint64(11), 2.0**-53  # of a word, `random` takes the upper 53 bits
MOST_ARMS = 1 << 32  # above them `integers` takes whole words
MOST = 256  # random problems that are kept; a structure of 150 models of 50 arms takes 70 kB


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


class HardDraws(NamedTuple):
    """What is drawn for each hard model."""

    raised: Ints  # an arm other than the best one
    lowered: Ints  # an arm other than that
    heights: Floats  # from 0 to 1


def hard_draws(rng: np.random.Generator, best: int, arms: int, count: int) -> HardDraws:
    """Draw two arms and a height for each hard model, all at once.

    The paper's experiment draws them one after the other. Calls of the generator for single numbers took
    most of the time of a run on a structure of its own, and meanwhile no other thread could use Python.
    So the raw words of PCG64 are taken at once and read as NumPy's `integers` and `random` read them:
    the numbers are the same, to the last bit, and so is what the generator gives afterwards.
    """
    return _at_once(rng, best, arms, count) or one_by_one(rng, best, arms, count)


def one_by_one(rng: np.random.Generator, best: int, arms: int, count: int) -> HardDraws:
    """Draw them with the methods of the generator: what `hard_draws` returns, by definition."""
    rows = []
    for _ in range(count):
        raised = _other_than(best, int(rng.integers(arms - 1)))
        lowered = _other_than(raised, int(rng.integers(arms - 1)))
        rows.append((raised, lowered, rng.random()))
    first, second, heights = zip(*rows, strict=True)
    return HardDraws(np.array(first), np.array(second), np.array(heights))


def _at_once(rng: np.random.Generator, best: int, arms: int, count: int) -> HardDraws | None:
    """Draw from raw words; None, and nothing drawn, where NumPy might read them in another way.

    `integers` takes halves of words, the lower one first, and keeps the upper one for the next call, so
    the first arm takes what the call before has kept; `random` takes a word. A half times the number of
    arms has the arm in its upper half, but is drawn again if its lower half is very small.
    """
    source = rng.bit_generator
    before = source.state
    kept = type(source) is np.random.PCG64 and before["has_uint32"] == 1
    if not kept or not 2 < arms < MOST_ARMS:
        return None
    words = source.random_raw(2 * count)
    both, last = words[::2], words[1::2]
    halves = np.empty((2, count), np.uint64)
    halves[0, 0], halves[0, 1:], halves[1] = before["uinteger"], both[:-1] >> HALF, both & LOW_HALF
    scaled = halves * np.uint64(arms - 1)
    if (scaled & LOW_HALF).min() < arms - 1:  # perhaps drawn again
        source.state = before
        return None
    source.state = {**source.state, "uinteger": int(both[-1] >> HALF)}
    others = (scaled >> HALF).astype(np.int64)
    raised = _other_than(best, others[0])
    heights = (last >> UNUSED).astype(np.float64) * UNIT
    return HardDraws(raised, _other_than(raised, others[1]), heights)


def _other_than(arm: Any, number: Any) -> Any:
    """Return the arm with this number among all others."""
    return number + (number >= arm)


class DrawnOnce:
    """Draws a problem, or returns the one that was drawn from a generator in this state before.

    Policies are played one after the other, so each of them would draw the same problems again, and
    while Python draws, no other worker can. The generator is not set to where a draw would leave it:
    nobody draws from it again.
    """

    def __init__(self, draw: Callable[[np.random.Generator], Problem]) -> None:
        self._draw = draw
        self._kept: dict[tuple[Any, ...], Problem] = {}

    def __call__(self, rng: np.random.Generator) -> Problem:
        """Return the problem that is drawn from this generator."""
        state = rng.bit_generator.state
        if state["bit_generator"] != "PCG64":
            return self._draw(rng)
        start = (*state["state"].values(), state["has_uint32"], state["uinteger"])
        problem = self._kept.get(start)
        if problem is None:
            problem = self._draw(rng)
            if len(self._kept) >= MOST:
                self._kept.pop(
                    next(iter(self._kept), start), None
                )  # the first; or another thread did
            self._kept[start] = problem
        return problem

    def __reduce__(self) -> tuple[Any, ...]:
        return DrawnOnce, (self._draw,)  # another process draws for itself


#: What experiment files may name.
STRUCTURES: NamedStructures = {
    "paper:figure1-left": figure1_left,
    "paper:figure1-left-flat": partial(figure1_left, informative=False),
    "paper:figure1-right": figure1_right,
    "paper:figure1-right-curves": figure1_right_as_curves,
    "paper:random": RandomProblems(DrawnOnce(draw_random)),
}
