"""Speed of the policies: runs in one compiled call against hand-written loops (`make bench`).

The opponents are Numba loops that decide and draw one pull at a time (pull_by_pull.py), with the same
policy, structure and horizon. For SUCB there are three: one that computes the confidence set anew at
each pull, as the definition reads, one that goes through sorted models and stops early, and one that
also remembers which arm excluded a model. The aims are meant for the first: the table that they come
from counts keeping the set as a gain over the loop by hand.

The library plays many runs in one compiled call (`engine.play_many`); times are per run, medians of
repetitions that take turns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from engine import play_many
from oracles import pull_by_pull as loops
from rows import Row, interleaved, write

import structured_bandits as sb
from structured_bandits.experiments.paper.structures import (
    figure1_left,
    figure1_right,
    random_structure,
)

TOPIC = "policies"
RANDOM_STRUCTURES = 5
GRID = 300  # models
TRUTH = 0.165  # the true parameter of Figure 1 left, as in Figure 2a


class Problem(NamedTuple):
    """A structure and the means that its world pays."""

    structure: Any
    means: Any

    @property
    def world(self) -> Any:
        """The world that pays these means."""
        return sb.Bernoulli(self.means)


class Contest(NamedTuple):
    """A policy and the loops that play it by hand, each on the same problems."""

    work: str
    aim: str
    horizon: int
    problems: list[Problem]
    policy: Callable[[Any], Any]
    by_hand: dict[str, Callable[[Problem, np.random.Generator], Any]]
    runs: int  # of the library, on each problem, in a repetition
    repetitions: int


def library(contest: Contest) -> Callable[[], float]:
    """Return what plays the contest's runs; it returns plans per run."""
    rng = np.random.default_rng(1)
    ready = [(contest.policy(each.structure), each.world) for each in contest.problems]
    return lambda: float(
        np.mean([play_many(p, contest.horizon, contest.runs, rng, world) for p, world in ready])
    )


def measure(contest: Contest) -> list[Row]:
    """Return the rows of a contest: the aim is against the first loop, and then there is the fastest."""
    rng = np.random.default_rng(2)
    play = library(contest)
    contestants: dict[str, Callable[[], Any]] = {
        name: (lambda loop=loop: [loop(each, rng) for each in contest.problems])
        for name, loop in contest.by_hand.items()
    }
    times = interleaved({**contestants, "library": play}, contest.repetitions)
    ours = times.pop("library") / contest.runs / len(contest.problems)
    theirs = {name: taken / len(contest.problems) for name, taken in times.items()}
    plans = play()
    mine = f"{1e6 * ours:,.1f} µs a run: {plans:,.0f} plans of {1e9 * ours / plans:,.0f} ns"
    first, *_ = theirs
    note = f"{mine}; {first} {1e3 * theirs[first]:,.1f} ms"
    rows = [Row(TOPIC, contest.work, contest.aim, theirs[first] / ours, "times", note)]
    if len(theirs) > 1:
        fastest = min(theirs, key=lambda name: theirs[name])
        note = "; ".join(f"{name} {1e3 * taken:,.1f} ms" for name, taken in theirs.items())
        work = f"the same against the fastest loop by hand, {fastest}"
        rows.append(Row(TOPIC, work, "", theirs[fastest] / ours, "times", note))
    return rows


def sucb_loops(horizon: int) -> dict[str, Callable[[Problem, np.random.Generator], Any]]:
    """Return the hand-written loops of SUCB on a table, first the one that follows the definition."""
    return {
        loop.__name__: lambda problem, rng, loop=loop: loop(
            problem.structure.cells.table, problem.means, horizon, 2.0, rng
        )
        for loop in (loops.sucb_by_definition, loops.sucb_finite, loops.sucb_finite_watched)
    }


def grid_of_figure_1_left() -> sb.FiniteStructure:
    """Return Figure 1 left as a table."""
    curves = figure1_left()
    return sb.FiniteStructure([curves.means(x) for x in np.linspace(0.0, 1.0, GRID)])


