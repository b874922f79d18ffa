"""A disk that is full: the system refuses to write files beyond a size, in the middle of them."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes.

    What is imported meanwhile leaves no byte code: Python does not notice that it wrote a part of it only.
    """
    leaves_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        sys.dont_write_bytecode = leaves_none
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
