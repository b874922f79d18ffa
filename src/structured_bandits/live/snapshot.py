"""An agent as JSON text, and back.

The structure is not in it, only its fingerprint: the policy that restores an agent has to be equal to
the one that saved it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from structured_bandits.errors import FileFormatError

if TYPE_CHECKING:
    from structured_bandits.live.agent import Agent

VERSION = 1
COUNTERS = ("_plan_number", "_plans", "_next_id", "_extra_in_plan", "_extra", "_empty")
COUNTS = ("_pulls", "_quota", "_told")


def to_snapshot(agent: Agent) -> str:
    """Return the agent as JSON."""
    return json.dumps(
        {
            "structured_bandits_agent": VERSION,
            "policy": _identity(agent.policy),
            "state": {name: _plain(values) for name, values in _arrays(agent._state)},
            "counters": {name: getattr(agent, name) for name in COUNTERS},
            "counts": {name: getattr(agent, name).tolist() for name in COUNTS},
            "pending": [
                {"id": decision.id, "arm": decision.arm, "extra": decision.extra, "plan": number}
                for decision, number in agent._pending.values()
            ],
            "generator": agent._rng.bit_generator.state,
        },
        allow_nan=False,
    )


def from_snapshot(agent: Agent, text: str) -> None:
    """Put a fresh agent into the state that was saved."""
    from structured_bandits.live.agent import Decision

    saved = _parsed(text)
    _check_identity(saved["policy"], _identity(agent.policy))
    try:
        for name, values in _arrays(agent._state):
            flat = [float(x) if values.dtype.kind == "f" else x for x in saved["state"][name]]
            values[...] = np.array(flat, dtype=values.dtype).reshape(values.shape)
        for name in COUNTS:
            counts = np.array(saved["counts"][name], dtype=np.int64)
            if counts.shape != agent._pulls.shape or (counts < 0).any():
                raise ValueError(f"{name} {counts}")
            getattr(agent, name)[:] = counts
        for name in COUNTERS:
            setattr(agent, name, int(saved["counters"][name]))
        for item in saved["pending"]:
            arm, number = range(len(agent._names))[item["arm"]], int(item["plan"])
            decision = Decision(int(item["id"]), arm, agent._names[arm], bool(item["extra"]))
            agent._pending[decision.id] = (decision, number)
            agent._out[arm] += number == agent._plan_number
        agent._rng.bit_generator.state = saved["generator"]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise FileFormatError(f"the snapshot is damaged: {type(error).__name__} {error}") from None


def _arrays(state: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Return the arrays of a state by their names, those of states inside it too."""
    for name, values in zip(state._fields, state, strict=True):
        if hasattr(values, "_fields"):
            yield from _arrays(values, f"{path}{name}.")
        else:
            yield f"{path}{name}", values


def _parsed(text: str) -> dict[str, Any]:
    try:
        saved = json.loads(text)
    except (json.JSONDecodeError, TypeError) as error:
        raise FileFormatError(f"the snapshot is not JSON: {error}") from None
    version = saved.get("structured_bandits_agent") if isinstance(saved, dict) else None
    if version != VERSION or not isinstance(saved.get("policy"), dict):
        raise FileFormatError(
            f"the snapshot has version {version!r}; this version of the library reads {VERSION}"
        )
    return saved


def _identity(policy: Any) -> dict[str, Any]:
    """Return what must be equal for a snapshot to fit: class, parameters and structure."""
    structure = getattr(policy, "structure", None)
    parameters = policy.parameters() if hasattr(policy, "parameters") else repr(policy)
    return {
        "class": type(policy).__name__,
        "arms": int(policy.n_arms),
        "parameters": json.loads(json.dumps(parameters)),  # as JSON gives them back
        "structure": structure.fingerprint if structure is not None else None,
    }


def _check_identity(saved: dict[str, Any], given: dict[str, Any]) -> None:
    for key in ("class", "arms", "parameters", "structure"):
        if saved.get(key) != given[key]:
            raise FileFormatError(
                f"the snapshot does not fit the policy: its {key} is {saved.get(key)!r}, "
                f"the given policy's {given[key]!r}"
            )


def _plain(values: Any) -> list[Any]:
    """Return an array as a flat list; JSON has no infinities, so they are strings."""
    flat = values.ravel().tolist()
    return [str(x) if isinstance(x, float) and not math.isfinite(x) else x for x in flat]
