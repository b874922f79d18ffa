"""Compiling in a second process what a long run is going to need.

Each kind of policy on each kind of structure takes some seconds to compile, on one core. While the
first tasks are compiled and played, another process compiles for the last ones, towards the middle,
into the cache that both share. It plays nothing that counts, and it may be killed at any time.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from structured_bandits.experiments.runner import compile_for
from structured_bandits.experiments.settings import Experiment, read_experiment


@contextmanager
def compiling_ahead(tasks: Sequence[tuple[Experiment, str]]) -> Iterator[None]:
    """Compile for the tasks in another process, the last ones first, while the body runs."""
    if len(tasks) < 2:
        yield
        return
    wanted = [
        f"{e.path}\n{e.preset if e.has_presets else ''}\n{name}" for e, name in reversed(tasks)
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, *wanted],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the process that plays
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def main(wanted: Sequence[str]) -> None:
    """Compile for each task; whatever goes wrong will go wrong, and be told, in the main process."""
    for each in wanted:
        path, preset, name = each.split("\n")
        compile_for(read_experiment(Path(path), preset or None), name)


if __name__ == "__main__":
    main(sys.argv[1:])
