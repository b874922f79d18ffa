"""Snapshots of version 1, which the library 0.1 wrote, in the form of version 2.

Version 1 saved all memory of the policy, scratch too; here the learned fields are picked out of it. It
knew no squares, and sums only in the states of the library's own policies. It planned when it was asked,
so its plan may be complete or none: such a one does not hold, and the agent plans when it is restored.
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
