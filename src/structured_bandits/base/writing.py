"""Writing files: whole or not at all, under safe names, and refused before the work if they cannot be.

A file is written under a temporary name in the folder where it belongs and then takes its final name.
So nobody ever reads half of it, and two writers of one file do not meet: the last one wins.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from structured_bandits.errors import OutputError

#: A temporary name ends in a random token (since 0.2.0), the number of its process, and "part".
UNFINISHED = re.compile(r"\.(?:[0-9a-f]{16}|parquet)\.(?P<process>[0-9]+)\.part$")
LONGEST = 60  # characters of a name that is kept as it is
PLAIN = re.compile(rf"[a-z0-9][a-z0-9_-]{{0,{LONGEST - 1}}}")
HASHED = re.compile(r"-[0-9a-f]{16}$")
PROBE = 4096  # bytes
#: By error: what whoever named the file can do.
REMEDIES = {
    errno.ENOENT: "check the name and the folders on the way to it",
    errno.EACCES: "ask its owner to let you, or name another place",
    errno.EPERM: "ask its owner to let you, or name another place",
    errno.EROFS: "name another place",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "name a place that is not below a file",
    errno.EEXIST: "name another place",
    errno.ENAMETOOLONG: "give it a shorter name",
    errno.ENOSPC: "make room, or name another place",
    errno.EDQUOT: "make room, or name another place",
    errno.EFBIG: "make room, or name another place",
}


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file, texts in UTF-8; if that fails, what stood there before is as it was.

    It takes the content and not a function that writes: some libraries, given a full disk, raise
    whatever comes, and hold the file open.
    """
    with _refusals(path):
        target = Path(os.path.realpath(path))  # a link stays, the file it leads to is replaced
        part = _unfinished(target)
        try:
            part.write_bytes(content.encode() if isinstance(content, str) else content)
            os.replace(part, target)
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def check_file(path: Path) -> None:
    """Raise if a file could not be written at `path`; tries it with a small one beside it."""
    with _refusals(path):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise OSError("it is there and is not a file")
        probe = _unfinished(Path(os.path.realpath(path)))
        try:
            probe.write_bytes(bytes(PROBE))
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, unless they are there."""
    with _refusals(folder, "made a folder"):
        folder.mkdir(parents=True, exist_ok=True)


def check_files(paths: Iterable[Path], size: int) -> None:
    """Make the folders of files and raise if these could not be written; `size` in bytes, of all."""
    several = list(paths)
    for path in several:
        make_folder(path.parent)
        check_file(path)
    if several and (free := shutil.disk_usage(several[0].parent).free) < size:
        raise OutputError(
            f"{several[0].parent}: the disk has {free / 1e6:,.1f} MB left, this needs about "
            f"{size / 1e6:,.1f} MB"
        )


def safe_name(text: str) -> str:
    """Return a file name, without its suffix, for any text; different texts get different names.

    A short name of lower-case letters, digits, "-" and "_" is kept; any other is spelled with these and
    ends in a hash, so that it leads to no other folder and fits every file system.
    """
    if PLAIN.fullmatch(text) and not HASHED.search(text):
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{spelled(text)}-{digest}"


def spelled(text: str) -> str:
    """Return what is left of a text when it is short and has only letters, digits, "-" and "_"."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", text)[:LONGEST].strip("-") or "unnamed"


def sweep_unfinished(files: Iterable[Path]) -> None:
    """Remove those of the files that are temporary and whose processes were killed."""
    if not os.path.isdir("/proc"):
        return  # who lives cannot be told
    for path in files:
        found = UNFINISHED.search(path.name)
        if found and not os.path.exists(f"/proc/{found['process']}"):
            with suppress(OSError):
                path.unlink(missing_ok=True)


def _unfinished(target: Path) -> Path:
    return target.with_name(f"{target.name[:40]}.{secrets.token_hex(8)}.{os.getpid()}.part")


@contextmanager
def _refusals(path: str | os.PathLike[str], what: str = "written") -> Iterator[None]:
    """Turn what the system says, or a path that cannot be (with a NUL), into one kind of error."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise OutputError(f"{path} cannot be {what}: {reason}") from None


def reason_of(error: OSError) -> str:
    """Return why something was refused and, where that is known, what to do.

    >>> reason_of(PermissionError(errno.EACCES, "Permission denied"))
    'Permission denied; ask its owner to let you, or name another place'
    """
    said = error.strerror or str(error)
    number = error.errno or 0
    known = said == os.strerror(number)  # and not in words that Python has found for it
    return f"{said}; {REMEDIES[number]}" if known and number in REMEDIES else said


def sentence_of(error: OSError) -> str:
    """Return what was refused, and why; of a copy, the file that was to be written.

    >>> sentence_of(FileNotFoundError(errno.ENOENT, "No such file or directory", "a.csv"))
    'a.csv: No such file or directory; check the name and the folders on the way to it'
    """
    path = error.filename if error.filename2 is None else error.filename2
    named = "the system says" if path is None else os.fsdecode(path)
    return f"{named}: {reason_of(error)}"
