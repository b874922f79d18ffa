"""A copy of the package whose cache of compiled code is empty, for timing first starts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structured_bandits as sb


@contextmanager
def fresh_package() -> Iterator[tuple[Path, dict[str, str]]]:
    """Make the copy; give its folder and the environment in which Python imports it."""
    package = Path(sb.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            package, Path(folder) / package.name, ignore=shutil.ignore_patterns("__pycache__")
        )
        yield Path(folder), {**os.environ, "PYTHONPATH": folder}
