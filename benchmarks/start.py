"""How long a first result takes, in fresh processes (`make bench`).

With an empty cache of compiled code, and again with what the process before left in it. Seconds are
those of the processor, from the start of Python to its end, least of some repetitions: compiling and
importing are work of one core, and a busy machine should not be measured. One row is by the clock: how
long `structured-bandits reproduce` compiles while its second process helps. The bytecode of all modules
is there, as it is after an installation. A first result may come without compiled code (`engine="auto"`,
what users get); with `engine="compiled"` the same aims show what compiling takes.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from rows import Row, write

from structured_bandits.simulation.workers import core_count

TOPIC = "start"
UNCACHED, CACHED = 2, 5  # repetitions
FIRST = """
import structured_bandits as sb
visitors = sb.FiniteStructure(
    [[0.12, 0.04, 0.08, 0.05], [0.03, 0.11, 0.08, 0.02], [0.02, 0.03, 0.07, 0.14]]
)
how = dict(horizon=1000, runs=10, workers=1, engine="{engine}")
sb.simulate(sb.{policy}, sb.Bernoulli(visitors.means(1)), **how)
"""
POLICIES = {"UCB": "UCB(visitors)", "SAE": "SAE(visitors, 1000)", "SUCB": "SUCB(visitors)"}
ALL_OF_THE_PAPER = """
import warnings
import structured_bandits as sb
from structured_bandits.experiments.paper.reproduce import experiments
from structured_bandits.experiments.saved_runs import compile_for
warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
for preset in ("equal-widths", "fitted"):
    for experiment in experiments((), preset):
        for name in experiment.specs:
            compile_for(experiment, name)
"""


ALL_CORES = """
import time
import warnings
import structured_bandits as sb
from structured_bandits.experiments.run import compiling_ahead
from structured_bandits.experiments.paper.reproduce import experiments
from structured_bandits.experiments.saved_runs import compile_for
warnings.simplefilter("ignore", sb.MeansOutsideUnitIntervalWarning)
presets = ("equal-widths", "fitted")
tasks = [(each, name) for p in presets for each in experiments((), p) for name in each.specs]
begin = time.perf_counter()
with compiling_ahead(tasks):
    for experiment, name in tasks:
        compile_for(experiment, name)
print(time.perf_counter() - begin)
"""


INSTALLED = (
    "import structured_bandits.simulation.compiled, structured_bandits.experiments.paper.reproduce"
)


@contextmanager
def installation() -> Iterator[dict[str, str]]:
    """Give the environment of processes that find bytecode, whatever this one was told of it."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        for variable in ("PYTHONDONTWRITEBYTECODE", "STRUCTURED_BANDITS_PATIENCE"):
            environment.pop(variable, None)
        processor_seconds(INSTALLED, environment)
        yield environment


@contextmanager
def empty_cache(installed: dict[str, str]) -> Iterator[dict[str, str]]:
    """Give the environment of a process that finds no compiled code, unless one before it left some."""
    with tempfile.TemporaryDirectory() as folder:
        yield {**installed, "NUMBA_CACHE_DIR": folder}


def processor_seconds(code: str, environment: dict[str, str]) -> float:
    """Run code in a fresh process; return the seconds of the processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def seconds_by_the_clock(code: str, environment: dict[str, str]) -> float:
    """Run code in a fresh process; return the seconds by the clock that it prints."""
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(said.stdout)


def starts(code: str, uncached: int, cached: int, installed: dict[str, str]) -> tuple[float, float]:
    """Return the least seconds with an empty cache, and with a full one."""
    firsts, others = [], []
    for _ in range(uncached):
        with empty_cache(installed) as environment:
            firsts.append(processor_seconds(code, environment))
            others += [processor_seconds(code, environment) for _ in range(cached)]
    return min(firsts), min(others)


def measured(installed: dict[str, str]) -> Iterator[Row]:
    """Yield the rows of first results, and of all that the paper's experiments play."""
    for name, policy in POLICIES.items():
        for engine in ("auto", "compiled"):
            code = FIRST.format(policy=policy, engine=engine)
            first, later = starts(code, UNCACHED, CACHED, installed)
            work = f"import, and the first result of {name} on a table, engine={engine!r}"
            yield Row(TOPIC, f"{work}, nothing cached", "<= 4", first, "s")
            yield Row(TOPIC, f"{work}, from the cache", "<= 0.8", later, "s")
    first, later = starts(ALL_OF_THE_PAPER, 1, 1, installed)
    note = f"{first:.1f} s with nothing cached, {later:.1f} s from the cache, one process"
    work = "compiling what structured-bandits reproduce plays, both presets"
    yield Row(TOPIC, work, "<= 20", first - later, "s", note)
    with empty_cache(installed) as environment:
        first, later = (seconds_by_the_clock(ALL_CORES, environment) for _ in range(2))
    note = f"{first:.1f} s with nothing cached, {later:.1f} s from the cache, {core_count()} cores"
    work = "the same by the clock, with the process that compiles ahead"
    yield Row(TOPIC, work, "", first - later, "s", note)


def main() -> None:
    with installation() as installed:
        write(TOPIC, list(measured(installed)))


if __name__ == "__main__":
    main()
