"""Agents in files."""

from __future__ import annotations

import os
from pathlib import Path

from structured_bandits.agents.snapshot import MARK
from structured_bandits.errors import FileFormatError


def read_snapshot(path: str | os.PathLike[str]) -> str:
    """Return the snapshot in a file; raise if it is none. Errors of the system are left as they are."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = ""
    if f'"{MARK}"' not in text:
        raise FileFormatError(
            f"{path}: not a snapshot of an agent; expected a file that agent.save(path) has written"
        )
    return text
