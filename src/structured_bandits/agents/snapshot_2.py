"""Snapshots of version 2, which the library 0.2 wrote, in the form of version 3.

Version 2 knew no parked arms and no plans ahead: it went round its plan's arms if rewards were out. It
did not keep the order of results, so what was seen counts as settled, and it looked at no e-value. A
decision that was extra stays so: its reward makes the agent plan anew.
"""

from __future__ import annotations

from typing import Any

from structured_bandits.errors import FileFormatError


def from_second(content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a snapshot of version 2 in the form of version 3."""
    try:
        pending = content["pending"]
        return {
            **content,
            "settled": content["seen"],
            "largest_log_e": [0.0],
            "ahead": None,
            "parked": [],
            "pending": {
                **{name: pending[name] for name in ("id", "arm", "plan")},
                "reason": [_as_reason(extra) for extra in pending["extra"]],
            },
            "waiting": {"id": [], "arm": [], "reward": []},
        }
    except (KeyError, TypeError, ValueError) as error:
        raise FileFormatError(f"the snapshot is damaged: {type(error).__name__} {error}") from None


def _as_reason(extra: Any) -> int:
    """Return the place of "plan" or "extra" in pending.REASONS, which is what version 2 wrote."""
    if extra not in (0, 1) or isinstance(extra, bool):
        raise ValueError(f"pending decisions: extra is {extra!r}")
    return int(extra)
