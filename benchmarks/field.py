"""Speed of the field's policies: runs in one compiled call against hand-written loops (`make bench`).

The opponents are the Numba loops of field_loops.py, which decide and draw one pull at a time, with the
same policy, structure and horizon; tests/test_field_loops.py holds them against the library. To sample
from the posterior over models there are two: the good loop multiplies weights and renormalises them in
the same pass, the textbook loop takes exp of log weights at each pull.

The library plays many runs in one compiled call (`engine.play_many`). Times are seconds of the processor
per run: medians of repetitions that take turns, nothing extrapolated. The loop at 10^8 pulls is timed
once.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import field_loops as loops
import numpy as np
from engine import play_many
from policies import RANDOM_STRUCTURES, TRUTH, Problem, grid_of_figure_1_left, library
from rows import Row, interleaved, number, write

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)
from structured_bandits.theory.graves_lai import cheapest_allocation
from structured_bandits.theory.truth import truth_of

TOPIC = "field"
TEN_ARMS = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
WARMING_UP = 100  # pulls

Loop = Callable[[Problem, int, np.random.Generator], Any]


class Contest(NamedTuple):
    """A policy and the loops that play it by hand, each with its aim, on the same problems."""

    work: str
    horizon: int
    problems: list[Problem]
    policy: Callable[[Any], Any]
    by_hand: dict[str, tuple[Loop, str]]
    runs: int  # of the library, on each problem, in a repetition
    repetitions: int


def measure(contest: Contest) -> list[Row]:
    """Return a row for each loop."""
    rng = np.random.default_rng(2)
    play = library(contest)
    contestants: dict[str, Callable[[], Any]] = {"library": play}
    for name, (loop, _) in contest.by_hand.items():
        contestants[name] = lambda loop=loop: [
            loop(each, contest.horizon, rng) for each in contest.problems
        ]
        loop(contest.problems[0], WARMING_UP, rng)
    plans = play()
    times = interleaved(contestants, contest.repetitions, warm=True, clock=time.process_time)
    ours = times.pop("library") / contest.runs / len(contest.problems)
    rows = []
    for name, (_, aim) in contest.by_hand.items():
        theirs = times[name] / len(contest.problems)
        note = (
            f"{number(1e6 * ours)} µs a run: {number(plans)} plans of {number(1e9 * ours / plans)} ns; "
            f"by hand {number(1e3 * theirs)} ms"
        )
        work = f"{contest.work}, against {name}"
        rows.append(Row(TOPIC, work, aim, theirs / ours, "times", note))
    return rows


# --------------------------------------------------------------------------------------- loops by hand


@cache
def likelihoods(structure: Any) -> tuple[Any, ...]:
    """Return what the loops of posterior sampling need: likelihoods, their logarithms, best arms."""
    table = structure.cells.table
    ones, zeros = loops.likelihoods(table)
    return ones, zeros, np.log(ones), np.log(zeros), table.argmax(axis=1)


def good(problem: Problem, horizon: int, rng: np.random.Generator) -> Any:
    ones, zeros, _, _, best = likelihoods(problem.structure)
    return loops.model_ts(ones, zeros, best, problem.means, horizon, rng)


def textbook(problem: Problem, horizon: int, rng: np.random.Generator) -> Any:
    _, _, ones, zeros, best = likelihoods(problem.structure)
    return loops.model_ts_textbook(ones, zeros, best, problem.means, horizon, rng)


@cache
def by_value(structure: Any) -> tuple[Any, ...]:
    """Return the models sorted by value, and what else the loops with KL boxes need."""
    table = structure.cells.table
    models = table[np.lexsort((table.argmax(axis=1), -table.max(axis=1)))]
    return models, models.argmax(axis=1), *map(np.log, loops.likelihoods(models))


def sucb_kl(problem: Problem, horizon: int, rng: np.random.Generator) -> Any:
    models, best, _, _ = by_value(problem.structure)
    return loops.sucb_kl(models, best, 2.0, problem.means, horizon, rng)


def sucb_kl_remembered(problem: Problem, horizon: int, rng: np.random.Generator) -> Any:
    _, best, ones, zeros = by_value(problem.structure)
    return loops.sucb_kl_remembered(ones, zeros, best, 2.0, problem.means, horizon, rng)


def sae_kl(problem: Problem, horizon: int, rng: np.random.Generator) -> Any:
    models, best, _, _ = by_value(problem.structure)
    return loops.sae_kl(models, best, 2.0, problem.means, horizon, rng)


@cache
def allocations(structure: Any) -> Any:
    """Return the cheapest allocation of each model, arms x models."""
    found = [
        cheapest_allocation(truth_of(structure, model), "bernoulli").allocation
        for model in range(len(structure.cells.table))
    ]
    return np.array(found).T.copy()


def ossb(problem: Problem, horizon: int, rng: np.random.Generator) -> Any:
    table = problem.structure.cells.table
    ready = allocations(problem.structure)
    return loops.ossb(table.T.copy(), table.argmax(axis=1), ready, problem.means, horizon, rng)


def blind(loop: Callable[..., Any]) -> Loop:
    """Return a loop that knows nothing of the structure."""
    return lambda problem, horizon, rng: loop(problem.means, horizon, rng)


# -------------------------------------------------------------------------------------------- contests


def shop() -> sb.FiniteStructure:
    """Return six types of customers and eight offers, with rates that shops have."""
    rng = np.random.default_rng(11)
    return sb.FiniteStructure(np.round(rng.uniform(0.01, 0.16, (6, 8)), 3))


def random_problems() -> list[Problem]:
    """Return random structures with their true models."""
    drawn = [random_structure(np.random.default_rng(seed)) for seed in range(RANDOM_STRUCTURES)]
    return [Problem(structure, structure.means(truth)) for structure, truth in drawn]


def posterior_sampling() -> list[Contest]:
    right, grid = figure1_right(), grid_of_figure_1_left()
    settings = [
        ("Figure 1 right", 500_000, [Problem(right, right.means(0))], (">= 60", ">= 170"), 200, 9),
        (
            f"{RANDOM_STRUCTURES} random structures of 150 × 50",
            200_000,
            random_problems(),
            (">= 30", ">= 700"),
            20,
            3,
        ),
        (
            "Figure 1 left on a grid of 300 models",
            1_000_000,
            [Problem(grid, figure1_left().means(TRUTH))],
            (">= 300", ">= 6,000"),
            50,
            3,
        ),
    ]
    return [
        Contest(
            f"ModelTS, {where}, {horizon:,} pulls",
            horizon,
            problems,
            sb.ModelTS,
            {"the good loop": (good, aims[0]), "the textbook loop": (textbook, aims[1])},
            runs,
            repetitions,
        )
        for where, horizon, problems, aims, runs, repetitions in settings
    ]


def without_structure() -> list[Contest]:
    ten = [Problem(len(TEN_ARMS), TEN_ARMS)]
    contests = [
        Contest(
            f"ThompsonSampling, ten arms, 10^{exponent} pulls",
            10**exponent,
            ten,
            sb.ThompsonSampling,
            {"a Beta draw for each arm and pull": (blind(loops.thompson), aim)},
            runs,
            repetitions,
        )
        for exponent, aim, runs, repetitions in (
            (4, ">= 6", 100, 15),
            (6, ">= 300", 50, 5),
            (8, ">= 8,000", 20, 1),
        )
    ]
    for policy, loop in ((sb.KLUCB, loops.kl_ucb), (sb.IMED, loops.imed)):
        contests.append(
            Contest(
                f"{policy.__name__}, ten arms, 10^6 pulls",
                10**6,
                ten,
                policy,
                {"the hand-written loop": (blind(loop), ">= 100")},
                20,
                5,
            )
        )
    return contests


def over_models() -> list[Contest]:
    right, offers = figure1_right(), shop()
    flat = [Problem(right, right.means(0))]
    types = [Problem(offers, means) for means in offers.cells.table]
    contests = [
        Contest(
            "OSSB, Figure 1 right, 500,000 pulls",
            500_000,
            flat,
            sb.OSSB,
            {"a loop with the allocations ready": (ossb, ">= 50")},
            200,
            9,
        )
    ]
    for where, horizon, problems, aim, runs in (
        ("Figure 1 right, 500,000 pulls", 500_000, flat, ">= 20", 100),
        ("shop, all types in turn, 100,000 pulls", 100_000, types, ">= 5", 20),
    ):
        contests.append(
            Contest(
                f"SUCB with KL boxes, {where}",
                horizon,
                problems,
                lambda structure: sb.SUCB.paper(structure, confidence="kl"),
                {
                    "a loop that holds the models against the data at each pull": (sucb_kl, aim),
                    "the fastest loop by hand, which remembers the evidence": (
                        sucb_kl_remembered,
                        "",
                    ),
                },
                runs,
                5,
            )
        )
        contests.append(
            Contest(
                f"SAE with KL boxes, {where}",
                horizon,
                problems,
                lambda structure, n=horizon: sb.SAE.paper(structure, n, confidence="kl"),
                {"the hand-written loop": (sae_kl, "")},
                500,
                15,
            )
        )
    return contests


def information_directed() -> Row:
    """Decisions a second of IDS on random structures, which it makes pull by pull."""
    rng, horizon, runs = np.random.default_rng(3), 10_000, 1
    ready = [(sb.IDS(each.structure), each.world) for each in random_problems()]
    play = lambda: sum(play_many(p, horizon, runs, rng, world) for p, world in ready)  # noqa: E731
    decisions = play()
    taken = interleaved({"library": play}, 5, warm=True, clock=time.process_time)["library"]
    work = f"IDS, {RANDOM_STRUCTURES} random structures of 150 × 50, {horizon:,} pulls"
    note = f"{number(decisions / len(ready))} decisions a run"
    return Row(TOPIC, work, ">= 50,000", decisions / taken, "decisions/s", note)


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    contests = [*posterior_sampling(), *without_structure(), *over_models()]
    write(TOPIC, [*(row for each in contests for row in measure(each)), information_directed()])


if __name__ == "__main__":
    main()
