"""A table of 1,000,000 models × 100 arms: one confidence update, and memory (`make bench`).

Times are ratios to one NumPy pass over the table, `table.sum()`, in turn with it. The update is
`best_arms_in`, compiled, as SAE calls it at the end of a phase.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from typing import Any

import numpy as np
from numba import njit
from rows import Row, interleaved, write

import structured_bandits as sb
from structured_bandits.planning.confidence import Box

TOPIC = "large"
MODELS, ARMS = 1_000_000, 100
REPETITIONS = 7


def draw_table() -> Any:
    """Return uniform means, written in place: no second table is ever held."""
    table = np.empty((MODELS, ARMS))
    np.random.default_rng(1).random(out=table)
    return table


def boxes() -> dict[str, Box]:
    """Return open boxes."""
    everything = Box(np.full(ARMS, -1.0), np.full(ARMS, 2.0))
    narrow = Box(np.full(ARMS, 0.4), np.full(ARMS, 0.6))
    last = Box(everything.low.copy(), everything.high.copy())
    last.low[-1] = 1.5  # above all means
    return {
        "a box that nearly all models leave at the first arms": narrow,
        "a box that holds all models": everything,
        "a box that all models leave at the last arm only": last,
    }


def updates() -> list[Row]:
    """Time confidence updates beside passes over the table."""
    import structured_bandits.simulation.compiled  # noqa: F401  lets Numba compile cells

    @njit
    def update(cells, box, found, notes):  # type: ignore[no-untyped-def]
        return cells.best_arms_in(box, found, notes)

    table = draw_table()
    cells = sb.FiniteStructure(table).cells
    found = np.zeros(ARMS, np.bool_)
    contestants = {
        name: (lambda box=box: update(cells, box, found, cells.fresh_notes()))
        for name, box in boxes().items()
    }
    times = interleaved({"a pass": table.sum, **contestants}, REPETITIONS)
    one = times.pop("a pass")
    note = f"a pass takes {1e3 * one:.0f} ms"
    return [
        Row(TOPIC, f"confidence update, {name}", "<= 2", taken / one, "passes", note)
        for name, taken in times.items()
    ]


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
    write(TOPIC, [*updates(), *rows])


if __name__ == "__main__":
    if sys.argv[1:] == ["build"]:
        build()
    else:
        assert os.name == "posix"
        main()
