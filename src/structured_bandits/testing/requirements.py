"""What all checks share: how they fail, and what is run while threads and generators are watched.

A failed check says what was expected, what was seen, and how to see it again.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from structured_bandits.errors import MissingExtraError, StructuredBanditsError


class CheckError(StructuredBanditsError, AssertionError):
    """A policy, a structure or a world does not do what is asked of all of them."""


def require(holds: bool, expected: str, seen: str, reproduce: str = "") -> None:
    """Raise a `CheckError` unless `holds`; the texts are whole sentences, `reproduce` is code."""
    if not holds:
        raise failure(f"{expected} {seen}", reproduce)


@contextmanager
def blamed(doing: str, reproduce: str = "") -> Iterator[None]:
    """Turn whatever is raised inside into a `CheckError` that says what was being done.

    A missing package is no fault of what is checked: that error passes.
    """
    try:
        yield
    except (CheckError, MissingExtraError):
        raise
    except Exception as error:
        said = f"{doing} must not fail. It raised {type(error).__name__}: {error}"
        raise failure(said, reproduce) from error


def failure(text: str, reproduce: str) -> CheckError:
    """Return the error, with the code that shows it."""
    code = "".join(f"\n    {line}" for line in reproduce.splitlines())
    return CheckError(f"{text}\nTo reproduce it:{code}" if code else text)


def in_threads(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """Do all jobs at once, each in a thread, with as many switches between them as can be had.

    Return what each returned; the first error is raised.
    """
    start = threading.Barrier(len(jobs))

    def begin(job: Callable[[], Any]) -> Any:
        start.wait()
        return job()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(len(jobs)) as pool:
            futures = [pool.submit(begin, job) for job in jobs]
            return [future.result() for future in futures]
    finally:
        sys.setswitchinterval(interval)


@contextmanager
def untouched_globals(name: str) -> Iterator[None]:
    """Raise if NumPy's or Python's shared generators were used."""
    before = _shared_generators()
    yield
    require(
        before == _shared_generators(),
        f"{name} must draw its random numbers from rng only, so that seeds work.",
        "It has drawn from np.random or random.",
        "np.random.get_state(), random.getstate()  # before and after",
    )


def _shared_generators() -> Any:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  to see that nobody uses it
    return kind, np.asarray(keys).tolist(), rest, random.getstate()


def importable(value: Any) -> bool:
    """Return whether another process finds the classes of this by name: only then it can be pickled.

    That is not so for classes that were made inside a function, say.
    """
    parts = [*(value if isinstance(value, tuple) else ())]
    parts += [getattr(value, name, None) for name in ("structure", "cells")]
    inner = (part for part in parts if hasattr(part, "_fields") or hasattr(part, "cells"))
    return _found(type(value)) and all(map(importable, inner))


def _found(kind: type) -> bool:
    found: Any = sys.modules.get(kind.__module__)
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is kind
