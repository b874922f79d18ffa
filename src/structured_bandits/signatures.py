"""What functions take, looked up once: a look takes longer than many a thing that it is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1024)
def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function."""
    return tuple(inspect.signature(function).parameters)
