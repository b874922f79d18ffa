"""The first runs of a process, played in Python instead of waiting for the compiler.

A first simulation compiles for seconds, and takes half a second to find what was compiled before. But
policies plan ahead, so Python plays many a small simulation in less. Both engines give the same numbers
to the last bit; so until this process has loaded the compiled engine, runs are played in Python, for
half a second in all. What is left then is compiled.

This is for the library's own policies and worlds. Those from elsewhere are compiled at once, so that
their authors see at once whether they compile.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from structured_bandits.simulation.batches import Block, play_block
from structured_bandits.simulation.run_spec import Case, Setting

#: Names the seconds for which Python plays: 0 to compile at once.
VARIABLE = "STRUCTURED_BANDITS_PATIENCE"
USUAL = 0.5
PACKAGE = __name__.partition(".")[0]
COMPILER = f"{PACKAGE}.simulation.compiled"

_used = 0.0  # seconds, by all simulations of this process


class Patience:
    """Stands for the flag that ends runs, which is looked at before each plan: raised after a time."""

    def __init__(self, seconds: float) -> None:
        self.deadline = time.perf_counter() + seconds
        self.lost = False

    def __getitem__(self, place: int) -> int:
        self.lost = self.lost or time.perf_counter() > self.deadline
        return int(self.lost)


def first_runs(setting: Setting, case: Case, runs: range) -> tuple[list[Block], range]:
    """Play the first of these runs in Python if they need not be compiled; return who is left, too."""
    global _used
    blocks: list[Block] = []
    seconds = patience_left() if setting.engine == "auto" else 0.0
    if seconds <= 0.0 or not _opens(setting, case, runs.start):
        return blocks, runs
    begin = time.perf_counter()
    patience: Any = Patience(seconds)
    uncompiled = replace(setting, engine="python")
    size = 1
    while runs:
        block = play_block(uncompiled, case, runs[:size], patience)
        if patience.lost:  # in the middle of a run
            break
        blocks.append(block)
        runs, size = runs[size:], 2 * size
    _used += time.perf_counter() - begin
    return blocks, runs


def _opens(setting: Setting, case: Case, run: int) -> bool:
    """Would these runs be compiled, and is all of what is played the library's own?

    If the compiler is missing or switched off, there is a message about that, which must not depend on
    how long runs take.
    """
    off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    if setting.processes or off or find_spec("numba") is None:
        return False
    policies, world = case.at(setting, run)
    return all(map(is_ours, (*policies.values(), world)))


def patience_left() -> float:
    """Return for how many more seconds this process plays in Python what could be compiled."""
    if COMPILER in sys.modules:
        return 0.0
    said = os.environ.get(VARIABLE, "")
    try:
        return float(said or USUAL) - _used
    except ValueError:
        return USUAL - _used


def is_ours(record: Any) -> bool:
    """Do this named tuple and all named tuples inside it come from this package?"""
    if not hasattr(record, "_fields") or not type(record).__module__.startswith(f"{PACKAGE}."):
        return False
    return all(is_ours(value) for value in record if hasattr(value, "_fields"))
