"""Reading what users give: names of files, TOML files, and tables whose keys are checked.

Some texts cannot be names of files, and several names may mean one file.
"""

from __future__ import annotations

import errno
import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from structured_bandits.errors import FileFormatError

FileId = tuple[int, int]


def file_id(path: str | os.PathLike[str], place: str | None = None) -> FileId:
    """Return what tells a file from all others, whatever it is called (links, `.`, `..`).

    Raises if no file can have this name, with the `place` where it is written; errors of the system,
    such as that there is no such file, are left as they are.
    """
    place = short_name(str(path)) if place is None else place
    try:
        found = os.stat(path)
    except ValueError:
        raise FileFormatError(f"{place}: no file has a NUL character in its name") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileFormatError(
                f"{place}: the name of the file is too long ({len(str(path)):,} characters)"
            ) from None
        if error.errno == errno.ELOOP:
            raise FileFormatError(f"{place}: the links to the file go round in a circle") from None
        raise
    return found.st_dev, found.st_ino


def short_name(name: str, most: int = 100) -> str:
    """Return a name that fits a message: printable, and without its middle if it is long."""
    shown = name if name.isprintable() else repr(name)[1:-1]
    return shown if len(shown) <= most else f"{shown[: most // 2]}…{shown[-most // 2 :]}"


def read_toml(path: Path) -> dict[str, Any]:
    """Return what is written in a TOML file; raises FileFormatError if it is none."""
    try:
        return toml_of(path, path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}, byte {error.start}: expected text in UTF-8") from None


def toml_of(path: Path, text: str) -> dict[str, Any]:
    """Return what the text of a TOML file says; raises FileFormatError if it is none."""
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also of numbers with too many digits
        raise FileFormatError(f"{path}: {error}; expected TOML") from None
    except RecursionError:
        raise FileFormatError(f"{path}: tables or lists are nested too deeply") from None


def check_keys(
    table: Mapping[str, Any], place: str, needed: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    """Raise if a key is unknown or missing."""
    accepted = tuple(dict.fromkeys((*needed, *optional)))
    unknown = [key for key in table if key not in accepted]
    missing = [key for key in needed if key not in table]
    if unknown:
        near = get_close_matches(unknown[0], accepted, n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise FileFormatError(
            f"{place}, {unknown[0]!r}: unknown; accepted are {', '.join(accepted)}{meant}"
        )
    if missing:
        raise FileFormatError(f"{place}: {missing[0]!r} is missing")
