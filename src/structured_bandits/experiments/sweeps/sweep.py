"""`sb.sweep`: an experiment at every point of a grid, from its file to its page."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from structured_bandits.base.extras import needs
from structured_bandits.base.writing import write_whole
from structured_bandits.display.page import check_page
from structured_bandits.display.sweep_page import write_sweep_page
from structured_bandits.experiments.settings import NOTHING_NAMED
from structured_bandits.experiments.sweeps.grid import read_grid
from structured_bandits.experiments.sweeps.loaded import Sweep, load_sweep
from structured_bandits.experiments.sweeps.play import Workers, play_grid
from structured_bandits.experiments.worlds import NamedStructures
from structured_bandits.simulation.simulate import versions_of

PAGE = "report.html"


def sweep(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    runs: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    cluster: str | None = None,
    executor: Any = None,
    progress: bool | None = None,
    allow_code: bool = False,
    say: Callable[[str], None] = lambda text: None,
    named: NamedStructures = NOTHING_NAMED,
) -> Sweep:
    """Play an experiment at every point of its `[sweep]`; return what came out.

    `experiment` is a TOML file, or a dictionary of the same form. Everything is written into the folder
    `out`: the runs (`data/`, Parquet files that pandas and DuckDB read as one table), a table of the
    points, a summary and a page. Files are the state: what is there is not played again, so a sweep that
    was stopped goes on, and with more `runs` only those that are missing are played.

    - `runs`: of each point; by default as the experiment says. `seed`: unless the sweep varies it.
    - `workers`: processes on this machine, by default one for each core.
    - `cluster`: "local" for a cluster of dask on this machine, or the address of its scheduler, such as
      "tcp://10.0.0.1:8786"; all machines must see the folder `out` under the same path.
    - `executor`: anything else with `submit` as in `concurrent.futures`.
    - `progress`: a bar with the time that is left; None shows one if standard error is a terminal.
    - `allow_code`: the experiment may name policies of your own, in Python.
    - `say`: called with what is worth telling, such as workers that were lost.
    - `named`: structures of your own that the experiment may call by a name.

    The results are the same to the last bit whoever plays them (`Sweep.digest`).
    """
    source = experiment if isinstance(experiment, Mapping) else Path(experiment)
    folder = Path(out)
    check_page(folder / PAGE)
    players = Workers(workers, cluster, executor)
    grid = read_grid(source, runs, seed, named, allow_code)
    say(f"{len(grid.points):,} points, {grid.runs:,} runs of each")
    began = time.perf_counter()
    play_grid(grid, folder, players, say, progress)
    played = load_sweep(folder)
    publish(played, time.perf_counter() - began, seed)
    return played


def publish(played: Sweep, seconds: float, seed: int) -> None:
    """Write the tables and the page of a sweep."""
    with needs("sb.sweep", extra="simulate"):
        import pyarrow
        import pyarrow.parquet

    summary = played.summary()
    points = played.points.reset_index()
    for axis in (*played.settings, *played.parameters):
        if points[axis].dtype == object:  # numbers and texts do not go into one column
            points[axis] = points[axis].map(str, na_action="ignore")
    buffer = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.Table.from_pandas(points, preserve_index=False), buffer)
    write_whole(played.out / "points.parquet", buffer.getvalue().to_pybytes())
    write_whole(played.out / "summary.csv", summary.to_csv())
    best = played.best()
    write_whole(played.out / "best.csv", best.to_csv(index=False))
    facts = {
        "seed": str(seed),
        "time": f"{seconds:.0f} s in this call, without what was there before",
        "SHA-256 of all runs": played.digest,
        "machine": f"{platform.system()} {platform.machine()}",
        **versions_of("compiled"),
    }
    axes = (played.parameters, played.settings)
    write_sweep_page(played.out / PAGE, played.title, summary, best, axes, played.runs, facts)
