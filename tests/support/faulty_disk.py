"""A disk that fails, dawdles, ends the process, or forgets what was not synced (see faulty_disk.c)."""

from __future__ import annotations

import mmap
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

SOURCE = Path(__file__).with_name("faulty_disk.c")
WRITE, SYNC, READ = 1, 2, 4
FAIL, SLEEP, KILL, TEAR, HOLD = 1, 2, 3, 4, 5  # HOLD: until it is healed
FOR_EVER = 2**62
FIELDS = "14q"  # of the page that both sides see


def can_make_disks() -> bool:
    """Can this machine load the library? If not, conftest.py says so at the end."""
    return sys.platform == "linux" and shutil.which("gcc") is not None


class FaultyDisk:
    """The library, compiled into a folder, and the page through which it is told what to do."""

    def __init__(self, folder: Path, diary: bool = False) -> None:
        self.library = folder / "faulty_disk.so"
        self.diary = folder / "diary"
        self._keeps_diary = diary
        command = ["gcc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", str(SOURCE)]
        subprocess.run([*command, "-o", str(self.library), "-ldl", "-lpthread"], check=True)
        self._page = folder / "page"
        self._page.write_bytes(bytes(mmap.PAGESIZE))
        with self._page.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to meet this disk; its byte code would meet it too, unnoticed."""
        found = {"PYTHONDONTWRITEBYTECODE": "1"}
        found |= {"LD_PRELOAD": str(self.library), "FAULTY_DISK": str(self._page)}
        return found | ({"FAULTY_DISK_DIARY": str(self.diary)} if self._keeps_diary else {})

    def plan(
        self, calls: int, action: int, number: int = 0, after: int = 0, times: int = FOR_EVER
    ) -> None:
        """After so many calls of these kinds that go well, let `times` of them go wrong."""
        self._write(0, 0, 0, 0, 0, 0)
        self._write(calls, after, times, action, number, 0)

    def heal(self) -> None:
        """Let everything go well from now on."""
        self._write(0, 0, 0, 0, 0, self.met)

    def _write(self, *fields: int) -> None:
        struct.pack_into("6q", self._memory, 0, *fields)

    @property
    def met(self) -> int:
        """How many calls went wrong since the last plan."""
        return int(struct.unpack_from(FIELDS, self._memory)[5])

    def seen(self, call: int) -> int:
        """How many calls of a kind there were."""
        return int(struct.unpack_from(FIELDS, self._memory)[6 + call])

    def cut_power(self, store: Path, random: Random) -> int:
        """Let the files of a store be what a loss of power may leave; return how many writes are gone.

        A write that was not followed by a sync of its file may be there or not, each by itself. So may
        one that was followed by a sync that failed: later syncs need not write it, as Linux does.
        """
        gone = 0
        for kind, path in (("d", store), ("w", store.with_name(store.name + "-wal"))):
            writes, uncertain = _uncertain(self.diary, kind)
            if uncertain and path.exists():
                lost = {place for place in sorted(uncertain) if random.random() < 0.5}
                kept = [write for place, write in enumerate(writes) if place not in lost]
                path.write_bytes(_rewritten(path.read_bytes(), writes, kept))
                gone += len(lost)
        store.with_name(store.name + "-shm").unlink(missing_ok=True)  # it is memory, not disk
        self.diary.unlink(missing_ok=True)
        return gone


class Write(NamedTuple):
    """A write: where, what was there, what is there now, and how long the file was before."""

    place: int
    old: bytes
    new: bytes
    size: int


def _uncertain(diary: Path, kind: str) -> tuple[list[Write], set[int]]:
    """Return the writes to a file, and the places of those that no sync has made certain."""
    writes: list[Write] = []
    waiting: set[int] = set()
    doubtful: set[int] = set()
    for what, each, write in _entries(diary.read_bytes()):
        if each != kind:
            continue
        if what == "W":
            waiting.add(len(writes))
            writes.append(write)
        elif what == "U":  # the file was removed
            writes, waiting, doubtful = [], set(), set()
        else:
            doubtful |= waiting if what == "F" else set()
            waiting = set()
    first = min(waiting | doubtful, default=len(writes))
    return writes[first:], {place - first for place in waiting | doubtful}


def _entries(content: bytes) -> Iterator[tuple[str, str, Write]]:
    place = 0
    while place + 32 <= len(content):
        what, kind = content[place : place + 2].decode()
        length, offset, size = struct.unpack_from("3q", content, place + 8)
        old, new = place + 32, place + 32 + length
        place = new + length
        yield what, kind, Write(offset, content[old:new], content[new:place], size)


def _rewritten(content: bytes, writes: list[Write], kept: list[Write]) -> bytes:
    """Take all writes back, then do those again that were kept."""
    image = bytearray(content)
    for write in reversed(writes):
        image[write.place : write.place + len(write.old)] = write.old
        del image[write.size :]
    for write in kept:
        if write.place > len(image):
            image.extend(bytes(write.place - len(image)))
        image[write.place : write.place + len(write.new)] = write.new
    return bytes(image)
