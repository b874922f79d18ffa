"""Group commit without a timer.

Whatever is decided while a transaction is being written becomes the next transaction. A request is
answered when the transaction with its rows is on the disk. Under load many requests share one wait for
the disk; a lone request waits for nobody.

A commit that fails is final: it is never tried again, because after a failed write nobody knows what the
disk has. All that wait for it, or for what followed, are told so. Only if the database says that what
was to be written contradicts a row that is there, it is known that nothing was written: then each
experiment is written by itself, and those that are refused are handed to the registry.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from structured_bandits.service import rows as kinds
from structured_bandits.service.refusals import Unavailable
from structured_bandits.service.rows import OUTCOMES, Changes, Event
from structured_bandits.service.store_protocol import ContradictionError, Store

Refused = dict[int | None, ContradictionError]  # by experiment; None: what belongs to none

MOST_QUEUED = 20_000  # rows; more are refused until the disk has caught up


class Unwritten:
    """Rows that were recorded and are not in the store yet, by what they are looked up by."""

    def __init__(self) -> None:
        self.outcomes: dict[tuple[int, int], Event] = {}
        self.lates: dict[tuple[int, int], Event] = {}
        self.keys: dict[tuple[int, str], Event] = {}

    def add(self, version: int, events: Iterable[Event]) -> None:
        """Note rows that were recorded."""
        for event in events:
            if event.decision is not None and event.kind in OUTCOMES:
                self.outcomes[version, event.decision] = event
            elif event.decision is not None and event.kind == kinds.LATE:
                self.lates[version, event.decision] = event
            if event.key is not None:
                self.keys[version, event.key] = event

    def forget(self, versions: Collection[int]) -> None:
        """Forget all rows of some versions: they will not be written."""
        self.outcomes = {at: row for at, row in self.outcomes.items() if at[0] not in versions}
        self.lates = {at: row for at, row in self.lates.items() if at[0] not in versions}
        self.keys = {at: row for at, row in self.keys.items() if at[0] not in versions}

    def remove(self, changes: Changes) -> None:
        """Forget rows that were written."""
        for version, event in changes.events:
            if event.decision is not None and event.kind in OUTCOMES:
                self.outcomes.pop((version, event.decision), None)
            elif event.decision is not None and event.kind == kinds.LATE:
                self.lates.pop((version, event.decision), None)
            if event.key is not None:
                self.keys.pop((version, event.key), None)


class Writer:
    """Collects changes and writes them, one transaction after the other."""

    def __init__(
        self,
        store: Store,
        wrote: Callable[[Changes, float], None],
        failed: Callable[[BaseException], None],
        refused: Callable[[Refused], None],
    ) -> None:
        self._store = store
        self._wrote = wrote  # called with what was written, and the seconds that it took
        self._failed = failed
        self._refused = refused  # called with the experiments of which nothing was written
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self.index = Unwritten()  # what is on its way to the disk
        self.open = Changes()  # what the next transaction will write
        self._open_future: asyncio.Future[None] | None = None
        self._writing: Changes | None = None
        self._writing_future: asyncio.Future[None] | None = None
        self._generation = 0  # rises when a commit fails: what was begun before is void

    @property
    def queued(self) -> int:
        """How many rows wait for the disk."""
        writing = 0 if self._writing is None else len(self._writing)
        return len(self.open) + writing

    def check_room(self) -> None:
        """Raise if too much waits for the disk."""
        if self.queued > MOST_QUEUED:
            raise Unavailable(
                "The disk is slower than the requests; try again in a moment.", retry_after=1.0
            )

    def unwritten(self, version: int) -> list[Event]:
        """Return the rows of a version that are on their way to the disk."""
        rows = ([] if self._writing is None else self._writing.events) + self.open.events
        return [event for each, event in rows if each == version]

    def add(self, version: int, events: Sequence[Event]) -> None:
        """Add rows to the next transaction."""
        self.index.add(version, events)
        self.open.events += [(version, event) for event in events]

    def written(self) -> asyncio.Future[None] | None:
        """Return what to wait for until all that was added is on the disk, None if it is."""
        if len(self.open):
            if self._open_future is None:
                loop = asyncio.get_running_loop()
                self._open_future = loop.create_future()
                self._open_future.add_done_callback(_look_at)
                if self._writing is None:
                    loop.call_soon(self._begin)
            return self._open_future
        return self._writing_future

    async def wait(self) -> None:
        """Wait until all that was added is on the disk; raises Unavailable if that failed."""
        future = self.written()
        if future is not None:
            await asyncio.shield(future)  # a caller that leaves must not take the others with it

    def write_now(self) -> None:
        """Write what was added at once, where no event loop runs."""
        changes, self.open = self.open, Changes()
        if len(changes):
            began = time.perf_counter()
            self._store.commit(changes)
            self.index.remove(changes)
            self._wrote(changes, time.perf_counter() - began)

    def close(self) -> None:
        """End the thread, after what it is writing."""
        self._thread.shutdown(wait=True)

    def _begin(self) -> None:
        """Write what was added up to now, if nothing is being written."""
        if self._writing is not None or not len(self.open):
            return
        self._writing, self.open = self.open, Changes()
        self._writing_future, self._open_future = self._open_future, None
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._thread, _commit, self._store, self._writing)
        generation = self._generation
        done.add_done_callback(lambda finished: self._end(finished, generation))

    def _end(self, finished: asyncio.Future[tuple[float, Refused]], generation: int) -> None:
        error = finished.exception()
        if generation != self._generation:
            return
        changes, future = self._writing, self._writing_future
        self._writing = self._writing_future = None
        if error is not None or changes is None:
            self.fail(error or RuntimeError("nothing was written"), future)
            return
        seconds, refused = finished.result()
        self.index.remove(changes)
        self._wrote(changes, seconds)
        if refused:
            self._refused(refused)
        if future is not None and not future.done():
            future.set_result(None)
        if len(self.open):
            self.written()  # a transaction needs somebody to wait for it, even if nobody does
            self._begin()
        elif self._open_future is not None:  # what it was for has been refused
            self._open_future.set_result(None)
            self._open_future = None

    def fail(self, error: BaseException, future: asyncio.Future[None] | None = None) -> None:
        """Tell all that wait that this may not have been written; then tell the registry.

        What is being written at this moment is waited for: the registry opens the store anew.
        """
        self._generation += 1
        self._thread.submit(int).result()
        waiting = [each for each in (future, self._writing_future, self._open_future) if each]
        self.open, self._open_future = Changes(), None
        self._writing = self._writing_future = None
        for each in waiting:
            if not each.done():
                each.set_exception(
                    Unavailable(
                        "Writing to the disk failed; whether this was recorded is not known. Try again.",
                        retry_after=1.0,
                    )
                )
        self._failed(error)


def _commit(store: Store, changes: Changes) -> tuple[float, Refused]:
    """Write changes; return the seconds that it took, and why experiments were refused."""
    began = time.perf_counter()
    refused: Refused = {}
    try:
        store.commit(changes)
    except ContradictionError:
        experiment_of = {row.id: row.experiment for row in store.versions()}
        for experiment, part in changes.parts(experiment_of).items():
            try:
                store.commit(part)
            except ContradictionError as error:
                refused[experiment] = error
    return time.perf_counter() - began, refused


def _look_at(future: asyncio.Future[None]) -> None:
    """Read the exception of a future for which nobody may have waited."""
    if not future.cancelled():
        future.exception()
