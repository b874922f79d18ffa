"""Polyhedral structures: updates and decisions by linear programs, and what closed forms save.

Run by `make bench`. Times are medians on one core, decisions in time of the processor; ratios come from
one run.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from rows import Row, write

import structured_bandits as sb
from structured_bandits.base.confidence import Box
from structured_bandits.lookahead.base import fresh_work
from structured_bandits.simulation import engine
from structured_bandits.solvers.linear import LinearProgram, by_highs

TOPIC = "polyhedral"
PULLS = 3000


def linear_arms(arms: int, dimension: int, seed: int = 0) -> tuple[sb.PolyhedralStructure, Any]:
    """Random directions as features, means of 1/2 and less than 0.2 around it; a true model."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1)[:, None]
    piece = sb.Polytope(0.4 * features, 0.5, np.eye(dimension), -0.5, 0.5)
    structure = sb.PolyhedralStructure([piece])
    theta = rng.normal(size=dimension)
    return structure, structure.means(0.45 * theta / np.linalg.norm(theta))


def milliseconds(function: Callable[[], Any], repeat: int) -> list[float]:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def updates(structure: Any, means: Any, cells: Any = None, repeat: int = 100) -> list[float]:
    """Time confidence updates for boxes of a phase's width, nothing remembered from the one before."""
    cells = structure.cells if cells is None else cells
    rng = np.random.default_rng(1)
    found = np.zeros(structure.n_arms, np.bool_)
    times = []
    for width in rng.choice([0.4, 0.2, 0.1, 0.05], repeat):
        centre = means + width / 3.0 * rng.normal(size=len(means))
        box, notes = Box(centre - width, centre + width), cells.fresh_notes()
        times += milliseconds(lambda b=box, n=notes: cells.best_arms_in(b, found, n), 1)
    return times


class Speed(NamedTuple):
    """How fast a policy decides."""

    pulls: float  # a second
    plans: float
    programs: float  # a plan

    @property
    def note(self) -> str:
        """What stands beside the pulls."""
        return f"{self.plans:,.0f} plans/s, {self.programs:.2f} linear programs a plan"


def decisions(policy: Any, means: Any, pulls: int, planning: bool, repeat: int = 3) -> Speed:
    """Return how fast a policy decides in Python, from the first pull on: the median of some runs."""
    rng = np.random.default_rng(2)
    rewards = (rng.random((len(means), pulls)) < np.asarray(means)[:, None]).astype(np.int64)
    world = sb.Tape(rewards)
    times = []
    for _ in range(repeat):
        record = engine.RunRecord(
            np.array([pulls]),
            np.zeros(1),
            np.zeros(len(means), np.int64),
            np.zeros(len(means)),
            np.zeros(0, np.int64),
        )
        state, work = policy.init(), fresh_work(policy)
        table = engine.fresh_table(world.means, work)
        game = engine.game_of(policy, world, pulls, planning, rng, np.zeros(1, np.int64))
        start = time.process_time()
        plans, _ = engine.play(policy, state, game, record, table)
        times.append(time.process_time() - start)
    took = statistics.median(times)
    kept = work.memory.work if work.memory is not None else state
    solved = getattr(kept, "notes", None)
    return Speed(pulls / took, plans / took, getattr(solved, "solved", 0) / plans)


def concave_means(arms: int) -> Any:
    """Means of a concave structure, with the best arm inside."""
    return 0.8 - 1.2 * (np.linspace(0.0, 1.0, arms) - 0.4) ** 2


def one_size() -> list[Row]:
    structure, means = linear_arms(20, 5)
    times = updates(structure, means)
    print("20 arms, 5 parameters")
    print(
        f"  confidence update: {statistics.median(times):.2f} ms, worst {max(times):.2f} ms (aim 5 ms)"
    )
    note = f"median; worst {max(times):.2f} ms"
    work = "confidence update, 20 arms, 5 parameters"
    return [Row(TOPIC, work, "<= 5", statistics.median(times), "ms", note)]


def speeds() -> list[Row]:
    """Pulls decided a second: SUCB from the first pull on, when it decides most often; phases."""
    linear, concave = linear_arms(20, 5), (sb.concave(50), concave_means(50))
    horizon = 100_000
    rows = []
    for place, (structure, means), aim in (
        ("20 arms, 5 parameters", linear, ">= 20,000"),
        ("concave(50)", concave, ">= 2,000"),
    ):
        for work, policy, pulls, planning in (
            ("SUCB in Python, pull by pull", sb.SUCB.paper(structure), PULLS, False),
            ("SUCB in Python, planning ahead", sb.SUCB.paper(structure), PULLS, True),
            ("SAE in Python", sb.SAE.paper(structure, horizon), horizon, True),
            ("ASAE in Python", sb.ASAE.paper(structure), horizon, True),
        ):
            speed = decisions(policy, means, pulls, planning)
            print(f"  {work}, {place}: {speed.pulls:,.0f} pulls/s (aim {aim}), {speed.note}")
            rows.append(Row(TOPIC, f"{work}, {place}", aim, speed.pulls, "pulls/s", speed.note))
    return rows


