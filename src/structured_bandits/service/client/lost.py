"""Asks whose answers never came: nobody knows whether the service made a decision for them."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import NamedTuple

from structured_bandits.wire import Ask, Named, Request

MOST_KEYS = 100_000  # that are remembered of each kind; the oldest are forgotten first


class Undoing(NamedTuple):
    """A request that puts something right: "cancel", or "ask" to hear what has to be cancelled."""

    path: str
    content: Request


def undoing_of(ask: Ask) -> Undoing:
    """Return how to take an ask back. A key names one decision; of several the ids are needed.

    To hear them, the ask is repeated: its key gets the same decisions again.
    """
    return Undoing("cancel", Named(key=ask.key)) if ask.n == 1 else Undoing("ask", ask)


class LostAsks:
    """Remembers what has to be put right after an outage; any number of threads may use it.

    An ask with a key of the agent's own is cancelled when the service is back: if it made a decision, no
    arm was pulled for it, and without a reward it would count as a failure where rewards have a window.
    An ask with a key of the caller's got the control, and the service may have chosen another arm: the
    caller's reward does not belong to it. So this reward is not told, until the key is asked for again.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._undoings: deque[Undoing] = deque(maxlen=MOST_KEYS)
        self._got_control: dict[str, None] = {}  # a set in the order of time

    def add_undoing(self, undoing: Undoing) -> None:
        """Remember a request that puts something right."""
        self._undoings.append(undoing)

    def next_undoing(self) -> Undoing | None:
        """Return a request that puts something right and forget it, None if there is none."""
        try:
            return self._undoings.popleft()
        except IndexError:
            return None

    def note_control(self, key: str) -> None:
        """Remember that a caller's key got the control."""
        with self._lock:
            self._got_control[key] = None
            if len(self._got_control) > MOST_KEYS:
                del self._got_control[next(iter(self._got_control))]

    def note_answered(self, key: str) -> None:
        """Take note that the service answered an ask with a caller's key."""
        with self._lock:
            self._got_control.pop(key, None)

    def got_control(self, key: str | None) -> bool:
        """Did a caller's key get the control when it was last asked for?"""
        return key in self._got_control
