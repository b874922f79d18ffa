"""When decisions were asked for: as columns, because there may be millions of them.

Ids and times both rise, so a time is found by bisection, and only the first decision of each
millisecond is kept: at most 16 bytes for each.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right


class AskTimes:
    """The times of all decisions from the oldest that is out."""

    def __init__(self) -> None:
        self.firsts = array("q")
        self.times = array("q")

    def add(self, first: int, at: int) -> None:
        """Note that decisions from `first` on were asked for at this time."""
        if not self.times or self.times[-1] != at:
            self.firsts.append(first)
            self.times.append(at)

    def asked_after(self, at: int, next_id: int) -> int:
        """Return the id of the first decision that was asked for after this time."""
        place = bisect_right(self.times, at)
        return self.firsts[place] if place < len(self.firsts) else next_id

    def time_of(self, decision: int) -> int:
        """Return when a decision was asked for; it must not have been forgotten."""
        return self.times[bisect_right(self.firsts, decision) - 1]

    def forget_before(self, decision: int) -> None:
        """Forget what only decisions before this one need; it is done when much has gathered."""
        place = bisect_right(self.firsts, decision) - 1
        if place > 1000 and 2 * place > len(self.firsts):
            del self.firsts[:place]
            del self.times[:place]

    def forget_all(self) -> None:
        """Forget everything: nothing is out."""
        if len(self.firsts) > 1000:
            del self.firsts[:-1]
            del self.times[:-1]

    def columns(self, oldest: int | None) -> tuple[bytes, bytes]:
        """Return both columns from the oldest decision that is out."""
        if oldest is None:
            return b"", b""
        start = max(bisect_right(self.firsts, oldest) - 1, 0)
        firsts = self.firsts[start:]
        firsts[0] = oldest  # whatever was asked for before it at the same time
        return firsts.tobytes(), self.times[start:].tobytes()

    @classmethod
    def from_columns(cls, firsts: bytes, times: bytes) -> AskTimes:
        """Return what `columns` has given."""
        restored = cls()
        restored.firsts.frombytes(firsts)
        restored.times.frombytes(times)
        rising = all(
            column[place] <= column[place + 1]
            for column in (restored.firsts, restored.times)
            for place in range(len(column) - 1)
        )
        if len(restored.firsts) != len(restored.times) or not rising:
            raise ValueError("the times of decisions do not rise")
        return restored
