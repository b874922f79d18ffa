"""Executors of a sweep: processes on this machine, or a cluster of dask."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any, NamedTuple

from structured_bandits.base.extras import needs
from structured_bandits.errors import ParameterError
from structured_bandits.simulation.workers import core_count

LOCAL = "local"
OWN_PAGE = "127.0.0.1:0"  # dask serves one in any case; not to other machines, and at any free port
PATIENCE = 30.0  # seconds that a cluster has to answer, and to be there again once it was lost
RETRIES = 5  # of a task that failed: another machine may see the folder, or have room
TALKERS = ("batched", "client", "comm", "core")  # of dask's modules, about lost connections
FAILURES = 10  # workers that may be lost with a task before dask gives it up
#: What dask's processes do besides, many times a second, for its page: it takes a tenth of their time.
WATCHING = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.system-monitor.gil.enabled": False,
}


class Crew(NamedTuple):
    """An executor, and how many tasks it does at the same time: now, for workers come and go."""

    executor: Any
    slots: Callable[[], int]


@contextmanager
def processes(workers: int | None) -> Iterator[Crew]:
    """Yield processes on this machine, one for each core unless told otherwise."""
    count = workers or core_count()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_begin)
    try:
        yield Crew(pool, lambda: count)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # what is being played is written first


def _begin() -> None:
    """Leave Ctrl-C to the main process, and end with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def cluster(address: str, workers: int | None) -> Iterator[Crew]:
    """Yield a cluster of dask: the one at an address, or one of this machine's own ("local")."""
    with needs("A cluster", extra="cluster"):
        import dask
        from distributed import Client, LocalCluster

    settings = {"distributed.scheduler.allowed-failures": FAILURES, **WATCHING}
    with dask.config.set(settings), _quietly():
        if address == LOCAL:
            count = workers or core_count()
            own = LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=count, threads_per_worker=1, dashboard_address=OWN_PAGE
            )
            with own, Client(own) as client:  # type: ignore[no-untyped-call]
                yield Crew(_Sender(client), lambda: count)
            return
        try:
            client = Client(address, timeout=PATIENCE)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise ParameterError(
                f"cluster={address!r}: no scheduler answers there ({error}); expected {LOCAL!r} or an "
                "address such as tcp://10.0.0.1:8786"
            ) from None
        with client:
            yield Crew(_Sender(client), lambda: workers or _slots(client))


class _Sender(NamedTuple):
    """Hands tasks to a client of dask.

    Its own `client.get_executor()` forgets a future whose answer was on its way when the scheduler died,
    and whoever waits for it waits for ever.
    """

    client: Any

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Return the future of a task."""
        sent = self.client.submit(function, *arguments, pure=False, retries=RETRIES)
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()  # whoever gives up closes the client
        self.client.loop.add_callback(self._answer, sent, future)
        return future

    async def _answer(self, sent: Any, future: Future[Any]) -> None:
        """Tell a future what became of its task."""
        try:
            future.set_result(await self.client.gather(sent, asynchronous=True))
        except BaseException as error:
            if sent.status != "error":  # no answer came: cancelled, or the connection is lost
                error = BrokenExecutor(f"{type(error).__name__}: {error}")
            future.set_exception(error)


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep dask from printing tracebacks where a scheduler is lost; we say so in a sentence."""
    loggers = [logging.getLogger(f"distributed.{name}") for name in TALKERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _slots(client: Any) -> int:
    """Return how many tasks the workers of a cluster do at the same time, 0 if there are none yet."""
    if client.status in ("closing", "closed"):  # its scheduler was lost and did not come back
        raise BrokenExecutor("the scheduler is gone")
    try:
        return sum(client.nthreads().values()) if client.status == "running" else 0
    except OSError:  # the connection is lost: whoever waits for tasks hears of it
        return 0


def is_loss(error: BaseException) -> bool:
    """Return whether an error says that workers, or the cluster, are gone: the rest is played again."""
    if isinstance(error, (BrokenExecutor, CancelledError)):
        return True
    return type(error).__name__ in ("CommClosedError", "KilledWorker")  # of dask
