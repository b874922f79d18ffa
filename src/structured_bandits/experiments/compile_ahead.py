"""Compiling in a second process what a long run is going to need.

Each kind of policy on each kind of structure takes some seconds to compile, on one core. While the
first tasks are compiled and played, another process compiles for the last ones, towards the middle,
into the cache that both share. It plays nothing that counts, and it may be killed at any time.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from structured_bandits.experiments.saved_runs import compile_for
from structured_bandits.experiments.settings import Experiment


@contextmanager
def compiling_ahead(tasks: Sequence[tuple[Experiment, str]]) -> Iterator[None]:
    """Compile for the tasks in another process, the last ones first, while the body runs."""
    cached = [(experiment, name) for experiment, name in tasks if name not in experiment.code]
    process = _start(cached) if len(cached) > 1 else None  # what is not the library's is not cached
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.wait()


def _start(tasks: Sequence[tuple[Experiment, str]]) -> subprocess.Popen[bytes] | None:
    try:
        with tempfile.TemporaryFile() as wanted:
            pickle.dump(list(reversed(tasks)), wanted)
            wanted.seek(0)
            return subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=wanted,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the process that plays
            )
    except OSError:  # no room for a temporary file or a process: it only takes longer
        return None


def main() -> None:
    """Compile for each task; whatever goes wrong will go wrong, and be told, in the main process."""
    tasks: Sequence[tuple[Experiment, str]] = pickle.load(sys.stdin.buffer)
    for experiment, name in tasks:
        compile_for(experiment, name)


if __name__ == "__main__":
    main()
