"""Edited snapshots of agents."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def resealed(saved: dict[str, Any]) -> str:
    """An edited snapshot with a checksum that fits it: what only the checks of its numbers can tell."""
    inner = json.dumps(saved["content"], separators=(",", ":"))
    saved = {**saved, "checksum": hashlib.sha256(inner.encode()).hexdigest()[:16]}
    return json.dumps(saved)


Path = tuple[str | int, ...]
CONSTANTS = ("NaN", "Infinity", "-Infinity")  # what JSON does not have, but Python's reader takes
VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 2, 2**31, 2**52, 2**53, 2**63, 2**64, 10**400, -(2**63), 0.5, -0.5, 1e308, -1e308),
    *(1e-320, -0.0, True, False, None, "", "inf", "-inf", "nan", "1", "\ud800", [], {}, [0], [[]]),
    *CONSTANTS,
)


def paths(value: Any, path: Path = ()) -> list[Path]:
    """The places of all values in some JSON."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path] * bool(path) + [
        each for key, inner in items for each in paths(inner, (*path, key))
    ]


def edited(saved: Any, path: Path, rng: np.random.Generator) -> tuple[Any, str]:
    """A copy of some JSON with one edit at a place, and what the edit was."""
    copy = json.loads(json.dumps(saved))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    key, value = path[-1], holder[path[-1]]
    kind = str(rng.choice(["replace", "replace", "replace", "delete", "change", "swap"]))
    if kind == "replace":
        new = VALUES[rng.integers(len(VALUES))]
        holder[key] = new
    elif kind == "delete":
        del holder[key]
    elif kind == "swap":  # with a neighbour
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        other = keys[rng.integers(len(keys))]
        holder[key], holder[other] = holder[other], value
    elif isinstance(value, list):
        holder[key] = [value + value[-1:], value[:-1], value * 2, value[::-1]][rng.integers(4)]
    elif isinstance(value, bool) or value is None:
        holder[key] = not value
    elif isinstance(value, (int, float)):
        holder[key] = [value + 1, value - 1, -value, value * 2, value * 1000, float(value)][
            rng.integers(6)
        ]
    elif isinstance(value, str):
        holder[key] = value + "x"
    else:
        holder[key] = {**value, "more": [1]}
    return copy, f"{kind} at {'.'.join(map(str, path))}: {value!r} became {_shortened(holder, key)}"


def _shortened(holder: Any, key: Any) -> str:
    return repr(holder[key] if isinstance(holder, list) and key < len(holder) else holder)[:120]


def with_constants(text: str) -> str:
    """JSON text in which the constants that JSON does not have stand as such."""
    for name in CONSTANTS:
        text = text.replace(f'"{name}"', name)
    return text
