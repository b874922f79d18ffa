"""The lock of an SQLite store: one process owns a file, under whatever name it was found.

A lock on a file beside the store names its owner in messages. Where the system has locks of whole files
that do not meet those of SQLite (Linux), the store itself is locked as well: then a second server finds
the lock however the file was renamed, linked or mounted since. The write-ahead log of SQLite lies beside
the name of the file, so a file that has two names, or is mounted alone, is refused: opened by its other
name after a crash, it would be without what was acknowledged last.
"""

from __future__ import annotations

import fcntl
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

from structured_bandits.service.store.tables import owner_name
from structured_bandits.service.store_protocol import OwnedElsewhereError, StoreError

#: File systems on which locks or the shared memory of the write-ahead log cannot be relied upon.
NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "glusterfs", "lustre", "ceph"}
NETWORKED |= {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs"}


class FileLock:
    """The lock of a file, held until `release`; the file is made if there is none.

    Raises StoreError if no lock of it can be relied upon, OwnedElsewhereError if another process has it.
    Release it after SQLite has closed the file: Linux takes SQLite's locks from a process that closes
    the same file anywhere.
    """

    def __init__(self, path: Path) -> None:
        mounts = _mounts()
        _refuse_networks(path.parent, mounts)
        _refuse_mounted(path, mounts)
        self._held: list[int] = []
        try:
            self._lock_beside(path)
            if sys.platform == "linux":
                self._lock_itself(path)
            _refuse_links(path)
        except BaseException:
            self.release()
            raise

    def _lock_beside(self, path: Path) -> None:
        beside = path.with_name(path.name + ".lock")
        try:
            self._held.append(os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        except IsADirectoryError:
            raise StoreError(
                f"{beside}: it is a folder; the lock of the store goes there"
            ) from None
        if not _lock(self._held[0]):
            owner = os.read(self._held[0], 1000).decode(errors="replace").strip()
            raise _owned(path, owner or "an unknown process")
        os.ftruncate(self._held[0], 0)
        os.write(self._held[0], f"{owner_name()}\n".encode())

    def _lock_itself(self, path: Path) -> None:
        self._held.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644))
        if not _lock(self._held[1]):
            raise _owned(path, "a process that knows it by another name")

    def release(self) -> None:
        """Let other processes have the file."""
        while self._held:
            os.close(self._held.pop())


def check_one_name(path: Path) -> None:
    """Raise if a file is known by another name, beside which its newest rows may lie."""
    _refuse_mounted(path, _mounts())
    _refuse_links(path)


def _refuse_mounted(path: Path, mounts: dict[str, str]) -> None:
    if str(path) in mounts:
        raise StoreError(
            f"{path}: it is mounted as a single file, and its write-ahead log would not lie beside "
            "it under its other name; mount its folder instead"
        )


def _refuse_links(path: Path) -> None:
    names = path.stat().st_nlink if path.exists() else 1
    if names > 1:
        raise StoreError(
            f"{path}: the file has {names} names (hard links), and its write-ahead log lies beside "
            "only one of them. Remove the others; for a copy, use `structured-bandits backup` then"
        )


def _lock(file: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _owned(path: Path, owner: str) -> OwnedElsewhereError:
    return OwnedElsewhereError(f"{path}: it is in use by {owner}; one process owns it")


def _refuse_networks(folder: Path, mounts: dict[str, str]) -> None:
    """Raise if a folder lies on a file system over a network, where locks may not hold."""
    if not folder.is_dir():
        raise StoreError(f"{folder}: there is no such folder")
    inside = [place for place in mounts if folder.is_relative_to(place)]
    kind = mounts[max(inside, key=len)] if inside else None
    if kind in NETWORKED:
        raise StoreError(
            f"{folder}: it lies on a network file system ({kind}), on which SQLite's locks do not hold; "
            "choose a local folder, or PostgreSQL"
        )


def _mounts() -> dict[str, str]:
    """Return the places where something is mounted, with their kinds; none where nobody says so."""
    try:
        lines = Path("/proc/self/mounts").read_text().splitlines()
    except OSError:
        return {}
    parts = [line.split() for line in lines]
    return {_plain(place): kind for _, place, kind, *_ in parts}


def _plain(place: str) -> str:
    r"""Return a path that the system has written with its blanks as numbers, such as \040."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place)
