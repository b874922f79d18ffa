"""What an agent does while its service is down: it remembers so, and shows a control arm."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from threading import Lock
from time import monotonic

import numpy as np

from structured_bandits.errors import ServiceError
from structured_bandits.live.available import allowed_arms
from structured_bandits.service.client.decision import UNREACHABLE, RemoteDecision

REMEMBERED = 5.0  # seconds for which a service that was down is thought to be so


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
