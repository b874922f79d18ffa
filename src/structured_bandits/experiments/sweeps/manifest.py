"""What a folder of a sweep says it holds: the file `sweep.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structured_bandits.errors import FileFormatError, OutputError
from structured_bandits.experiments.sweeps.grid import SweepGrid

FORMAT = 1
NAME = "sweep.json"
KEYS = {"title", "runs", "parameters", "settings", "points"}


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
    path = out / NAME
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
