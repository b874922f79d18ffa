"""Structures from files: a CSV table of models, or a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any

from structured_bandits.errors import FileFormatError, StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.files.toml import build_structure, curve_piece
from structured_bandits.structures.finite.structure import FiniteStructure


def load_structure(path: str | os.PathLike[str]) -> Structure:
    """Read a structure from a `.csv` file (models x arms) or a `.toml` file.

    The TOML file names its `kind` and has what that kind needs, such as `positions` and `constant` of
    "lipschitz". Without a kind it holds curves: a table `[[pieces]]` for each `Piece`, with its `start`,
    `end`, `at_start`, `at_end` and, if wanted, `closed`. In both `arms` may name the arms.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".toml"):
        raise FileFormatError(
            f"{path}: expected a .csv file (a table of models × arms) or a .toml file (a kind, or "
            "pieces)"
        )
    try:
        return FiniteStructure.from_csv(path) if suffix == ".csv" else _from_toml(path)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}, byte {error.start}: expected text in UTF-8") from None
    except FileFormatError:
        raise
    except StructureError as error:
        raise FileFormatError(f"{path}: {error}") from None


def _from_toml(path: str | os.PathLike[str]) -> Structure:
    text = Path(path).read_text(encoding="utf-8-sig")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{path}: {error}; expected TOML") from None
    if "kind" in content:
        return build_structure(content, str(path), Path(path).parent, load_structure)
    return _curves(path, text, content)


def _curves(path: str | os.PathLike[str], text: str, content: dict[str, Any]) -> CurveStructure:
    unknown = sorted(set(content) - {"arms", "pieces"})
    if unknown:
        raise FileFormatError(
            f"{path}, {unknown[0]!r}: unknown; without a 'kind' accepted are 'arms' and 'pieces'"
        )
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
    pieces = [
        curve_piece(f"{path}, {name}", table) for name, table in zip(names, tables, strict=True)
    ]
    try:
        return CurveStructure(pieces, arms=content.get("arms"))
    except StructureError as error:
        message = re.sub(r"pieces\[(\d+)\]", lambda found: names[int(found[1])], str(error))
        raise FileFormatError(f"{path}: {message}") from None