def growth() -> None:
    print("growth: median confidence update in ms; pulls decided a second by SUCB, pull by pull")
    for arms, dimension in ((10, 5), (20, 5), (40, 5), (80, 5), (20, 2), (20, 10), (20, 20)):
        structure, means = linear_arms(arms, dimension)
        median = statistics.median(updates(structure, means, repeat=20))
        speed = decisions(sb.SUCB.paper(structure), means, PULLS, planning=False, repeat=1)
        print(
            f"  {arms:3} arms × {dimension:2} parameters: {median:7.2f} ms, {speed.pulls:7,.0f} pulls/s"
        )


def closed_forms() -> list[Row]:
    print("closed form in plain Python beside linear programs, one confidence update, as a ratio")
    rows = []
    places = np.linspace(0.0, 1.0, 20)
    means = 0.8 - 0.5 * np.abs(places - 0.4)
    for name, structure in (
        ("unstructured, 20 arms", sb.unstructured(20)),
        ("Lipschitz, 20 arms", sb.lipschitz(places, 0.5)),
        ("unimodal, 20 arms", sb.unimodal(20)),
    ):
        fast = statistics.median(updates(structure, means, repeat=20))
        slow = statistics.median(updates(structure, means, structure.polytope_cells, repeat=5))
        note = f"{fast:.2f} ms and {slow:.1f} ms"
        print(f"  {name}: {note}, ratio {slow / fast:.0f}")
        work = f"confidence update in closed form against linear programs, {name}"
        rows.append(Row(TOPIC, work, "", slow / fast, "times", note))
    return rows


def estimated_table() -> list[Row]:
    """150 × 50 means known up to 0.03: SUCB on boxes, compiled, beside the same boxes by programs."""
    rng = np.random.default_rng(0)
    boxes = sb.around(rng.uniform(0.1, 0.9, (150, 50)).round(3), 0.03)
    programs = sb.PolyhedralStructure(boxes.polytopes)
    programs.cells = programs.polytope_cells
    pulls = 300
    rewards = (rng.random((50, pulls)) < boxes.means(0)[:, None]).astype(np.int64)

    def played(structure: Any, compiled: bool) -> Any:
        return sb.testing.play(
            sb.SUCB.paper(structure, alpha=0.125), rewards, pulls, compiled, True
        )

    arms = played(boxes, True).arms  # compiles
    fast = statistics.median(milliseconds(lambda: played(boxes, True), 20))
    (slow,) = milliseconds(lambda: arms.append(played(programs, False).arms), 1)
    if arms[:-1] != arms[-1]:
        raise SystemExit("the boxes and the programs play other arms")
    note = f"{pulls} pulls of SUCB in {fast:.2f} ms and {slow / 1e3:.1f} s, the same arms"
    work = "estimated table, 150 models × 50 arms: boxes, compiled, against linear programs"
    return [Row(TOPIC, work, ">= 100", slow / fast, "times", note)]


def solvers() -> None:
    """The value of one cell for slowly changing boxes: warm daqp beside HiGHS."""
    structure, _ = linear_arms(20, 5)
    cell = structure.polytope_cells.cells[0]
    rows = np.vstack([cell.rows, cell.polytope.slopes])
    objective = cell.polytope.slopes[cell.arm]
    program = LinearProgram(objective, rows)
    everything = Box(np.full(20, -np.inf), np.full(20, np.inf))
    inner = cell.polytope.means(cell.slack(everything).x[:-1])
    times: dict[str, list[float]] = {"daqp": [], "HiGHS": []}
    for step in range(200):
        shift = inner - cell.polytope.intercepts
        lower = np.concatenate([cell.lower, shift - 0.1 - 1e-4 * step])
        upper = np.concatenate([cell.upper, shift + 0.1 + 1e-4 * step])
        times["daqp"] += milliseconds(lambda a=lower, b=upper: program.solve(a, b), 1)
        times["HiGHS"] += milliseconds(lambda a=lower, b=upper: by_highs(objective, rows, a, b), 1)
    daqp, highs = (1e3 * statistics.median(times[name]) for name in ("daqp", "HiGHS"))
    print(
        f"one program: daqp warm, certificate included, {daqp:.0f} µs; HiGHS {highs:.0f} µs;",
        end=" ",
    )
    print(f"ratio {highs / daqp:.0f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
    rows = one_size() + speeds()
    growth()
    rows += closed_forms()
    rows += estimated_table()
    solvers()
    write(TOPIC, rows)
