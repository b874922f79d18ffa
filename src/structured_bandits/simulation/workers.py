"""Spreading blocks of runs over workers, with a progress bar and a clean end on Ctrl-C.

Compiled runs do without Python's lock, so threads use all cores without copying anything or
importing the user's script again; Python runs need processes. Either way the main thread only waits,
so that Ctrl-C reaches it at once; it then raises a flag that every run looks at once a plan.

How many runs a worker gets at a time: few batches, and nobody idle at the end. What is left is shared
out in chunks that get smaller and smaller. How long a run takes is not known before, but soon after:
batches that would take less time than it is worth to hand them out are larger. Results do not depend
on the batches, so batches may depend on the clock.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from typing import Any

import numpy as np

from structured_bandits.base.arrays import Ints
from structured_bandits.base.progress import doing, progress_bar
from structured_bandits.errors import ParameterError
from structured_bandits.simulation.batches import Block, play_block
from structured_bandits.simulation.run_spec import Case, Setting

IN_FLIGHT = 4  # blocks for each slot of an executor: enough to keep it busy, few enough to hold

_stop_flag: Any = None  # of a worker process


def run_blocks(
    setting: Setting, case: Case, runs: range, workers: int, progress: bool | None
) -> list[Block]:
    """Play all runs; return the blocks in order of their runs."""
    if setting.processes and workers > 1:
        _check_picklable(case)
    portions = Portions(runs, workers)
    pool, stop = _pool(setting.processes, min(workers, len(runs)))
    waiting: dict[Future[Block], range] = {}
    blocks: dict[range, Block] = {}
    with progress_bar("sb.simulate", progress, total=len(runs), unit="run") as bar, pool:
        try:
            begin = time.perf_counter()
            while portions.left or waiting:
                while portions.left and len(waiting) < 2 * workers - 1:
                    span = portions.take()
                    waiting[_submit(pool, setting, case, span, stop)] = span
                done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                begun = setting.engine == "python" or bool(blocks)
                bar.set_description(doing("simulating" if begun else "preparing"), refresh=False)
                for future in done:
                    span = waiting.pop(future)
                    blocks[span] = future.result()
                    bar.update(len(span))
                if done:
                    played = len(runs) - len(portions.left) - sum(map(len, waiting.values()))
                    portions.learn(played, workers * (time.perf_counter() - begin))
                else:
                    bar.refresh()  # shows that something happens, also while compiling
        except BaseException:
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [blocks[span] for span in sorted(blocks, key=lambda span: span.start)]


def run_blocks_on(
    executor: Any, setting: Setting, case: Case, runs: range, slots: int, progress: bool | None
) -> list[Block]:
    """Play all runs on an executor that somebody else made; return the blocks in order of their runs."""
    _check_picklable(case)
    spans = spread(runs, slots)
    left = deque(spans)
    waiting: dict[Future[Block], range] = {}
    blocks: dict[range, Block] = {}
    with progress_bar("sb.simulate", progress, total=len(runs), unit="run") as bar:
        try:
            while left or waiting:
                while left and len(waiting) < IN_FLIGHT * slots:
                    span = left.popleft()
                    waiting[submit_to(executor, play_elsewhere, setting, case, span)] = span
                done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                bar.set_description("simulating" if blocks else "preparing", refresh=False)
                for future in done:
                    span = waiting.pop(future)
                    blocks[span] = future.result()
                    bar.update(len(span))
                if not done:
                    bar.refresh()
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
    return [blocks[span] for span in spans]


def submit_to(executor: Any, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Hand work to an executor; raises ParameterError if it is none."""
    check_executor(executor)
    future = executor.submit(function, *arguments)
    if not isinstance(future, Future):
        raise ParameterError(
            f"executor={executor!r}: its submit returned {future!r}; expected a future of "
            "concurrent.futures (of a dask client take client.get_executor())"
        )
    return future


