"""A hash of the package's sources as they were when it was imported.

The disk cache of compiled code is keyed by it. It is taken before anything else is loaded, so that an
edit made after the import can never be mistaken for what is in memory.
"""

from __future__ import annotations

import hashlib
from pathlib import Path


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


SOURCES_HASH = _hash(Path(__file__).parent.parent)
