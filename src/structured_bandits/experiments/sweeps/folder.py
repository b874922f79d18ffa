"""The folder of a sweep: what `sweep.json` says it holds, and the files of its runs.

The files are the state: what is there has been played, what is not is missing.
`data/point=7/runs-100-249.parquet` has the runs 100 to 249 of the point 7, as `Result.save` writes them.
A file appears under its name when it is complete. A point whose runs are all there ends with one file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from structured_bandits.base.writing import make_folder
from structured_bandits.errors import FileFormatError, OutputError
from structured_bandits.experiments.sweeps.grid import SweepGrid
from structured_bandits.simulation.result import TABLES, Result, load_result

FORMAT = 1
MANIFEST = "sweep.json"
KEYS = {"title", "runs", "parameters", "settings", "points"}
PART = re.compile(r"runs-(\d{1,12})-(\d{1,12})\.parquet")


def manifest_of(grid: SweepGrid) -> dict[str, Any]:
    """Return what a sweep is, as JSON can hold it."""
    return {
        "format": FORMAT,
        "title": grid.title,
        "runs": grid.runs,
        "parameters": [axis.name for axis in grid.axes if axis.parameter],
        "settings": [axis.name for axis in grid.axes if not axis.parameter],
        "points": [
            {
                "point": each.number,
                "policy": each.policy,
                "values": each.values,
                "horizon": each.experiment.horizon,
                "seed": each.seed,
                "key": each.key,
            }
            for each in grid.points
        ],
    }


def read_manifest(out: Path) -> dict[str, Any] | None:
    """Return what a folder holds; None if there is no sweep in it."""
    path = out / MANIFEST
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or "format" not in content:
        raise FileFormatError(f"{path} is not what a sweep writes")
    if content["format"] != FORMAT:
        raise FileFormatError(f"{path}: format {content['format']!r}, expected {FORMAT}")
    if not set(content) >= KEYS:
        raise FileFormatError(f"{path} is not what a sweep writes")
    return content


def check_same(known: Mapping[str, Any], ours: Mapping[str, Any], out: Path) -> None:
    """Raise if a folder has another sweep; one with fewer runs may go on."""
    before, now = known["points"], ours["points"]
    if len(before) != len(now):
        why = f"it has {len(before)} points, this one {len(now)}"
    elif differs := [each for each, other in zip(before, now, strict=True) if each != other]:
        first = differs[0]
        why = (
            f"point {first['point']} ({first['policy']}, {first['values']}) is another one, or was "
            "played by another version of the library"
        )
    elif known["runs"] > ours["runs"]:
        why = f"it has {known['runs']} runs of each point, more than {ours['runs']}"
    else:
        return
    raise OutputError(f"{out} has another sweep: {why}; use another folder, or remove this one")


def folder_of(out: Path, point: int) -> Path:
    """Return the folder of a point's files."""
    return out / "data" / f"point={point}"


def part_path(out: Path, point: int, runs: range) -> Path:
    """Return the file of some runs of a point."""
    return folder_of(out, point) / f"runs-{runs.start}-{runs.stop - 1}.parquet"


def save_part(result: Result, path: Path) -> None:
    """Write the runs of a part."""
    make_folder(path.parent)
    result.save(path, lists="any")


def parts_of(out: Path, point: int) -> list[range]:
    """Return the runs in the files of a point, in order; those inside others are left out."""
    folder = folder_of(out, point)
    names = [PART.fullmatch(each.name) for each in folder.iterdir()] if folder.is_dir() else []
    found = [range(int(name[1]), int(name[2]) + 1) for name in names if name]
    chosen: list[range] = []
    for runs in sorted(found, key=lambda each: (each.start, -each.stop)):
        if len(runs) and (not chosen or runs.stop > chosen[-1].stop):
            chosen.append(runs)
    return chosen


def missing_runs(out: Path, point: int, runs: int) -> Iterator[range]:
    """Yield the runs of a point that are in no file."""
    first = 0
    for part in parts_of(out, point):
        if first < min(part.start, runs):
            yield range(first, min(part.start, runs))
        first = max(first, part.stop)
    if first < runs:
        yield range(first, runs)


def load_runs(out: Path, point: int, key: str, runs: int) -> Result:
    """Return the first `runs` runs of a point; raises FileFormatError if a file is not what it says."""
    results: list[Result] = []
    count = 0
    for part in parts_of(out, point):
        if part.start > count or count >= runs:
            break
        path = part_path(out, point, part)
        result = _checked(load_result(path), path, part, key)
        results.append(
            rows_of(result, slice(count - part.start, min(runs, part.stop) - part.start))
        )
        count = part.stop
    if count < runs:
        raise FileFormatError(f"{folder_of(out, point)}: run {count} is missing")
    return together(results)


def _checked(result: Result, path: Path, runs: range, key: str) -> Result:
    said = (result.info.get("key"), result.info.get("first_run"), result.runs)
    if said != (key, runs.start, len(runs)):
        raise FileFormatError(
            f"{path} was not written under this name, or by other settings or another version; it is "
            "left alone: move it away, or use another folder"
        )
    return result


def rows_of(result: Result, rows: slice) -> Result:
    """Return some runs of a result."""
    tables = {
        key: {name: table[rows] for name, table in getattr(result, key).items()} for key in TABLES
    }
    first = result.info["first_run"] + rows.start
    count = rows.stop - rows.start
    info = {**result.info, "first_run": first, "runs": count}
    return Result(checkpoints=result.checkpoints, info=info, **tables)


def together(results: Sequence[Result]) -> Result:
    """Return the runs of several results, one after the other, as one."""
    first = results[0]
    tables = {
        key: {
            name: np.concatenate([getattr(each, key)[name] for each in results])
            for name in getattr(first, key)
        }
        for key in TABLES
    }
    info = {**first.info, "runs": sum(each.runs for each in results)}
    return Result(checkpoints=first.checkpoints, info=info, **tables)


def gather(out: Path, point: int, key: str, runs: int) -> None:
    """Make one file of a point's runs, and remove those that it replaces."""
    whole = part_path(out, point, range(runs))
    if not whole.exists():
        save_part(load_runs(out, point, key, runs), whole)
    for path in folder_of(out, point).iterdir():
        name = PART.fullmatch(path.name)
        if name and path != whole and int(name[2]) < runs:
            with suppress(FileNotFoundError):
                path.unlink()
