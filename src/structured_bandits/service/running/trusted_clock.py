"""The time of the service: never earlier than the last row, and not believed when it jumps.

Time is used for one thing that cannot be undone: closing the windows of rewards. If the clock of the
machine and its stopwatch, which nobody sets, part by more than a minute, one of them is wrong (or the
machine slept). Then nothing is settled until somebody has looked, or both have agreed for ten minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable

TOLERANCE = 60.0  # seconds by which the two may part
TRUSTED_AFTER = 600.0  # seconds for which they must agree


class TrustedClock:
    """Milliseconds since 1970, and whether they can be believed."""

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._stopwatch = stopwatch
        self._offset = wall() - stopwatch()
        self._suspect_since: float | None = None  # by the stopwatch

    def now(self) -> int:
        """Return the time in milliseconds."""
        return int(self._wall() * 1000.0)

    def is_trusted(self) -> bool:
        """Do the clock and the stopwatch agree, now and for a while? Looks at both."""
        offset, now = self._wall() - self._stopwatch(), self._stopwatch()
        if abs(offset - self._offset) > TOLERANCE:
            self._offset = offset
            self._suspect_since = now
        elif self._suspect_since is not None and now - self._suspect_since >= TRUSTED_AFTER:
            self._suspect_since = None
        return self._suspect_since is None

    def confirm(self) -> None:
        """Somebody has looked at the clock, and it is right."""
        self._offset = self._wall() - self._stopwatch()
        self._suspect_since = None
