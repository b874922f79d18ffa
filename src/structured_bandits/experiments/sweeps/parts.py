"""The files of a sweep, which are its state: what is there has been played, what is not is missing.

`data/point=7/runs-100-249.parquet` has the runs 100 to 249 of the point 7, as `Result.save` writes them.
A file appears under its name when it is complete. A point whose runs are all there ends with one file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from structured_bandits.errors import FileFormatError
from structured_bandits.simulation.result import TABLES, Result, load_result
from structured_bandits.writing import make_folder

NAME = re.compile(r"runs-(\d{1,12})-(\d{1,12})\.parquet")


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
    names = [NAME.fullmatch(each.name) for each in folder.iterdir()] if folder.is_dir() else []
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
        name = NAME.fullmatch(path.name)
        if name and path != whole and int(name[2]) < runs:
            with suppress(FileNotFoundError):
                path.unlink()
