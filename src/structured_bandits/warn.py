"""Warnings that point at the line of the user, however deep inside the library they arise."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_LIBRARY = str(Path(__file__).parent) + os.sep


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside this library: builders call builders, files name files.

    In a thread of our own there is no such line; then the warning points at where the thread began.
    """
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_LIBRARY):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
