"""Snapshots of versions 1 and 2, which the libraries 0.1 and 0.2 wrote, in the form of the next version.

Version 1 saved all memory of the policy, scratch too; here the learned fields are picked out of it. It
knew no squares, and sums only in the states of the library's own policies. It planned when it was
asked, so its plan may be complete or none: such a one does not hold, and the agent plans when it is
restored.

Version 2 knew no parked arms and no plans ahead: it went round its plan's arms if rewards were out. It
did not keep the order of results, so what was seen counts as settled, and it looked at no e-value. A
decision that was extra stays so: its reward makes the agent plan anew.
"""

from __future__ import annotations

from typing import Any

from structured_bandits.errors import FileFormatError


def from_first(saved: dict[str, Any], learned: list[str], ours: bool) -> dict[str, Any]:
    """Return a snapshot of version 1 in the form of version 2.

    `learned` are the fields to pick; `ours` are policies of the library, whose states had pulls and sums
    of their own.
    """
    try:
        state, counts, counters = saved["state"], saved["counts"], saved["counters"]
        pulls = counts["_pulls"]
        quota, told = counts["_quota"], counts["_told"]
        lacking = any(done < wanted for done, wanted in zip(told, quota, strict=True))
        if ours and state["pulls"] != pulls:
            raise ValueError(f"pulls {state['pulls']} and {pulls}")
        return {
            "policy": saved["policy"],
            "seen": {
                "pulls": pulls,
                "sums": state["sums"] if ours else [None] * len(pulls),
                "squares": [None] * len(pulls),
            },
            "state": {
                name: state[name.removeprefix("data.") if ours else name] for name in learned
            },
            "plan": {
                "holds": counters["_plan_number"] == counters["_plans"] > 0 and lacking,
                "quota": quota,
                "told": told,
            },
            "counters": {
                name: counters[f"_{name}"] for name in ("plans", "next_id", "extra", "empty")
            },
            "pending": {
                "id": [each["id"] for each in saved["pending"]],
                "arm": [each["arm"] for each in saved["pending"]],
                "plan": [each["plan"] for each in saved["pending"]],
                "extra": [int(each["extra"]) for each in saved["pending"]],
            },
            "generator": saved["generator"],
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"the snapshot is damaged: {type(error).__name__} {error}") from None


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
