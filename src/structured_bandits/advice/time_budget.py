"""The seconds that `advise` may play: compiling is shown and not counted."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from structured_bandits.base.progress import progress_bar


class TimeBudget:
    """Seconds used so far out of those allowed, with a bar that shows them."""

    def __init__(self, seconds: float, progress: bool | None) -> None:
        self.seconds = seconds
        self.compiling = 0.0  # seconds that were not counted
        self._begin = time.perf_counter()
        self._bar: Any = progress_bar(
            "sb.advise",
            progress,
            total=round(seconds),
            delay=0.0,
            desc="preparing: ",  # as set_description writes it
            bar_format="{desc}{percentage:3.0f} % of {total} s |{bar}|",
        )
        self._shown = 0.0

    @property
    def used(self) -> float:
        """The seconds of playing so far."""
        return time.perf_counter() - self._begin - self.compiling

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of them is used."""
        return share * self.seconds - self.used

    def say(self, text: str) -> None:
        """Show what is being done."""
        reached = min(self.used, self.seconds)
        self._bar.set_description(text, refresh=False)
        self._bar.update(reached - self._shown)
        self._bar.refresh()
        self._shown = reached

    @contextmanager
    def compiled(self, name: str) -> Iterator[None]:
        """Do not count what happens inside."""
        self.say(f"compiling {name}")
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.compiling += time.perf_counter() - begin

    def __enter__(self) -> TimeBudget:
        self._bar.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._bar.__exit__(*error)
