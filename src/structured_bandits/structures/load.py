"""Structures from files: a CSV table of models, or a TOML file with the pieces of curves."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from structured_bandits.errors import FileFormatError, StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.curves import CurveStructure, Piece
from structured_bandits.structures.finite import FiniteStructure

KEYS = ("start", "end", "at_start", "at_end", "closed")


def load_structure(path: str | os.PathLike[str]) -> Structure:
    """Read a structure from a `.csv` file (models x arms) or a `.toml` file with pieces.

    The TOML file has a table `[[pieces]]` for each `Piece`, with its `start`, `end`, `at_start`,
    `at_end` and, if wanted, `closed`; `arms` may name the arms.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".toml"):
        raise FileFormatError(
            f"{path}: expected a .csv file (a table of models × arms) or a .toml file with pieces"
        )
    try:
        return FiniteStructure.from_csv(path) if suffix == ".csv" else _from_toml(path)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}, byte {error.start}: expected text in UTF-8") from None
    except StructureError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _from_toml(path: str | os.PathLike[str]) -> CurveStructure:
    text = Path(path).read_text(encoding="utf-8-sig")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: {error}; expected TOML") from None
    unknown = sorted(set(content) - {"arms", "pieces"})
    if unknown:
        raise FileFormatError(f"{path}, {unknown[0]!r}: unknown; accepted are 'arms' and 'pieces'")
    tables = content.get("pieces")
    if isinstance(tables, dict):
        raise FileFormatError(
            f"{path}: [pieces] is a single table; write [[pieces]] for each piece"
        )
    if not isinstance(tables, list) or not tables:
        raise FileFormatError(f"{path}: expected a table [[pieces]] for each piece, found none")
    lines = [
        number
        for number, line in enumerate(text.splitlines(), start=1)
        if re.match(r"\s*\[\[\s*pieces\s*\]\]", line)
    ]
    names = [f"pieces[{number}]" for number in range(len(tables))]
    if len(lines) == len(tables):
        names = [f"{name} (line {line})" for name, line in zip(names, lines, strict=True)]
    pieces = [_piece(f"{path}, {name}", table) for name, table in zip(names, tables, strict=True)]
    try:
        return CurveStructure(pieces, arms=content.get("arms"))
    except StructureError as error:
        message = re.sub(r"pieces\[(\d+)\]", lambda found: names[int(found[1])], str(error))
        raise FileFormatError(f"{path}: {message}") from None


def _piece(place: str, table: Any) -> Piece:
    if not isinstance(table, dict):
        raise FileFormatError(f"{place}: expected a table with {', '.join(KEYS)}")
    unknown = [key for key in table if key not in KEYS]
    missing = [key for key in KEYS[:4] if key not in table]
    if unknown:
        raise FileFormatError(f"{place}, {unknown[0]!r}: unknown; accepted are {', '.join(KEYS)}")
    if missing:
        raise FileFormatError(f"{place}: {missing[0]!r} is missing")
    for key in KEYS[:2]:
        if not _is_number(table[key]):
            raise FileFormatError(f"{place}, {key}={table[key]!r}: expected a number")
    for key in KEYS[2:4]:
        if not isinstance(table[key], list) or not all(map(_is_number, table[key])):
            raise FileFormatError(f"{place}, {key}={table[key]!r}: expected a list of numbers")
    return Piece(**table)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
