"""Structures as data: the files that a description names are read into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structured_bandits.base.input_files import check_keys, read_toml
from structured_bandits.errors import FileFormatError, StructuredBanditsError
from structured_bandits.structures.base import Structure, are_indices
from structured_bandits.structures.files.load import load_structure
from structured_bandits.structures.files.toml import OF_FILE, build_structure
from structured_bandits.structures.finite.structure import FiniteStructure

DEEPEST = 20  # files that include files


def structure_of(table: Any) -> Structure:
    """Return the structure that a table describes; files are not read."""
    try:
        return build_structure(table, "structure", Path(), _no_files)
    except StructuredBanditsError:
        raise
    except (TypeError, ValueError, OverflowError) as error:  # a value that no check has foreseen
        raise FileFormatError(f"structure: {error}") from None


def _no_files(path: Path, place: str, said: Mapping[str, Any]) -> Structure:
    raise FileFormatError(
        f"{place}: the service reads no files; write the structure itself here, or give a TOML file to "
        "`structured-bandits serve`, which reads the files that it names"
    )


def inlined_structure(written: Any, path: Path) -> dict[str, Any]:
    """Return the description of a structure with nothing left to read.

    `written` is what the TOML file at `path` says: the name of a file, or a table.
    """
    if isinstance(written, str):
        written = {"file": written}
    if not isinstance(written, dict):
        raise FileFormatError(f"{path}, structure={written!r}: expected a table or a file's name")
    inlined: dict[str, Any] = _inlined(written, path.parent, f"{path}, structure", 0)
    return inlined


def _inlined(value: Any, folder: Path, place: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise FileFormatError(f"{place}: nested more than {DEEPEST} deep")
    if isinstance(value, list):
        return [_inlined(each, folder, place, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    if "file" in value:
        return _content(value, folder, place, depth)
    return {key: _inlined(each, folder, place, depth + 1) for key, each in value.items()}


def _content(table: dict[str, Any], folder: Path, place: str, depth: int) -> dict[str, Any]:
    """Return what the file of a table says."""
    check_keys(table, place, ("file",), OF_FILE)
    if not isinstance(table["file"], str):
        raise FileFormatError(f"{place}, file={table['file']!r}: expected the name of a file")
    path = folder / table["file"]
    if not path.is_file():
        raise FileFormatError(f"{place}, file={table['file']!r}: there is no file {path}")
    said = {key: table[key] for key in OF_FILE if key in table}
    structure = load_structure(path, **said)  # raises if something is wrong with the file
    if isinstance(structure, FiniteStructure) and path.suffix.lower() == ".csv":
        return _table_of(structure, said)
    content = read_toml(path)
    content.setdefault("kind", "curves")
    inlined: dict[str, Any] = _inlined(content, path.parent, place, depth + 1)
    return inlined


def _table_of(structure: FiniteStructure, said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of models as a description; names that are indices are left out."""
    table: dict[str, Any] = {"kind": "finite", "means": structure.cells.table.tolist()}
    for key, names in (("arms", structure.arm_names), ("models", structure.model_names)):
        if not are_indices(names):
            table[key] = list(names)
    for key in ("prior", "reward_range"):
        if said.get(key) is not None:
            table[key] = said[key]
    return table
