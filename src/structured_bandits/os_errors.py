"""What the operating system refuses, in a sentence with what to do about it."""

from __future__ import annotations

import errno
import os

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