def contests() -> list[Contest]:
    right = figure1_right()
    flat = [Problem(right, right.means(0))]
    drawn = [random_structure(np.random.default_rng(seed)) for seed in range(RANDOM_STRUCTURES)]
    n = 500_000
    return [
        Contest(
            "SUCB, Figure 1 right, 500,000 pulls",
            ">= 250",
            n,
            flat,
            sb.SUCB,
            sucb_loops(n),
            200,
            15,
        ),
        Contest(
            f"SUCB, {RANDOM_STRUCTURES} random structures of 150 × 50, 200,000 pulls",
            ">= 350",
            200_000,
            [Problem(structure, structure.means(truth)) for structure, truth in drawn],
            sb.SUCB,
            sucb_loops(200_000),
            10,
            5,
        ),
        Contest(
            "SAE, Figure 1 right, 500,000 pulls",
            ">= 300",
            n,
            flat,
            lambda structure: sb.SAE.paper(structure, n),
            {
                "sae_finite": lambda problem, rng: loops.sae_finite(
                    problem.structure.cells.table, problem.means, n, 2.0, 1.0, rng
                )
            },
            1000,
            15,
        ),
        Contest(
            "ASAE (theory, eta = 0.1), Figure 1 right, 500,000 pulls",
            ">= 100",
            n,
            flat,
            lambda structure: sb.ASAE.paper(structure, eta=0.1, reading="theory"),
            {
                "asae_finite": lambda problem, rng: loops.asae_finite(
                    problem.structure.cells.table, problem.means, n, 2.0, 1.0, 0.1, rng
                )
            },
            200,
            15,
        ),
        Contest(
            "UCB, Figure 1 right, 500,000 pulls",
            "",
            n,
            flat,
            sb.UCB,
            {"ucb": lambda problem, rng: loops.ucb(problem.means, n, 2.0, rng)},
            5,
            15,
        ),
    ]


def curves_and_grid() -> list[Row]:
    """SUCB on Figure 1 left: on a grid against a loop, and on the exact curves against the grid."""
    curves = figure1_left()
    grid = grid_of_figure_1_left()
    means, n = curves.means(TRUTH), 1_000_000
    on_grid = Contest(
        f"SUCB, Figure 1 left on a grid of {GRID} models, 10^6 pulls",
        ">= 4,000",
        n,
        [Problem(grid, means)],
        sb.SUCB,
        sucb_loops(n),
        100,
        5,
    )
    rows = measure(on_grid)
    exact = on_grid._replace(problems=[Problem(curves, means)])
    times = interleaved({"grid": library(on_grid), "curves": library(exact)}, 15)
    ours, theirs = (times[name] / on_grid.runs for name in ("curves", "grid"))
    note = f"{1e6 * ours:,.1f} µs a run, {library(exact)():,.0f} plans; grid {1e6 * theirs:,.1f} µs"
    work = "SUCB, Figure 1 left exactly, 10^6 pulls, against the library on the grid"
    return [*rows, Row(TOPIC, work, ">= 1", theirs / ours, "times", note)]


def long_runs() -> Row:
    """What SAE costs at 10^12 pulls, over what it costs at 10^4."""
    structure, runs = figure1_right(), 1000
    world = sb.Bernoulli(structure.means(0))
    rng = np.random.default_rng(3)
    times = interleaved(
        {
            str(policy.horizon): lambda p=policy: play_many(p, p.horizon, runs, rng, world)
            for policy in (sb.SAE.paper(structure, 10**4), sb.SAE.paper(structure, 10**12))
        },
        25,
    )
    short, long = (1e6 * times[str(n)] / runs for n in (10**4, 10**12))
    note = f"{short:.2f} µs and {long:.2f} µs a run, {runs} runs in a call"
    return Row(
        TOPIC, "SAE, Figure 1 right, 10^12 pulls over 10^4", "< 2", long / short, "times", note
    )


def main() -> None:
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    structured, others = contests()[:2], contests()[2:]
    rows = [row for contest in structured for row in measure(contest)]
    rows += curves_and_grid()
    rows += [row for contest in others for row in measure(contest)]
    write(TOPIC, [*rows, long_runs()])


if __name__ == "__main__":
    main()
