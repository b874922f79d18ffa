"""The decision of a service, and what an agent does while its service is down.

It remembers so, and shows a control arm. Nobody knows whether the service made decisions for asks whose
answers never came; they are put right when it is back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from threading import Lock
from time import monotonic
from typing import NamedTuple

import numpy as np

from structured_bandits.agents.availability import allowed_arms
from structured_bandits.errors import ServiceError
from structured_bandits.service.wire import Ask, Decision, Named, Request

UNREACHABLE = "unreachable"


class RemoteDecision(NamedTuple):
    """An arm to pull; tell its reward under `id`.

    `reason` says why this arm was chosen: "plan", "extra" or "restricted" as in `Decision`, "control"
    (the share on a fixed arm), "audit" (the share on arms that were dropped), "fallback" (the rewards
    refuted the structure), "paused", or "unreachable": the service did not answer, the agent chose its
    control by itself, and `id` is None. `propensity` is the probability with which the arm was chosen,
    None where it is not known.
    """

    id: str | None
    arm: int
    name: str
    extra: bool
    reason: str
    propensity: float | None


def remote_decision(said: Decision) -> RemoteDecision:
    """Return a decision of a service as its client has it."""
    extra = said.reason == "extra"
    return RemoteDecision(said.id, said.arm, said.name, extra, said.reason, said.propensity)


REMEMBERED = 5.0  # seconds for which a service that was down is thought to be so
MOST_KEYS = 100_000  # that are remembered of each kind; the oldest are forgotten first


class Outage:
    """Whether the service is down, as far as is known.

    While it is thought to be down, one request in a few seconds tries it, once; all others need not
    wait. Any number of threads may ask.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._next_try = 0.0  # nobody tries before
        self.failure: ServiceError | None = None  # why it is thought to be down

    def may_try(self) -> bool:
        """May this request be sent? If it is down, this answer is yes once in a few seconds."""
        with self._lock:
            now = monotonic()
            if self.failure is not None and now < self._next_try:
                return False
            self._next_try = now + REMEMBERED
            return True

    def note(self, failure: ServiceError | None) -> None:
        """Take note of how a request ended: the service answered (None), or failed."""
        with self._lock:
            self.failure = failure
            self._next_try = monotonic() + REMEMBERED


def control_decisions(
    count: int, control: str, names: Sequence[str], available: Collection[int | str] | None
) -> tuple[RemoteDecision, ...]:
    """Return decisions for the control, or if it is not available for the first arm that is."""
    here = allowed_arms(available, names, np.zeros(len(names), np.bool_))
    first = int(np.argmax(here))
    arm = next((arm for arm, name in enumerate(names) if name == control and here[arm]), first)
    return (RemoteDecision(None, arm, names[arm], False, UNREACHABLE, None),) * count


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
