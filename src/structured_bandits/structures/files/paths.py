"""Names of files as users and files give them: some cannot be names, and several may mean one file."""

from __future__ import annotations

import errno
import os

from structured_bandits.errors import FileFormatError

FileId = tuple[int, int]


def file_id(path: str | os.PathLike[str], place: str | None = None) -> FileId:
    """Return what tells a file from all others, whatever it is called (links, `.`, `..`).

    Raises if no file can have this name, with the `place` where it is written; errors of the system,
    such as that there is no such file, are left as they are.
    """
    place = shortened(str(path)) if place is None else place
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


def shortened(name: str, most: int = 100) -> str:
    """Return a name that fits a message: printable, and without its middle if it is long."""
    shown = name if name.isprintable() else repr(name)[1:-1]
    return shown if len(shown) <= most else f"{shown[: most // 2]}…{shown[-most // 2 :]}"