def check_executor(executor: Any) -> None:
    """Raise ParameterError unless something looks like an executor."""
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise ParameterError(
            f"executor={executor!r}: expected something with submit(function, *arguments), such as a "
            "ProcessPoolExecutor, or client.get_executor() of dask"
        )


def play_elsewhere(setting: Setting, case: Case, span: range) -> Block:
    """Play a block in another process, which nobody stops in between."""
    return play_block(setting, case, span, np.zeros(1, np.int64))


def slots_of(executor: Any) -> int:
    """Return how many tasks an executor does at the same time, as far as it says so."""
    said = getattr(executor, "_max_workers", None)
    return said if isinstance(said, int) and said > 0 else core_count()


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pool(processes: bool, workers: int) -> tuple[Executor, Ints]:
    """Return a pool and the flag that ends its runs."""
    if not processes or workers == 1:
        return ThreadPoolExecutor(workers), np.zeros(1, np.int64)
    context = multiprocessing.get_context("spawn")
    shared = context.RawArray("q", 1)
    pool = ProcessPoolExecutor(
        workers, mp_context=context, initializer=_start_process, initargs=(shared,)
    )
    return pool, np.frombuffer(shared, dtype=np.int64)


def _check_picklable(case: Case) -> None:
    try:
        pickle.dumps(case)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ParameterError(
            f"workers: these runs go to other processes, which need what is played in a form that "
            f"can be sent ({error}); define it at the top level of a module, or play it in this process "
            "(workers=1, no executor)"
        ) from None


def _submit(pool: Executor, setting: Setting, case: Case, span: range, stop: Ints) -> Future[Block]:
    if isinstance(pool, ThreadPoolExecutor):
        return pool.submit(play_block, setting, case, span, stop)
    return pool.submit(_play_in_process, setting, case, span)


def _start_process(shared: Any) -> None:
    """Remember the flag; leave Ctrl-C to the main process, which raises it."""
    global _stop_flag
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _stop_flag = np.frombuffer(shared, dtype=np.int64)


def _play_in_process(setting: Setting, case: Case, span: range) -> Block:
    return play_block(setting, case, span, _stop_flag)


PARTS = 4  # of what is left, shared by all workers: large blocks first, small ones at the end
WORTHWHILE = 0.02  # seconds of a block: handing it out takes about a hundredth of that
FINEST = 8  # parts of a block that is worthwhile: none is smaller, however little is left
ALONE = 0.2  # the same for a single worker, for whose last block nobody waits


class Portions:
    """Hands out runs, block by block."""

    def __init__(self, runs: range, workers: int) -> None:
        self.left = runs
        self._workers = workers
        self._least = 1  # runs of a block that is worthwhile, as far as is known

    def take(self) -> range:
        """Return the next block."""
        left = len(self.left)
        share = -(-left // self._workers)
        size = max(portion(left, self._workers), min(self._least, share), self._least // FINEST)
        block, self.left = self.left[:size], self.left[size:]
        return block

    def learn(self, runs: int, seconds: float) -> None:
        """Note that a worker has lately played so many runs in so many seconds."""
        worthwhile = ALONE if self._workers == 1 else WORTHWHILE
        self._least = int(worthwhile * runs / max(seconds, 1e-9))


def portion(left: int, workers: int) -> int:
    """Return how many of the runs that are left the next block has, if nothing is known of them."""
    return max(1, -(-left // (PARTS * workers)))


def spread(runs: range, workers: int) -> list[range]:
    """Return all blocks of runs where nothing is known of them.

    >>> spread(range(20), 2)
    [range(0, 3), range(3, 6), range(6, 8), range(8, 10), range(10, 12), range(12, 13), range(13, 14),
     range(14, 15), range(15, 16), range(16, 17), range(17, 18), range(18, 19), range(19, 20)]
    """
    portions = Portions(runs, workers)
    blocks = []
    while portions.left:
        blocks.append(portions.take())
    return blocks
