"""Structures from files: a CSV table of models, or a TOML file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from structured_bandits.base.input_files import FileId, file_id, toml_of
from structured_bandits.errors import FileFormatError, ParameterError, StructureError
from structured_bandits.structures.base import Structure
from structured_bandits.structures.curves.structure import CurveStructure
from structured_bandits.structures.files.toml import ReadFile, build_structure, curve_piece
from structured_bandits.structures.finite.structure import FiniteStructure
from structured_bandits.structures.reward_ranges import Range

MOST_FILES = 20  # each including the next


def load_structure(
    path: str | os.PathLike[str],
    header: bool = False,
    prior: Any = None,
    reward_range: Range | None = None,
) -> Structure:
    """Read a structure from a `.csv` file (models x arms) or a `.toml` file.

    The TOML file names its `kind` and has what that kind needs, such as `positions` and `constant` for
    "lipschitz". Without a kind it holds curves: a table `[[pieces]]` for each `Piece`, with its `start`,
    `end`, `at_start`, `at_end` and, if wanted, `closed`. In both cases `arms` may name the arms, and
    `reward_range` may say in which range rewards lie.

    A CSV file holds only the table. Everything else is said by arguments: `header=True` says that the
    first line holds names even if they look like means, and `prior` and `reward_range` are those of
    `FiniteStructure`.
    """
    said = {"header": header, "prior": prior, "reward_range": reward_range}
    return _load(Path(path), said, (file_id(path),))


def reader(files: tuple[FileId, ...] = ()) -> ReadFile:
    """Return what reads the files that a file includes; `files` led to it, each including the next."""

    def read(path: Path, place: str, said: Mapping[str, Any]) -> Structure:
        try:
            file = file_id(path, place)
        except OSError as error:
            raise FileFormatError(f"{place}: there is no file {path} ({error.strerror})") from None
        if file in files:
            raise FileFormatError(f"{place}: the files include each other")
        if len(files) >= MOST_FILES:
            raise FileFormatError(f"{place}: more than {MOST_FILES} files include each the next")
        if not path.is_file():
            raise FileFormatError(f"{place}: {path} is not a file")
        return _load(path, said, (*files, file))

    return read


def _load(path: Path, said: Mapping[str, Any], files: tuple[FileId, ...]) -> Structure:
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".toml"):
        raise FileFormatError(
            f"{path}: expected a .csv file (a table of models × arms) or a .toml file (a kind, or "
            "pieces)"
        )
    if suffix == ".toml":
        _check_nothing_said(path, said)
    try:
        return FiniteStructure.from_csv(path, **said) if suffix == ".csv" else _toml(path, files)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}, byte {error.start}: expected text in UTF-8") from None
    except FileFormatError:
        raise
    except (StructureError, ParameterError) as error:
        raise FileFormatError(f"{path}: {error}") from None


def _check_nothing_said(path: Path, said: Mapping[str, Any]) -> None:
    """Raise if something is said of a TOML file that only a CSV file has no room for."""
    if said.get("header", False):
        raise FileFormatError(
            f"{path}: header=True is for .csv files, whose first line names the arms"
        )
    for name in ("prior", "reward_range"):
        if said.get(name) is not None:
            raise FileFormatError(
                f"{path}: {name}={said[name]!r} is for .csv files; write it into the .toml file"
            )


def _toml(path: Path, files: tuple[FileId, ...]) -> Structure:
    text = path.read_text(encoding="utf-8-sig")
    content = toml_of(path, text)
    if "kind" in content:
        return build_structure(content, str(path), path.parent, reader(files))
    return _curves(path, text, content)


def _curves(path: str | os.PathLike[str], text: str, content: dict[str, Any]) -> CurveStructure:
    accepted = ("arms", "pieces", "prior", "reward_range")
    unknown = sorted(set(content) - set(accepted))
    if unknown:
        raise FileFormatError(
            f"{path}, {unknown[0]!r}: unknown; without a 'kind' accepted are {', '.join(accepted)}"
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
        said = {name: content.get(name) for name in ("arms", "prior", "reward_range")}
        return CurveStructure(pieces, **said)
    except (StructureError, ParameterError) as error:
        message = re.sub(r"pieces\[(\d+)\]", lambda found: names[int(found[1])], str(error))
        raise FileFormatError(f"{path}: {message}") from None
