"""Rows of benchmark tables: what was measured, what was aimed at, and where it is written down."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

# What is timed is compiled, also in processes that are started from here.
os.environ.setdefault("STRUCTURED_BANDITS_PATIENCE", "0")

FOLDER = Path(__file__).parent.parent / "results" / "bench"
MEETS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda measured, bound: measured >= bound,
    "<=": lambda measured, bound: measured <= bound,
    "<": lambda measured, bound: measured < bound,
}


@dataclass(frozen=True)
class Row:
    """A measurement: a ratio or a number with its unit, beside its aim, such as ">= 250"."""

    topic: str
    work: str
    aim: str  # empty if there is none
    measured: float
    unit: str = "times"
    note: str = ""

    @property
    def bound(self) -> tuple[str, float] | None:
        """The aim as a comparison and a number, None if there is no aim."""
        if not self.aim:
            return None
        found = re.fullmatch(r"(>=|<=|<) ([\d,.]+)", self.aim)
        if not found:
            raise ValueError(f"aim={self.aim!r}: expected >=, <= or <, a blank and a number")
        return found[1], float(found[2].replace(",", ""))

    @property
    def meets(self) -> bool:
        """Is the aim met? True if there is none."""
        return self.bound is None or MEETS[self.bound[0]](self.measured, self.bound[1])

    @property
    def verdict(self) -> str:
        """Say whether the aim is met, or how far off it is."""
        if self.bound is None:
            return "-"
        if self.meets:
            return "met"
        return f"missed: {number(self.measured / self.bound[1])} times the aim"


def number(value: float) -> str:
    """Return a number with three digits or all of its whole part.

    >>> number(0.01234), number(1.234), number(12345.6)
    ('0.0123', '1.23', '12,346')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


Clock = Callable[[], float]


def interleaved(
    contestants: dict[str, Callable[[], Any]],
    repetitions: int,
    warm: bool = False,
    clock: Clock = time.perf_counter,
) -> dict[str, float]:
    """Return the median seconds of each; they take turns, so that a busy machine disturbs all alike.

    Every contestant is called once before, untimed, so that nothing compiles on the clock, unless they
    are `warm` already. For work in this process alone, `clock=time.process_time` counts no seconds that
    others had the core.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for work in contestants.values() if not warm else ():
        work()
    for _ in range(repetitions):
        for name, work in contestants.items():
            times[name].append(seconds(work, clock))
    return {name: statistics.median(taken) for name, taken in times.items()}


def seconds(work: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    """Return the seconds that one call takes."""
    begin = clock()
    work()
    return clock() - begin


def write(topic: str, rows: Iterable[Row]) -> None:
    """Print the rows and keep them in results/bench/<topic>.json, with the machine and versions."""
    rows = list(rows)
    width = max(len(row.work) for row in rows)
    print(f"\n{topic}")
    for row in rows:
        print(
            f"  {row.work:<{width}}  {number(row.measured):>11} {row.unit:<12} "
            f"aim {row.aim or '-':<9} {row.verdict:<19} {row.note}"
        )
    FOLDER.mkdir(parents=True, exist_ok=True)
    kept = {
        "topic": topic,
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "rows": [{**asdict(row), "meets": row.meets} for row in rows],
    }
    (FOLDER / f"{topic}.json").write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


def machine() -> dict[str, Any]:
    """Return what the numbers depend on besides the code."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Numba": version("numba"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
