"""A table of 1,000,000 models × 100 arms: confidence updates, live agents, memory (`make bench`).

Times are ratios to one NumPy pass over the table, `table.sum()`, in turn with it. The update is
`best_arms_in`, compiled, as SAE calls it at the end of a phase; a live agent asks the same in plain
Python. Of its times the longest counts.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from rows import Clock, Row, interleaved, seconds, write

import structured_bandits as sb
from structured_bandits.base.confidence import Box
from structured_bandits.simulation.workers import core_count

TOPIC = "large"
MODELS, ARMS = 1_000_000, 100
REPETITIONS = 7


def draw_table() -> Any:
    """Return uniform means, written in place: no second table is ever held."""
    table = np.empty((MODELS, ARMS))
    np.random.default_rng(1).random(out=table)
    return table


def boxes() -> dict[str, Box]:
    """Return open boxes; the last two are the worst: one for early exits, one for any order of arms."""
    everything = Box(np.full(ARMS, -1.0), np.full(ARMS, 2.0))
    narrow = Box(np.full(ARMS, 0.4), np.full(ARMS, 0.6))
    last = Box(everything.low.copy(), everything.high.copy())
    last.low[-1] = 1.5  # above all means
    anywhere = Box(everything.low, np.full(ARMS, 0.8))
    return {
        "a box that nearly all models leave at the first arms": narrow,
        "a box that holds all models": everything,
        "a box that all models leave at the last arm only": last,
        "a box that a fifth of the models leave at each arm": anywhere,
    }


def updates(table: Any, structure: sb.FiniteStructure) -> list[Row]:
    """Time confidence updates beside passes over the table: one at a time, and one on each core."""
    import structured_bandits.simulation.compiled  # noqa: F401  lets Numba compile cells

    @njit(nogil=True)
    def update(cells, box, found, notes):  # type: ignore[no-untyped-def]
        return cells.best_arms_in(box, found, notes)

    cells = structure.cells
    cores = core_count()
    found = np.zeros((cores, ARMS), np.bool_)

    def ask(box: Box, core: int = 0) -> Any:
        return update(cells, box, found[core], cells.fresh_notes())

    alone = {name: (lambda box=box: ask(box)) for name, box in boxes().items()}
    rows = _in_passes(table, alone, "", "<= 2", time.process_time, 1)
    with ThreadPoolExecutor(cores) as pool:  # as workers play compiled runs
        together = {
            name: (lambda box=box: list(pool.map(lambda core: ask(box, core), range(cores))))
            for name, box in list(boxes().items())[2:]
        }
        how = f", each of {cores} on as many cores"
        rows += _in_passes(table, together, how, "<= 1.1", time.perf_counter, cores)
    return rows


def _in_passes(
    table: Any, contestants: dict[str, Any], how: str, aim: str, clock: Clock, at_once: int
) -> list[Row]:
    """Time work on the table in turn with passes over it; return the rows of an update."""
    times = interleaved({"a pass": table.sum, **contestants}, REPETITIONS, clock=clock)
    one = times.pop("a pass")
    note = f"a pass takes {1e3 * one:.0f} ms"
    return [
        Row(TOPIC, f"confidence update{how}, {name}", aim, taken / one / at_once, "passes", note)
        for name, taken in times.items()
    ]


def live(table: Any, structure: sb.FiniteStructure) -> list[Row]:
    """Time what an agent of SAE does on being told a reward, in plain Python."""
    work = "SAE's agent is told the reward that ends the first phase"
    payments = {
        f"{work}: arms pay as in a model": table[12_345],
        f"{work}: arms pay 0.3, a box that models leave at any arm": np.full(ARMS, 0.3),
    }
    note = f"the longest of {REPETITIONS}"
    rows, first = [], []
    for name, means in payments.items():
        times = [told(structure, means) for _ in range(REPETITIONS)]
        first += [before for before, _ in times]
        rows.append(Row(TOPIC, name, "<= 0.3", max(end for _, end in times), "s", note))
    return [*rows, Row(TOPIC, "SAE's agent is told its first reward", "", max(first), "s", note)]


def told(structure: sb.FiniteStructure, means: Any) -> tuple[float, float]:
    """Return how long an agent takes for its first reward, and for the one that ends a phase."""
    agent = sb.Agent(sb.SAE.paper(structure, horizon=10**6))
    decision = agent.ask()
    first = seconds(lambda: agent.tell(decision.id, 0.0))
    pulls = agent.plan
    pulls[-1] -= 1
    agent.learn(pulls, np.floor(pulls * means))
    decision = agent.ask()
    end = seconds(lambda: agent.tell(decision.id, 0.0))
    assert agent.plan.sum() > 1  # the next phase has begun
    return first, end


def peak() -> int:
    """Return the largest memory of this process so far, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def build() -> None:
    """Build the structure in this process; print how its peak memory grew, in bytes."""
    start = peak()
    table = draw_table()
    before = peak()
    structure = sb.FiniteStructure(table)
    assert structure.n_models == MODELS
    print(json.dumps({"table": before - start, "build": peak() - before, "all": peak()}))


def memory() -> list[Row]:
    """Measure memory in a process that does nothing else."""
    command = [sys.executable, __file__, "build"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    grown = json.loads(done.stdout)
    size = 8 * MODELS * ARMS
    note = f"the table has {size / 1e6:.0f} MB; the caller's table is not counted"
    whole = "the same, of the whole process: the caller's table and Python counted"
    work = "peak memory that building the structure adds, over the table's size"
    return [
        Row(TOPIC, work, "<= 1.1", grown["build"] / size, "tables", note),
        Row(TOPIC, whole, "", grown["all"] / size, "tables"),
    ]


def main() -> None:
    # Memory first: a process may inherit the peak of the one that started it.
    rows = memory()
    table = draw_table()
    structure = sb.FiniteStructure(table)
    write(TOPIC, [*updates(table, structure), *live(table, structure), *rows])


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        build()
    else:
        assert os.name == "posix"
        main()
