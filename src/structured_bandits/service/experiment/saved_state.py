"""Snapshots of a version: its state as bytes, and back.

A snapshot is JSON, compressed; columns of decisions are packed. A digest beside it tells whether it is
whole. It is only ever a shortcut: what is lost with it is in the log.
"""

from __future__ import annotations

import hashlib
import zlib
from array import array
from base64 import b64decode, b64encode
from typing import Any

import msgspec

from structured_bandits.agents.agent import Agent
from structured_bandits.errors import FileFormatError
from structured_bandits.service.experiment.experiment_state import AskTimes, ExperimentState, Side
from structured_bandits.service.experiment.history import History
from structured_bandits.service.experiment.spec import Spec
from structured_bandits.service.wire import HistoryPoint

FORMAT = 1
PLAIN = (
    "seq",
    "at",
    "paused",
    "retired",
    "forwards",
    "closed",
    "fallen_at",
    "unlearned",
    "settled_before",
)
LEVEL = 1  # of compression: snapshots are taken while requests wait


def digest_of(packed: bytes) -> bytes:
    """Return the hash that is kept beside a snapshot."""
    return hashlib.blake2b(packed, digest_size=16).digest()


def save_state(state: ExperimentState) -> bytes:
    """Return the state of a version."""
    return zlib.compress(msgspec.json.encode(saved_content(state)), LEVEL)


def saved_content(state: ExperimentState) -> dict[str, Any]:
    """Return what is saved of a version: equal for equal states."""
    firsts, times = state.times.columns(state.agent.oldest_out)
    return {
        "format": FORMAT,
        **{name: getattr(state, name) for name in PLAIN},
        "warns": state.warns,
        "chain": state.chain.hex(),
        "agent": state.agent.to_json(),
        "held": [_packed(array("q", state.held)), _packed(array("d", state.held.values()))],
        "deferred": _packed(array("q", sorted(state.deferred))),
        "shared": [[number, reason] for number, reason in state.shared.items()],
        "batches": [[first, size] for first, size in state.batches.items()],
        "times": [b64encode(firsts).decode(), b64encode(times).decode()],
        "sides": {name: [s.pulls, s.total, s.squares] for name, s in state.sides.items()},
        "dropped_after": [[arm, rewards] for arm, rewards in state.dropped_after.items()],
        "history": state.history.points,
    }


def restored_state(spec: Spec, uid: str, packed: bytes) -> ExperimentState:
    """Return a version in the state that was saved; raises FileFormatError if it cannot be."""
    try:
        content = msgspec.json.decode(zlib.decompress(packed))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r}")
        return _restored(spec, uid, content)
    except FileFormatError:  # whole, but of a policy with other parameters
        raise
    except (KeyError, TypeError, ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise FileFormatError(f"the snapshot is damaged: {type(error).__name__} {error}") from None


def _restored(spec: Spec, uid: str, content: dict[str, Any]) -> ExperimentState:
    state = ExperimentState(spec, uid)
    for name in PLAIN:
        setattr(state, name, content[name])
    state.warns = content.get("warns", not state.retired)  # 0.2.0 wrote none at first
    state.chain = bytes.fromhex(content["chain"])
    state.agent = Agent.from_json(content["agent"], spec.playing(state.fallen_at is not None))
    numbers, values = content["held"]
    state.held = dict(zip(_unpacked("q", numbers), _unpacked("d", values), strict=True))
    state.deferred = set(_unpacked("q", content["deferred"]))
    state.shared = dict(content["shared"])
    state.batches = dict(content["batches"])
    state.times = AskTimes.from_columns(*map(b64decode, content["times"]))
    state.sides = {name: Side(*numbers) for name, numbers in content["sides"].items()}
    state.dropped_after = dict(content["dropped_after"])
    state.history = History([msgspec.convert(each, HistoryPoint) for each in content["history"]])
    return state


def _packed(column: array[Any]) -> str:
    return b64encode(column.tobytes()).decode()


def _unpacked(kind: str, text: str) -> array[Any]:
    column = array(kind)
    column.frombytes(b64decode(text))
    return column
